"""An interrupted output has the same bytes as an uninterrupted one."""

import errno
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_metaembed import (
    DynamicMetaClassifier,
    EmbeddingUnion,
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    transform_in_batches,
)
from sk_metaembed.scale import _partial_output
from sk_metaembed.scale._fingerprint import pipeline_fingerprint
from sk_metaembed.scale._partial_output import _locked

NAMES = ["out.npy", "out.parquet"]


class Stop(Exception):
    """Interrupts a source."""


def interrupted(texts, at):
    yield from texts[:at]
    raise Stop


def run(pipe, source, out, **options):
    return transform_in_batches(pipe, source, out, **{"batch_size": 4, **options})


@pytest.fixture(params=NAMES)
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


@pytest.mark.parametrize("at", [0, 3, 4, 13, 23])
def test_interrupted_by_an_error(at, pipe, texts, whole, out):
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, at), out)
    assert not out.exists()
    result = run(pipe, iter(texts), out)
    assert result.rows == 23
    assert result.resumed == at // 4 * 4
    assert is_like(out, whole)


def test_interrupted_again_and_again(pipe, texts, whole, out):
    for at in (5, 6, 12, 11, 20):
        with pytest.raises(Stop):
            run(pipe, interrupted(texts, at), out)
    assert run(pipe, texts, out, n_jobs=2).resumed == 20
    assert is_like(out, whole)


@pytest.mark.parametrize("cut", [1, 20, None])
def test_what_a_kill_leaves_of_a_batch(cut, pipe, texts, whole, out):
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, 14), out)
    note = parts(out) / "00000002.json"
    if cut is None:
        note.unlink()
    else:
        note.write_bytes(note.read_bytes()[:-cut])
    (parts(out) / ".00000003.data.12ab.part").write_bytes(b"not finished")
    (parts(out) / "00000003.data").write_bytes(b"without a note")
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, 9), out)
    assert {path.name for path in parts(out).iterdir()} == {
        *("lock", "identity", "spec", "00000000.data", "00000000.json"),
        *("00000001.data", "00000001.json"),
    }
    assert run(pipe, texts, out).resumed == 8
    assert is_like(out, whole)


