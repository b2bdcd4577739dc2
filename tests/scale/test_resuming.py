"""An interrupted output has the same bytes as an uninterrupted one."""

import os
import pickle
import shutil
import signal
import time

import joblib
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_metaembed import (
    DynamicMetaClassifier,
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    make_embedding_union,
    transform_in_batches,
)
from sk_metaembed.scale import _partial_output

from ..processes import run_script
from .test_transform_in_batches import SOURCES, WITH_COLUMNS

# By output, sizes of files at which a process is killed.
SIZES = {"out.npy": (150, 450), "out.parquet": (300, 2000)}


class Stop(Exception):
    """Interrupts a source."""


def interrupted(texts, at):
    yield from texts[:at]
    raise Stop


def run(pipe, source, out, **options):
    return transform_in_batches(pipe, source, out, **{"batch_size": 4, **options})


@pytest.fixture(params=SIZES)
def whole(request, pipe, texts, tmp_path):
    """Return an output that was not interrupted."""
    out = tmp_path / "whole" / request.param
    run(pipe, texts, out)
    return out


@pytest.fixture
def out(whole, tmp_path):
    return tmp_path / "parts" / whole.name


def is_like(out, whole):
    alone = [path.name for path in out.parent.iterdir()] == [out.name]
    return alone and out.read_bytes() == whole.read_bytes()


def parts(out):
    return out.parent / f".{out.name}.parts"


@pytest.mark.parametrize("stops", [[0], [13], [5, 6, 12, 11, 20]])
def test_interrupted_by_an_error(stops, pipe, texts, whole, out):
    for at in stops:
        with pytest.raises(Stop):
            run(pipe, interrupted(texts, at), out)
        assert not out.exists()
    with joblib.parallel_config("threading"):  # starts faster than processes
        result = run(pipe, iter(texts), out, n_jobs=min(len(stops), 2))
    assert result.rows == 23
    assert result.resumed == max(stops) // 4 * 4
    assert is_like(out, whole)


@pytest.mark.parametrize(("name", "cut"), [("journal", 1), ("data", 40)])
def test_a_batch_cut_short_by_a_kill_is_computed_again(
    name, cut, pipe, texts, whole, out
):
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, 14), out)
    file = parts(out) / name
    file.write_bytes(file.read_bytes()[:-cut])
    (parts(out) / "pipeline-12ab").write_bytes(b"for workers")
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, 9), out)
    assert {path.name for path in parts(out).iterdir()} == {"data", "journal"}
    assert run(pipe, texts, out).resumed == 8
    assert is_like(out, whole)


def test_batches_after_a_corrupt_one_are_computed_again(pipe, texts, whole, out):
    for at, resumed in ((0.99, 8), (0.6, 4)):
        with pytest.raises(Stop):
            run(pipe, interrupted(texts, 14), out, resume=False)
        data = parts(out) / "data"
        content = bytearray(data.read_bytes())
        content[int(at * len(content))] ^= 1
        data.write_bytes(content)
        assert run(pipe, texts, out).resumed == resumed
        assert is_like(out, whole)


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_killed_around_the_last_rename(name, pipe, texts, whole, out, monkeypatch):
    def stop(*args):
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(_partial_output.os, name, stop)
        with pytest.raises(Stop):
            run(pipe, texts, out)
    assert not out.exists()
    for other in (["tea"] * len(texts), [*texts, "tea"], texts[:-4]):
        with pytest.raises(ValueError, match="has other rows than before"):
            run(pipe, other, out)
    (parts(out) / "whole").write_bytes(b"of a killed process")
    shutil.copytree(parts(out), out.parent / "copy")
    assert run(pipe, texts, out).resumed == 23
    # As if killed after the output was renamed and before its folder was removed.
    (out.parent / "copy").rename(parts(out))
    assert run(pipe, texts, out).rows == 23
    assert is_like(out, whole)


