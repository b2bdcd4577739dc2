"""Directories of other tools, some of which have a meta.json too."""

import json

import numpy as np
import pytest

from sk_metaembed import (
    PretrainedEmbedding,
    WordVectors,
    export_vectors,
    make_embedding,
)


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
    (tmp_path / "s" / "thesis.txt").unlink()
    with pytest.raises(ValueError, match="corrupt. Delete the directory and convert"):
        WordVectors.open(tmp_path / "s")