def test_a_corrupt_batch_is_computed_again(pipe, texts, whole, out):
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, 14), out)
    data = parts(out) / "00000001.data"
    held = bytearray(data.read_bytes())
    held[len(held) // 2] ^= 1
    data.write_bytes(held)
    assert run(pipe, texts, out).resumed == 4
    assert is_like(out, whole)
    for damage in (Path.unlink, lambda path: path.write_bytes(b"")):
        with pytest.raises(Stop):
            run(pipe, interrupted(texts, 14), out)
        damage(parts(out) / "00000000.data")
        assert run(pipe, texts, out).resumed == 0
        assert is_like(out, whole)


def test_parts_without_what_they_have_in_common(pipe, texts, whole, out):
    for name in ("spec", "identity"):
        with pytest.raises(Stop):
            run(pipe, interrupted(texts, 14), out)
        (parts(out) / name).unlink()
        if name == "identity":
            with pytest.raises(ValueError, match="a different version of the format"):
                run(pipe, texts, out)
        resumed = run(pipe, texts, out, resume=name == "spec").resumed
        assert resumed == 0
        assert is_like(out, whole)


def test_killed_around_the_last_rename(pipe, texts, whole, out, monkeypatch):
    replace = os.replace

    def stop(*args):
        raise Stop

    def stop_at_output(source, target):
        if target == out:
            raise Stop
        replace(source, target)

    for name, stopping in (("fsync", stop), ("replace", stop_at_output)):
        with monkeypatch.context() as patched:
            patched.setattr(_partial_output.os, name, stopping)
            with pytest.raises(Stop):
                run(pipe, texts, out)
        assert not out.exists()
        (parts(out) / "whole").write_bytes(b"of a killed process")
        shutil.copytree(parts(out), out.parent / "copy", dirs_exist_ok=True)
        assert run(pipe, texts, out).resumed == 23
        assert is_like_beside_copy(out, whole)
        # As if killed after the output was renamed and before its folder was removed.
        (out.parent / "copy").rename(parts(out))
        assert run(pipe, texts, out).resumed == 23
        assert is_like(out, whole)
        out.unlink()


def test_a_corrupt_batch_of_a_complete_output(pipe, texts, whole, out, monkeypatch):
    """The mark at the end counts only with all batches before it."""

    def stop(*args):
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(_partial_output.os, "fsync", stop)
        with pytest.raises(Stop):
            run(pipe, texts, out)
    assert (parts(out) / "end").exists()
    data = parts(out) / "00000003.data"
    data.write_bytes(data.read_bytes()[:-1])
    assert run(pipe, texts, out).resumed == 12
    assert is_like(out, whole)


def is_like_beside_copy(out, whole):
    return not parts(out).exists() and out.read_bytes() == whole.read_bytes()


KILLED = """
    import os, signal, sys
    from pathlib import Path
    import joblib
    from sk_metaembed import transform_in_batches

    folder, name, at, call, n_jobs = Path(sys.argv[1]), *sys.argv[2:]
    calls = [0]

    def count():
        calls[0] += 1
        return calls[0] == int(call)

    def kill():
        os.kill(os.getpid(), signal.SIGKILL)

    write_bytes, replace = Path.write_bytes, os.replace

    def dying_write(path, data):
        if at == "write" and count():
            write_bytes(path, memoryview(data)[: len(data) // 2])
            kill()
        return write_bytes(path, data)

    def dying_replace(source, target):
        if at == "replace" and count():
            kill()
        replace(source, target)
        if at == "replaced" and count():
            kill()

    Path.write_bytes, os.replace = dying_write, dying_replace
    transform_in_batches(
        joblib.load(folder / "pipe"), folder / "texts.txt", folder / "parts" / name,
        batch_size=4, n_jobs=int(n_jobs),
    )
"""


@pytest.fixture
def folder(pipe, texts, tmp_path):
    joblib.dump(pipe, tmp_path / "pipe")
    text = "".join(f"{text}\n" for text in texts)
    (tmp_path / "texts.txt").write_text(text, encoding="utf-8")
    return tmp_path


def start(script, *args, **kwargs):
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, args)],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        **kwargs,
    )


@pytest.mark.parametrize(
    "name", [NAMES[0], pytest.param(NAMES[1], marks=pytest.mark.slow)]
)
def test_kill_9_in_the_middle_of_writing(name, folder):
    out, source = folder / "parts" / name, folder / "texts.txt"
    pipe = joblib.load(folder / "pipe")
    # Files of the first call: identity, spec, and two per batch.
    for at, call in (("write", 5), ("replace", 4), ("replaced", 3)):
        process = start(KILLED, folder, name, at, call, 1)
        message = process.communicate()[1]
        assert process.returncode == -signal.SIGKILL, message
        assert not out.exists()
    assert run(pipe, source, out).resumed > 0
    run(pipe, source, folder / "whole" / name)
    assert is_like(out, folder / "whole" / name)


def test_another_pipeline_or_source_or_option_is_refused(
    pipe, texts, whole, out, store
):
    with pytest.raises(Stop):
        run(pipe, interrupted(texts, 14), out)
    other = make_pipeline(Tokenizer(), PretrainedEmbedding(store), Pooling("max"))
    with pytest.raises(ValueError, match=r"with a different pipeline\. Resume with"):
        run(other.fit(["tea"]), texts, out)
    with pytest.raises(ValueError, match=r"a different batch_size \(4, now 5\)"):
        run(pipe, texts, out, batch_size=5)
    with pytest.raises(ValueError, match="a different dtype"):
        run(pipe, texts, out, dtype="float16")
    changed = [*texts[:5], "snow snow", *texts[6:]]
    with pytest.raises(ValueError, match="has other rows than before among rows 4"):
        run(pipe, iter(changed), out)
    assert run(pipe, texts, out).resumed == 12
    assert is_like(out, whole)


def test_resume_false_starts_over(pipe, texts, whole, out):
    with pytest.raises(Stop):
        run(pipe, interrupted(texts[::-1], 14), out)
    assert run(pipe, texts, out, resume=False).resumed == 0
    assert is_like(out, whole)


