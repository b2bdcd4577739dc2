"""Errors on what cannot be saved or loaded, and warnings, say what to do."""

import json
import os
import pickle
import shutil
import threading
from collections import Counter
from functools import partial
from importlib.metadata import version

import joblib
import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

import sk_metaembed
from sk_metaembed import (
    ElmoEmbedding,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    TransformerEmbedding,
    WordVectors,
    load,
    save,
)
from sk_metaembed.persistence import UntrustedError
from sk_metaembed.utils.estimator_checks import WORDS

from .. import tiny_bert
from ..handles import clear_handles
from ..test_estimators import spelling
from ..tiny_elmo import files as elmo_files
from . import forge
from .same import ROWS, Holder

pytestmark = pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")


DRAWING = stats.norm(1)
DRAWING.random_state = 1


class Splitter:
    def split(self, text):
        return text.split()


@pytest.fixture
def path(tmp_path):
    return save(Tokenizer(), tmp_path / "tokens.skm")


def refused(path, match, **kwargs):
    with pytest.raises(ValueError, match=match):
        load(path, **kwargs)


def test_a_file_from_a_newer_version(path):
    parts = forge.members(path.read_bytes())
    newer = {"version": 2, "versions": {"sk_metaembed": "9.9"}}
    manifest = {**json.loads(parts[forge.MANIFEST]), **newer}
    parts[forge.MANIFEST] = json.dumps(manifest).encode()
    path.write_bytes(forge.zipped(parts))
    refused(path, "format version 2; .* written by sk_metaembed 9.9: install")


def test_a_truncated_file(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    refused(path, "corrupt|truncated")


def without_structure(parts):
    del parts[forge.STRUCTURE]
    parts |= forge.resealed(parts)


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (lambda parts: parts.pop(forge.STRUCTURE), "lacks 'structure.json'"),
        (lambda parts: parts.update(more=b"x"), "also has 'more'"),
        (
            lambda parts: parts.update({forge.STRUCTURE: b"[]"}),
            "checksum of 'structure.json' does not match the manifest",
        ),
        (without_structure, "no item named 'structure.json' in the archive"),
    ],
    ids=["missing", "not listed", "changed", "neither"],
)
def test_members_are_those_of_the_manifest(edit, match, path):
    parts = forge.members(path.read_bytes())
    edit(parts)
    path.write_bytes(forge.zipped(parts))
    refused(path, match)


def test_a_pickle(tmp_path):
    joblib.dump(Tokenizer(), tmp_path / "model", compress=3)
    refused(tmp_path / "model", "any code .* joblib.load or pickle.load")


@pytest.mark.parametrize(
    ("place", "error", "match"),
    [
        (3, TypeError, "requires the path of a file, got 3"),
        ("https://example.org/m.skm", ValueError, "'https://.*Nothing is downloaded"),
        ("", IsADirectoryError, "one file. Pass the file's path, such as 'model.skm'"),
    ],
)
def test_invalid_paths(place, error, match):
    with pytest.raises(error, match=f"sk_metaembed.load.*{match}"):
        load(place)
    with pytest.raises(error, match=f"sk_metaembed.save.*{match}"):
        save(Pooling(), place)


def test_missing_folders(path, tmp_path):
    with pytest.raises(
        FileNotFoundError, match="write 'e.skm': .* no directory '.*none'"
    ):
        save(Pooling(), tmp_path / "none" / "e.skm")
    with pytest.raises(NotADirectoryError, match="Create it or pass a different path"):
        save(Pooling(), path / "e.skm")
    assert list(tmp_path.iterdir()) == [path]


def test_vectors_that_moved_or_changed(tmp_path):
    place = tmp_path / "store"
    source = PretrainedEmbedding(
        WordVectors.from_arrays(WORDS, np.eye(len(WORDS)), path=place)
    ).fit(ROWS)
    path = save(source, tmp_path / "v.skm")
    bundle = save(source, tmp_path / "b.skm", bundle=True)
    del source
    shutil.rmtree(place)
    clear_handles()
    refused(path, r"files of the word vectors .* is missing: .* bundle=True")
    WordVectors.from_arrays(WORDS, 2 * np.eye(len(WORDS)), path=place)
    refused(path, r"files of the word vectors .* had fingerprint .* bundle=True")
    assert load(bundle).vectors_["good"].sum() == 1


