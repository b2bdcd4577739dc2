"""Files of other tools that are not read: what the error says to do."""

import io
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save

from sk_metaembed import PretrainedEmbedding, WordVectors, make_embedding


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
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5.*ElmoEmbedding"),
    "csv": ("word,x,y\ntea,1,2\nmilk,3,4\n", "library that wrote them.*from_arrays"),
    "GloVe's binary": (np.arange(1.5, 9).tobytes(), "GloVe.*-binary 0"),
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


def test_quantized_fasttext_names_the_way_in(write):
    head = struct.pack("<2i12id", 793712314, 12, 2, *[1] * 7, 0, 0, 0, 1, 1e-4)
    data = head + struct.pack("<3iqq", 1, 1, 0, 1, -1) + b"a\0" + bytes(9) + b"\x01"
    with pytest.raises(ValueError, match=r"\.ftz.*get_word_vector.*from_arrays"):
        WordVectors.open(write("x.ftz", data + bytes(40)))


def test_pieces_of_bpemb_are_named():
    pieces = WordVectors.from_arrays(["\u2581the", "\u2581tea", "s"], np.eye(3))
    source = PretrainedEmbedding(pieces)
    with pytest.warns(UserWarning, match=r"SentencePiece's pieces, as in BPEmb"):
        source.fit([["tea"], ["the", "cup"]])
