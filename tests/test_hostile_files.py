"""Files from elsewhere, without vectors: tagged text, HDF5, archives."""

import zipfile

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sk_metaembed as sk
from sk_metaembed.datasets import fetch_sentence_pairs, load_conll

from .tiny_elmo import OPTIONS, random_weights, write_model

MIB = 1 << 20


@pytest.fixture(scope="module")
def elmo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elmo")
    return write_model(folder, OPTIONS, random_weights(OPTIONS))


@pytest.fixture
def weights(elmo, tmp_path):
    file = tmp_path / "weights.hdf5"
    file.write_bytes(elmo[1].read_bytes())
    return file


# --- tagged text


TAGGED = [b"a", b" ", b"\n", b"\t", b"\r", b"O", b"B-x", b"-DOCSTART-", b"\xff", b"\0"]
TAGGED += [b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\xa8", b"a O\n", b"b\tO\n"]


@given(data=st.lists(st.sampled_from(TAGGED), max_size=25).map(b"".join))
def test_any_tagged_text(data, tmp_path):
    file = tmp_path / "any.conll"
    file.write_bytes(data)
    try:
        bunch = load_conll(file)
    except ValueError as error:
        assert "any.conll" in str(error)
        return
    assert [len(row) for row in bunch.data.to_list()] == [len(t) for t in bunch.target]
    assert all(bunch.data.lengths)


def test_an_archive_that_unpacks_without_end(tmp_path, limit_of_bombs, monkeypatch):
    limit_of_bombs(MIB)
    monkeypatch.delenv("SK_METAEMBED_DATA", raising=False)
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path))
    path = tmp_path / "fetched" / "sick" / "sick_trial.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SICK_trial.txt", bytes(8 * MIB))
    with pytest.raises(ValueError, match="over 100 times its size"):
        fetch_sentence_pairs("sick", "dev")
    assert not [*tmp_path.rglob("*.txt")]


# --- HDF5


def forged_array(file, kind):
    name = "char_embed"
    with h5py.File(file, "r+") as held:
        shape = held[name].shape
        del held[name]
        secret = file.with_name("secret")
        secret.write_bytes(bytes(4 * int(np.prod(shape))))
        if kind == "external":
            held.create_dataset(name, shape, "f4", external=[(str(secret), 0, 2**20)])
        elif kind == "link":
            held[name] = h5py.ExternalLink(str(secret), "x")
        else:
            del held["CNN_proj/W_proj"]
            held.create_dataset("CNN_proj/W_proj", (10**6, 10**6), "f4", chunks=True)


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("external", "data are stored in another file"),
        ("link", "1 of the .* are missing"),
        ("promise", "has shape|are missing"),
    ],
)
def test_arrays_that_are_elsewhere_or_too_large(kind, match, elmo, weights):
    forged_array(weights, kind)
    with pytest.raises(ValueError, match=match):
        sk.ElmoEmbedding(elmo[0], weights).fit_transform([["a"]])


@given(
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4),
    cut=st.floats(0.3, 1.5),
)
def test_damaged_hdf5(changes, cut, elmo, weights):
    data = bytearray(elmo[1].read_bytes())
    for place, value in changes:
        data[int(place * (len(data) - 1))] = value
    weights.write_bytes(bytes(data[: int(cut * len(data))]))
    try:
        X = sk.ElmoEmbedding(elmo[0], weights).fit_transform([["a"]])
    except ValueError as error:
        assert weights.name in str(error)
        return
    assert all(np.isfinite(block.values).all() for block in X.blocks)