@pytest.mark.parametrize("kind", ["ELMo model", "transformer"])
def test_models_that_moved(kind, tmp_path):
    if kind == "ELMo model":
        places = [shutil.copy(file, tmp_path) for file in elmo_files()]
        source, folder = ElmoEmbedding(*places), tmp_path
    else:
        folder = tiny_bert.save(tmp_path / "bert")
        source = TransformerEmbedding(folder)
    path = save(source.fit(ROWS), tmp_path.with_suffix(".skm"))
    shutil.rmtree(folder)
    clear_handles()
    refused(path, f"files of the {kind} .* is not on this machine")


def test_nothing_is_downloaded(tmp_path, monkeypatch):
    place = "https://example.org/weights.hdf5"
    parts = forge.saved(ElmoEmbedding(*elmo_files()).fit(ROWS), tmp_path)
    here = json.dumps(str(elmo_files()[1]))
    structure = json.dumps(forge.nodes_of(parts)).replace(here, json.dumps(place))
    assert place in structure
    monkeypatch.setattr("urllib.request.urlopen", lambda *a, **k: 1 / 0)
    monkeypatch.setattr("sk_metaembed._io._download.urlopen", lambda *a, **k: 1 / 0)
    path = tmp_path / "url.skm"
    path.write_bytes(forge.zipped(forge.with_nodes(parts, json.loads(structure))))
    refused(path, "is not on this machine")


def test_models_with_code_or_pickles_are_not_bundled(tmp_path):
    folder = tiny_bert.save(tmp_path / "bert")
    torch.save(tiny_bert.network().state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="can run any code .* trusted=True"):
        TransformerEmbedding(folder).fit(ROWS)
    source = TransformerEmbedding(folder, trusted=True).fit(ROWS)
    place = r"^estimator\._model: "
    with pytest.raises(TypeError, match=f"{place}.* cannot be bundled: .* pickles"):
        save(source, tmp_path / "e.skm", bundle=True)
    path = save(source, tmp_path / "e.skm")
    refused(path, "run code that comes with a model or a pickle. .*trusted=True")
    again = load(path, trusted=["trusted=True"]).transform(ROWS)
    np.testing.assert_array_equal(
        again.blocks[0].values, source.transform(ROWS).blocks[0].values
    )


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (Tokenizer(tokenizer=lambda text: [text]), r"^estimator\.tokenizer is a lam"),
        (
            make_pipeline(FunctionEmbedding(lambda words: np.eye(len(words)))),
            r"^estimator\.steps\[0\]\[1\]\.func is a lambda, .* top level of a module",
        ),
        (Tokenizer(tokenizer=Splitter().split), "Splitter.split, a bound method"),
        (Tokenizer(tokenizer=partial(lambda n, t: [t], 1)), "tokenizer is a lambda"),
        (Holder(torch.nn.Linear(1, 1)), r"^estimator\.value is a torch module"),
        (Pooling, "one instance of an estimator.*got <class .*Pooling"),
        ([Pooling()], r"got \[Pooling\(\)\]. To save several, put them into a Pipe"),
        (Holder(DRAWING), "the distribution 'norm', .* has its own random_state"),
        (Holder(iter([1])), r"^estimator\.value holds list_iterator, which sk_meta"),
    ],
    # Other representations contain addresses.
    ids=lambda message: message if isinstance(message, str) else "",
)
def test_objects_that_cannot_be_saved_are_refused(estimator, match, tmp_path):
    with pytest.raises(TypeError, match=match):
        save(estimator, tmp_path / "e.skm")
    assert list(tmp_path.iterdir()) == []


def test_local_functions_and_functions_of_a_script(tmp_path):
    def local(text):
        return text.split()

    with pytest.raises(
        TypeError, match=r"'.*<locals>.local' .* cannot be imported by that name"
    ):
        save(Tokenizer(tokenizer=local), tmp_path / "e.skm")
    local.__qualname__, local.__module__ = "local", "__main__"
    with pytest.raises(TypeError, match="the running script"):
        save(Tokenizer(tokenizer=local), tmp_path / "e.skm")