KILLED = """
    import os, resource, signal, sys
    from pathlib import Path
    import joblib
    from sk_metaembed import transform_in_batches

    folder, pipe = Path(sys.argv[1]), joblib.load(Path(sys.argv[1], "pipe"))
    # The system writes a part of the bytes, then kills the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, size in (kill.split(":") for kill in sys.argv[2:]):
        if os.fork() == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
            source, out = folder / "texts.txt", folder / name / name
            transform_in_batches(pipe, source, out, batch_size=4)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.fixture
def folder(texts, tmp_path):
    text = "".join(f"{text}\n" for text in texts)
    (tmp_path / "texts.txt").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_killed_in_the_middle_of_writing(folder, pipe):
    joblib.dump(pipe, folder / "pipe")
    kills = [f"{name}:{size}" for name in SIZES for size in SIZES[name]]
    statuses = run_script(KILLED, folder, *kills).split()
    assert statuses == [str(-signal.SIGXFSZ)] * len(kills)
    for name in SIZES:
        out = folder / name / name
        assert not out.exists()
        assert run(pipe, folder / "texts.txt", out).resumed > 0
        run(pipe, folder / "texts.txt", folder / "whole" / name)
        assert is_like(out, folder / "whole" / name)


def test_another_pipeline_or_source_or_option_is_refused(
    pipe, texts, whole, out, store
):
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, 14), out)
    other = make_pipeline(Tokenizer(), PretrainedEmbedding(store), Pooling("max"))
    with pytest.raises(ValueError, match=r"with a different pipeline \(was"):
        run(other.fit(["tea"]), texts, out)
    with pytest.raises(ValueError, match=r"a different batch_size \(was 4\)"):
        run(pipe, texts, out, batch_size=5)
    changed = [*texts[:5], "snow snow", *texts[6:]]
    for other_rows in (changed, Tokenizer().transform(texts)):
        with pytest.raises(ValueError, match="has other rows than before among rows"):
            run(pipe, other_rows, out)
    assert run(pipe, texts, out).resumed == 12
    assert is_like(out, whole)


def test_a_file_that_changed_is_refused(folder, pipe, tmp_path):
    source, out = folder / "texts.txt", tmp_path / "out" / "a.npy"
    with pytest.raises(Stop):
        run(StoppingPipe(pipe, 8), source, out)
    os.utime(source, (0, 0))
    with pytest.raises(ValueError, match="started with a different source"):
        run(StoppingPipe(pipe, None), source, out)


def test_error_if_the_source_is_modified_while_read(folder, pipe, tmp_path):
    source, out = folder / "texts.txt", tmp_path / "out" / "a.npy"

    def meddling(rows):
        if len(rows) < 4:
            source.write_text("tea\n")
        return np.zeros((len(rows), 1))

    with pytest.raises(ValueError, match=r"texts\.txt was modified while being read"):
        run(FunctionTransformer(meddling).fit(None), source, out)
    assert not out.exists()


@pytest.mark.parametrize("kind", ["gz", "folder"])
def test_resuming_file_sources(kind, pipe, texts, whole, out, tmp_path):
    (tmp_path / "in").mkdir()
    source = SOURCES[kind](texts, tmp_path / "in")
    column = "text" if kind in WITH_COLUMNS else None
    text = StoppingPipe(pipe, 14)
    with pytest.raises(Stop):
        run(text, source, out, column=column)
    text.stops_at = None
    assert run(text, source, out, column=column).resumed == 12
    assert is_like(out, whole)


class StoppingPipe:
    """A pipeline that fails after some rows; its pickle does not contain the limit."""

    def __init__(self, pipe, stops_at):
        self.pipe, self.stops_at, self.seen = pipe, stops_at, 0

    def transform(self, X):
        self.seen += len(X)
        if self.stops_at is not None and self.seen > self.stops_at:
            raise Stop
        return self.pipe.transform(X)

    def __getstate__(self):
        return {"pipe": self.pipe}


def test_a_pipeline_with_a_lambda_is_identified_by_its_code(texts, tmp_path):
    def make(power):
        return FunctionTransformer(
            lambda rows: np.array([[len(text) ** power] for text in rows]) * 1.0
        ).fit(None)

    out = tmp_path / "out" / "a.npy"
    with pytest.raises(Stop):
        run(make(1), interrupted(texts, 14), out)
    with pytest.raises(ValueError, match="started with a different pipeline"):
        run(make(2), texts, out)
    assert run(make(1), texts, out).resumed == 12
    assert np.load(out)[:, 0].tolist() == [len(text) for text in texts]


def test_one_process_at_a_time(pipe, texts, tmp_path):
    out = tmp_path / "a.npy"

    def rows():
        yield from texts[:9]
        with pytest.raises(RuntimeError, match="another process is writing"):
            run(pipe, texts, out)
        yield from texts[9:]

    assert run(pipe, rows(), out).rows == 23


@pytest.mark.skipif(os.name != "posix", reason="Windows ends a process at this signal")
def test_ctrl_c_leaves_what_is_finished(pipe, texts, whole, out):
    def rows():
        yield from texts[:14]
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    # A process that was started in the background may ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(pipe, rows(), out)
    finally:
        signal.signal(signal.SIGINT, before)
    assert run(pipe, texts, out).resumed == 12
    assert is_like(out, whole)


def trained(texts, store):
    """Yield pipelines that have learned from texts: words and a rotation, a net."""
    tiny = {"vector_size": 4, "min_count": 1, "random_state": 0}
    sources = Word2VecEmbedding(**tiny), FastTextEmbedding(**tiny, bucket=50)
    union = make_embedding_union(*sources, PretrainedEmbedding(store))
    net = DynamicMetaClassifier(max_epochs=1, random_state=0, device="cpu")
    for pipe in (
        make_pipeline(union, SVDMetaEmbedding(3), Pooling(weights="sif"), PCA(3)),
        make_pipeline(PretrainedEmbedding(store), net),
    ):
        yield pipe.fit(texts, np.arange(len(texts)) % 2)


@pytest.fixture
def tasks(texts, store, tmp_path):
    """Return arguments of calls that were interrupted after 12 rows."""
    tasks = []
    for i, pipe in enumerate(trained(texts, store)):
        method = "transform" if hasattr(pipe, "transform") else "predict_proba"
        out = tmp_path / f"{i}.npy"
        for at, copy in ((9, pipe), (14, pickle.loads(pickle.dumps(pipe)))):
            with pytest.raises(Stop):
                run(copy, interrupted(texts, at), out, method=method)
            getattr(pipe, method)(texts)
        tasks.append((pipe, texts, out, method))
    return tasks


def test_a_pipeline_is_the_same_after_pickling_and_use(tasks, texts, store):
    others = trained(texts[3:], store)
    for (pipe, rows, out, method), other in zip(tasks, others, strict=True):
        with pytest.raises(ValueError, match=r"with a different pipeline \(was"):
            run(other, rows, out, method=method)
        assert run(pipe, rows, out, method=method).resumed == 12
