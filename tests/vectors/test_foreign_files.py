"""Files and folders of other tools that are not read are named, with the way in."""

import io
import json
import sqlite3
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

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
    "finalfusion": (b"FiFu" + bytes(40), "finalfusion file.*from_arrays"),
    "tar": (_tar(), "tar archive.*BPEmb.*w2v.bin.*navec"),
    "npy": (_saved(np.save, np.eye(3)), "NumPy array.*from_arrays"),
    "npz": (_saved(np.savez, np.eye(3)), "npz of NumPy.*from_arrays"),
    "zip": (_zip(), "zip archive: unpack it"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5.*Numberbatch.*ElmoEmbedding"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(40), "Zstandard: unpack it with zstd"),
    "sentencepiece": (b"\n\x0e\n\x05<unk>\x15" + bytes(40), "SentencePiece.*BPEmb"),
    "json": ('{"tea": [1, 2]}', "looks like JSON.*from_arrays"),
    "csv": ("word,x,y\ntea,1,2\nmilk,3,4\n", "looks like CSV.*from_arrays"),
    "GloVe's binary": (np.arange(1.5, 9).tobytes(), "GloVe.*-binary 0"),
    "parquet": (b"PAR1" + bytes(20), "Parquet.*from_arrays"),
    "gguf": (b"GGUF\x03" + bytes(40), "GGUF.*TransformerEmbedding"),
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


def test_databases_and_tensors_are_named(tmp_path):
    with sqlite3.connect(tmp_path / "x.magnitude") as connection:
        connection.execute("create table magnitude (key text)")
    connection.close()
    with pytest.raises(ValueError, match=r"SQLite.*magnitude.*from_arrays"):
        WordVectors.open(tmp_path / "x.magnitude")
    save_file({"embedding": np.eye(3)}, tmp_path / "x.safetensors")
    with pytest.raises(ValueError, match=r"safetensors file.*make_embedding"):
        WordVectors.open(tmp_path / "x.safetensors")


FOLDERS = {
    "sense2vec": (["freqs.json", "key2row", "vectors"], "sense2vec.*get_best_sense"),
    "SavedModel": (["saved_model.pb"], "TensorFlow.*FunctionEmbedding"),
    "staticvectors": (["model.safetensors"], "model of staticvectors.*from_arrays"),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_of_other_tools_are_named(tmp_path, name):
    files, match = FOLDERS[name]
    for file in files:
        (tmp_path / file).write_bytes(b"")
    if name == "staticvectors":
        (tmp_path / "config.json").write_text(json.dumps({"model_type": name}))
    for open_it in (
        WordVectors.open,
        lambda path: make_embedding(path).fit([["tea"]]),
    ):
        with pytest.raises(ValueError, match=match):
            open_it(tmp_path)


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