def test_circular_references_are_refused(tmp_path):
    step = Holder([])
    step.value.append(step)
    with pytest.raises(TypeError, match="has a circular reference"):
        save(step, tmp_path / "e.skm")


def test_functions_are_named_and_trusted(tmp_path):
    path = save(FunctionEmbedding(spelling).fit(ROWS), tmp_path / "e.skm")
    name = f"{spelling.__module__}.spelling"
    with pytest.raises(UntrustedError, match="functions to be imported") as error:
        load(path)
    assert error.value.names == (name,)
    assert load(path, trusted=[name]).get_params()["func"] is spelling
    assert pickle.loads(pickle.dumps(error.value)).names == (name,)


def test_existing_file_stays_if_writing_fails(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda *a: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        save(LogisticRegression(), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("trusted", [True, "os.system"])
def test_trusted_is_a_list_of_names(trusted, path):
    with pytest.raises(TypeError, match="trusted must be a list of names.*; got"):
        load(path, trusted=trusted)


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), Counter({1: 2}), {"a": [{"b": threading.Lock()}]}],
    ids=["no pickle either", "not supported", "deep inside"],
)
def test_a_refusal_says_where(value, tmp_path):
    inner, fitted = Holder(value), Holder()
    fitted._Booster = value
    union = FeatureUnion([("left", Holder()), ("right", inner)])
    search = GridSearchCV(Pipeline([("clf", fitted)]), {})
    kind = "Counter" if isinstance(value, Counter) else "lock"
    for estimator, place in (
        (Pipeline([("clf", fitted)]), "estimator.steps[0][1]._Booster"),
        (
            Pipeline([("u", union)]),
            "estimator.steps[0][1].transformer_list[1][1].value",
        ),
        (search, "estimator.estimator.steps[0][1]._Booster"),
        (inner, "estimator.value"),
    ):
        with pytest.raises(TypeError, match=f" holds {kind}, which") as error:
            save(estimator, tmp_path / "e.skm")
        where = str(error.value).partition(" holds ")[0]
        assert where.startswith(place)
        assert type(eval(where)).__name__ == kind


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_devices_and_pipes_are_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for action in (lambda: save(Tokenizer(), pipe), lambda: load(pipe)):
        with pytest.raises(OSError, match="pipe' is not a regular file"):
            action()
    assert pipe.is_fifo()


def test_save_warns_of_what_load_requires(tmp_path):
    steps = Tokenizer(tokenizer=str.split), TransformerEmbedding("folder", trusted=True)
    pipe = make_pipeline(*steps, Pooling(), Holder(1))
    names = ["builtins.str.split", f"{Holder.__module__}.Holder", "trusted=True"]
    with pytest.warns(UserWarning, match="m.skm requires explicit trust") as caught:
        path = save(pipe, tmp_path / "m.skm")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert str(caught[0].message).endswith(f"load(path, trusted={names}).")
    load(path, trusted=names)
    with pytest.raises(UntrustedError) as error:
        load(path)
    assert error.value.names == tuple(names)
    assert str(error.value).count("trusted=[") == 1
    assert all(str(error.value).count(name) == 2 for name in names)
    for name in names:
        with pytest.raises(UntrustedError) as error:
            load(path, trusted=[other for other in names if other != name])
        assert error.value.names == (name,)


def test_a_file_states_the_versions_that_wrote_it(tmp_path):
    path = save(Tokenizer(), tmp_path / "m.skm")
    manifest = json.loads(forge.members(path.read_bytes())[forge.MANIFEST])
    expected = {"sk_metaembed": sk_metaembed.__version__}
    expected |= {name: version(name) for name in ("scikit-learn", "numpy", "torch")}
    assert manifest["versions"] == expected


@pytest.mark.filterwarnings("error")
def test_save_does_not_warn_if_load_requires_nothing(tmp_path):
    save(make_pipeline(Tokenizer(), Pooling(), LogisticRegression()), tmp_path / "m")