def test_a_file_that_changed_is_refused(folder, pipe, tmp_path):
    source, out = folder / "texts.txt", tmp_path / "out" / "a.npy"
    stop_after(pipe, source, out, 8)
    os.utime(source, (0, 0))
    with pytest.raises(ValueError, match="started with a different source"):
        run(pipe, source, out)


def stop_after(pipe, source, out, rows):
    """Run over a source until an error after a number of rows."""
    seen = []

    class Stopping(type(pipe)):
        def transform(self, X):
            seen.extend(X)
            if len(seen) > rows:
                raise Stop
            return super().transform(X)

    original = type(pipe)
    pipe.__class__ = Stopping
    fingerprint = sys.modules["sk_metaembed.scale._transform"]
    held = fingerprint.pipeline_fingerprint
    fingerprint.pipeline_fingerprint = lambda pipe: _as(pipe, original, held)
    try:
        with pytest.raises(Stop):
            run(pipe, source, out)
    finally:
        pipe.__class__ = original
        fingerprint.pipeline_fingerprint = held


def _as(pipe, cls, function):
    own, pipe.__class__ = pipe.__class__, cls
    try:
        return function(pipe)
    finally:
        pipe.__class__ = own


def test_error_if_the_source_is_modified_while_read(folder, pipe, tmp_path):
    source, out = folder / "texts.txt", tmp_path / "out" / "a.npy"

    def meddling(rows):
        if len(rows) < 4:
            source.write_text("tea\n")
        return np.zeros((len(rows), 1))

    with pytest.raises(ValueError, match=r"texts\.txt was modified while being read"):
        run(FunctionTransformer(meddling).fit(None), source, out)
    assert not out.exists()


@pytest.mark.parametrize("kind", ["gz", "folder", "jsonl", "parquet"])
def test_resuming_file_sources(kind, pipe, texts, whole, out, tmp_path):
    import gzip
    import json

    import pyarrow as pa
    from pyarrow import parquet

    source, column = tmp_path / f"a.{kind}", None
    if kind == "gz":
        with gzip.open(source, "wt") as file:
            file.write("\n".join(texts))
    elif kind == "folder":
        source.mkdir()
        for i in range(0, 23, 6):
            (source / f"{i:02d}.txt").write_text("\n".join(texts[i : i + 6]))
    elif kind == "jsonl":
        source.write_text("\n".join(json.dumps({"text": t}) for t in texts))
        column = "text"
    else:
        source.mkdir()
        for i in range(0, 23, 6):
            table = pa.table({"text": texts[i : i + 6]})
            parquet.write_table(table, source / f"{i:02d}.parquet", row_group_size=4)
        column = "text"
    text = make_stopping(pipe, 14)
    with pytest.raises(Stop):
        run(text, source, out, column=column)
    text.stops_at = None
    result = run(text, source, out, column=column)
    assert result.resumed == 12
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


def make_stopping(pipe, at):
    return StoppingPipe(pipe, at)


def test_unpicklable_pipeline_is_identified_by_its_last_batch(texts, tmp_path):
    def make(power):
        return FunctionTransformer(
            lambda rows: np.array([[len(text) ** power] for text in rows]) * 1.0
        ).fit(None)

    out = tmp_path / "out" / "a.npy"
    with pytest.raises(Stop):
        run(make(1), interrupted(texts, 14), out)
    with pytest.raises(
        ValueError, match="returns other values than before for rows 8 to"
    ):
        run(make(2), texts, out)
    assert run(make(1), texts, out).resumed == 8
    assert np.load(out)[:, 0].tolist() == [len(text) for text in texts]


def test_one_process_at_a_time(pipe, texts, tmp_path):
    out = tmp_path / "a.npy"

    def rows():
        yield from texts[:9]
        with pytest.raises(RuntimeError, match="another process is writing"):
            run(pipe, texts, out)
        yield from texts[9:]

    assert run(pipe, rows(), out).rows == 23


