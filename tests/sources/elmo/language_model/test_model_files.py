"""Model files: errors name files that are corrupt or do not match."""

import shutil

import h5py
import numpy as np
import pytest

from sk_metaembed import ElmoEmbedding, ElmoLanguageModel

from .grammar import SMALL, sentences

ONE_EPOCH = {**SMALL, "max_epochs": 1}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folders of models with either softmax."""
    folders = {}
    for kind in ("full", "adaptive"):
        folders[kind] = tmp_path_factory.mktemp(kind)
        model = ElmoLanguageModel(**ONE_EPOCH, softmax=kind)
        model.fit(sentences(20)).save(folders[kind])
    return folders


@pytest.fixture
def copied(written, tmp_path):
    """Return a function that copies a model, which a test can corrupt."""

    def copy(kind):
        return shutil.copytree(written[kind], tmp_path / kind)

    return copy


def changed(folder, name, array=None):
    """Replace or delete an array of a file."""
    with h5py.File(folder / "weights.hdf5", "a") as held:
        del held[name]
        if array is not None:
            held[name] = array


def test_a_corrupt_file_is_named(copied):
    folder = copied("full")
    file = folder / "weights.hdf5"
    data = file.read_bytes()
    file.write_bytes(data.replace(b"TREE", b"\xff" * 4))
    for read in (
        lambda: ElmoEmbedding(folder / "options.json", file).fit([["a"]]),
        lambda: ElmoLanguageModel.load(folder),
    ):
        with pytest.raises(ValueError, match=r"weights\.hdf5 cannot be read as HDF5"):
            read()


@pytest.mark.parametrize(
    ("kind", "name", "array", "message"),
    [
        ("full", "softmax/b", None, r"the softmax in .* require .*'bias': \(13,\)"),
        ("full", "softmax/b", np.full(13, np.nan), "'softmax/b' in .* not finite"),
        ("adaptive", "softmax/adaptive/clusters.head.weight", None, "the softmax in"),
    ],
)
def test_a_softmax_that_does_not_match_is_named(copied, kind, name, array, message):
    folder = copied(kind)
    assert len((folder / "vocab.txt").read_text("utf-8").splitlines()) == 13
    changed(folder, name, array)
    with pytest.raises(ValueError, match=message):
        ElmoLanguageModel.load(folder)
    # The vectors do not depend on it.
    files = folder / "options.json", folder / "weights.hdf5"
    ElmoEmbedding(*files).fit([["a"]])


def test_invalid_initial_is_refused():
    initial = ("options.json",)
    with pytest.raises(ValueError, match=r"must be a folder, \(options, weights\), or"):
        ElmoLanguageModel(initial, **SMALL).fit(sentences(5))


def test_the_vocabulary_may_be_a_third_file(written):
    folder = written["full"]
    files = [folder / n for n in ("options.json", "weights.hdf5", "vocab.txt")]
    rows = sentences(5)
    whole = ElmoLanguageModel.load(folder)
    assert ElmoLanguageModel.load(files).perplexity(rows) == whole.perplexity(rows)
    files[2] = folder / "nowhere.txt"
    with pytest.raises(FileNotFoundError, match=r"no vocabulary file .*nowhere\.txt"):
        ElmoLanguageModel.load(files)
