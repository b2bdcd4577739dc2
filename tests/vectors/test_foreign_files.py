"""Files and folders of other tools: what errors say to do, and what is not replaced."""

import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save

from sk_metaembed import (
    PretrainedEmbedding,
    WordVectors,
    export_vectors,
    make_embedding,
)


def _tar():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("meta.json"), io.BytesIO())
    return buffer.getvalue()


def _saved(write, *arguments):
    buffer = io.BytesIO()
    write(buffer, *arguments)
    return buffer.getvalue()


def _zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("glove.txt", "a 1 2")
    return buffer.getvalue()


FILES = {
    "tar": (_tar(), "is an archive: unpack it"),
    "zip": (_zip(), "is an archive: unpack it"),
    "npy": (_saved(np.save, np.eye(3)), "library that wrote them.*from_arrays"),
    "csv": ("word,x,y\ntea,1,2\nmilk,3,4\n", "library that wrote them.*from_arrays"),
    "GloVe's binary": (np.arange(1.5, 9).tobytes(), "unknown format.*from_arrays"),
    "safetensors": (save({"embedding": np.eye(3)}), "safetensors.*make_embedding"),
    "joblib": (
        b"\x80\x04\x95" + bytes(8) + b"\x8c\x06joblib\x00",
        "wikipedia2vec.*from_",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_tools_are_named(write, name):
    content, match = FILES[name]
    path = write("x", content)
    for open_it in (
        WordVectors.open,
        lambda path: make_embedding(path).fit([["tea"]]),
    ):
        with pytest.raises(ValueError, match=match):
            open_it(path)


@pytest.fixture
def foreign(tmp_path):
    """A directory of another tool with a meta.json and the work of its user."""
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "meta.json").write_text(json.dumps({"lang": "en", "version": "1.0"}))
    (folder / "thesis.txt").write_text("years of work")
    return folder


@pytest.mark.parametrize(
    "open_folder",
    [
        WordVectors.open,
        make_embedding,
        lambda folder: PretrainedEmbedding(folder).fit([["tea"]]),
        lambda folder: WordVectors.convert(folder, folder.with_name("new")),
        lambda folder: WordVectors.from_arrays(["a"], [[1.0]], path=folder),
        lambda folder: export_vectors(
            {"a": [1.0]}, ["a"], folder, format="store", overwrite=True
        ),
    ],
)
def test_nothing_of_others_is_replaced_or_to_be_deleted(foreign, open_folder):
    with pytest.raises((ValueError, OSError)) as caught:
        open_folder(foreign)
    assert "elete" not in str(caught.value) and "corrupt" not in str(caught.value)
    assert (foreign / "thesis.txt").read_text() == "years of work"


def test_a_corrupt_store_with_other_files_is_not_to_be_deleted(tmp_path):
    wv = WordVectors.from_arrays(["a", "b"], np.eye(2), path=tmp_path / "s")
    (tmp_path / "s" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="without other files"):
        export_vectors(wv, ["a"], tmp_path / "s", format="store", overwrite=True)
    (tmp_path / "s" / "index.npy").unlink()
    with pytest.raises(ValueError, match="corrupt. Convert the source again, into an"):
        WordVectors.open(tmp_path / "s")