@pytest.mark.parametrize(
    ("method", "call", "resumed"),
    [(Path.write_bytes, 9, 12), (_partial_output.os.fsync, 1, 23)],
    ids=["a batch", "the whole output"],
)
def test_a_full_disk(method, call, resumed, pipe, texts, whole, out, monkeypatch):
    calls = [0]

    def full(*args):
        calls[0] += 1
        if calls[0] == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return method(*args)

    with monkeypatch.context() as patched:
        owner = Path if method is Path.write_bytes else _partial_output.os
        patched.setattr(owner, method.__name__, full)
        with pytest.raises(OSError, match="no space left for .* free some space"):
            run(pipe, texts, out)
    assert not (parts(out) / "whole").exists()
    assert run(pipe, texts, out).resumed == resumed
    assert is_like(out, whole)


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="mounting is root's"
)
def test_a_disk_that_is_really_full(pipe, texts, whole, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=320k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this system mounts no tmpfs")
    try:
        (disk / "ballast").write_bytes(bytes(240 * 1024))
        out = disk / whole.name
        with pytest.raises(OSError, match="no space left for") as caught:
            run(pipe, texts * 40, out, batch_size=40)
        assert caught.value.errno == errno.ENOSPC
        (disk / "ballast").unlink()
        assert run(pipe, texts * 40, out, batch_size=40).resumed > 0
        run(pipe, texts * 40, whole, batch_size=40)
        assert is_like(out, whole)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_may_not_be_written(pipe, texts, tmp_path, monkeypatch):
    def denied(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", denied)
        with pytest.raises(
            PermissionError, match="is not writable. Fix its permissions"
        ):
            run(pipe, texts, tmp_path / "a.npy")
    (tmp_path / "b.npy").mkdir()
    with pytest.raises(IsADirectoryError, match="b.npy is a directory"):
        run(pipe, texts, tmp_path / "b.npy")


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
    y = np.arange(len(texts)) % 2
    tiny = {"vector_size": 4, "min_count": 1, "random_state": 0}
    union = EmbeddingUnion(
        [
            ("w2v", Word2VecEmbedding(**tiny)),
            ("ft", FastTextEmbedding(**tiny, bucket=50)),
        ]
    )
    yield make_pipeline(Tokenizer(), union, SVDMetaEmbedding(3), Pooling("mean")).fit(
        texts
    )
    yield make_pipeline(
        Tokenizer(), PretrainedEmbedding(store), Pooling(weights="sif"), PCA(2)
    ).fit(texts)
    yield make_pipeline(
        PretrainedEmbedding(store),
        DynamicMetaClassifier(max_epochs=1, random_state=0, device="cpu"),
    ).fit(texts, y)


def test_a_pipeline_is_the_same_in_any_process_and_after_use(texts, store, tmp_path):
    pipes = list(trained(texts, store))
    digests = [pipeline_fingerprint(pipe) for pipe in pipes]
    assert None not in digests
    assert len(set(digests)) == 3
    for pipe in pipes:
        (pipe.transform if hasattr(pipe, "transform") else pipe.predict)(texts)
    assert [pipeline_fingerprint(pipe) for pipe in pipes] == digests
    assert [
        pipeline_fingerprint(pickle.loads(pickle.dumps(p))) for p in pipes
    ] == digests
    joblib.dump(pipes, tmp_path / "pipes")
    script = """
        import sys, joblib
        from sk_metaembed.scale._fingerprint import pipeline_fingerprint
        print(*map(pipeline_fingerprint, joblib.load(sys.argv[1])))
    """
    process = start(script, tmp_path / "pipes", stdout=subprocess.PIPE, text=True)
    message, error = process.communicate()
    assert message.split() == digests, error


def test_a_lock_that_was_removed_since_it_was_opened(tmp_path, monkeypatch):
    import fcntl

    path = tmp_path / "lock"
    first = _locked(path)
    assert first is not None
    assert _locked(path) is None
    flock = fcntl.flock

    def late(file, flags):
        """Lock a file that its holder removes after it was opened here."""
        path.unlink()
        first.close()
        flock(file, flags)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", late)
        assert _locked(path) is None
    _locked(path).close()
