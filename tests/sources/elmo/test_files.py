"""ELMo's files: errors name the file and key; URLs are downloaded once."""

import builtins
import hashlib
import json

import h5py
import numpy as np
import pytest

from sk_metaembed import ElmoEmbedding

from ...tiny_elmo import OPTIONS, Oracle, random_weights, write


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "model")


def assert_refused(model, error, *mentioned):
    with pytest.raises(error) as raised:
        ElmoEmbedding(*map(str, model)).fit([["a"]])
    for text in mentioned:
        assert text in str(raised.value)


def changed(options, *keys, **values):
    """Write options with some values changed, or taken out if they are ..."""
    record = json.loads(options.read_text())
    part = record
    for key in keys:
        part = part[key]
    for key, value in values.items():
        if value is ...:
            del part[key]
        else:
            part[key] = value
    options.write_text(json.dumps(record))


def test_options_for_training_have_fewer_keys(model):
    record = {"bidirectional": True, "dropout": 0.1, "n_train_tokens": 768648884}
    lstm = {"projection_dim": 4, "dim": 6, "n_layers": 2}
    cnn = {"embedding": {"dim": 3}, "filters": [[1, 3], [2, 4], [3, 5]]}
    cnn |= {"n_highway": 2, "n_characters": 261, "activation": "relu"}
    model[0].write_text(json.dumps({**record, "lstm": lstm, "char_cnn": cnn}))
    others = {"cell_clip": None, "proj_clip": None, "skip_connections": False}
    oracle = Oracle(OPTIONS._replace(**others), random_weights(OPTIONS))
    result = ElmoEmbedding(*model).fit_transform([["a", "word"]])
    expected = oracle.sentence(["a", "word"])[2]
    np.testing.assert_allclose(result.blocks[2].values, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("keys", "values", "mentioned"),
    [
        ((), {"char_cnn": ...}, "'char_cnn' is missing in"),
        ((), {"bidirectional": False}, "'bidirectional'"),
        (("lstm",), {"dim": 0}, "'lstm.dim'"),
        (("char_cnn",), {"embedding": 16}, "'char_cnn.embedding.dim'"),
        (("char_cnn",), {"filters": [[1, 2, 3]]}, "'char_cnn.filters'"),
        (("char_cnn",), {"filters": [[51, 2]]}, "50 characters of a word"),
        (("char_cnn",), {"activation": "selu"}, "'char_cnn.activation'"),
        (("char_cnn",), {"n_characters": 100}, "'char_cnn.n_characters'"),
        (("char_cnn",), {"max_characters_per_token": 2}, "max_characters_per_token"),
    ],
)
def test_strange_options_are_named(model, keys, values, mentioned):
    changed(model[0], *keys, **values)
    assert_refused(model, ValueError, str(model[0]), mentioned)


def test_options_that_are_not_json(model):
    model[0].write_bytes(b"\xff\xfe{}")
    assert_refused(model, ValueError, str(model[0]), "JSON")


@pytest.mark.parametrize("which", [0, 1])
def test_files_that_are_not_there(model, which):
    model[which].unlink()
    assert_refused(model, FileNotFoundError, str(model[which]))
    model[which].mkdir()
    assert_refused(model, FileNotFoundError, str(model[which]))


def test_truncated_weights(model):
    data = model[1].read_bytes()
    model[1].write_bytes(data[: len(data) // 2])
    assert_refused(model, ValueError, str(model[1]), "corrupt, truncated")


def test_arrays_of_another_kind(model):
    name = "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B"
    with h5py.File(model[1], "a") as file:
        del file[name]
        file[name] = np.arange(24)
    assert_refused(model, ValueError, str(model[1]), name, "int64")
    with h5py.File(model[1], "a") as file:
        del file[name]
        file.create_group(name)
    assert_refused(model, ValueError, str(model[1]), name, "1 of the")


def test_numbers_that_are_not_finite(model):
    with h5py.File(model[1], "a") as file:
        file["CNN_proj/W_proj"][0, 0] = np.nan
    step = ElmoEmbedding(*model).fit([["a"]])
    with pytest.raises(ValueError, match=r"'CNN_proj/W_proj' in .* not finite"):
        step.transform([["a"]])


@pytest.mark.parametrize(
    ("keys", "values", "mentioned"),
    [
        (("lstm",), {"dim": 7}, "has shape (8, 24)"),
        (("lstm",), {"n_layers": 3}, "Cell2"),
        (("char_cnn",), {"n_highway": 1}, "CNN_high_1"),
        (("char_cnn",), {"filters": [[1, 3], [2, 4], [4, 5]]}, "CNN/W_cnn_2"),
    ],
)
def test_options_that_disagree_with_the_weights(model, keys, values, mentioned):
    changed(model[0], *keys, **values)
    assert_refused(model, ValueError, str(model[1]), mentioned, "of the same model")


def test_missing_h5py_names_the_extra(model, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "h5py":
            raise ImportError("No module named 'h5py'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'sk_metaembed\[elmo\]'"):
        ElmoEmbedding(*model).fit([["a"]])


def test_urls_are_downloaded_once_and_checked(model, server, tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))
    server.files = {f"/{path.name}": path.read_bytes() for path in model}
    plain = [f"{server.url}/{path.name}" for path in model]
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in model]
    urls = [f"{u}#sha256={d}" for u, d in zip(plain, digests, strict=True)]
    expected = ElmoEmbedding(*model).fit_transform([["a", "word"]])
    for _ in range(2):
        assert ElmoEmbedding(*urls).fit_transform([["a", "word"]]) == expected
    assert sorted(server.requests) == ["/options.json", "/weights.hdf5"]
    with pytest.warns(UserWarning, match="without a checksum") as record:
        ElmoEmbedding(*plain).fit([["a"]])
    assert digests[1] in str(record[1].message)
    wrong = f"{plain[1]}#sha256={digests[0]}"
    with pytest.raises(ValueError, match=r"expected .* It was deleted"):
        ElmoEmbedding(urls[0], wrong).fit([["a"]])
    with pytest.raises(ValueError, match="must be sha256= and"):
        ElmoEmbedding(f"{plain[0]}#md5=1", urls[1]).fit([["a"]])
    with pytest.raises(FileNotFoundError, match=r"cannot be downloaded .* its path"):
        ElmoEmbedding(f"{server.url}/nowhere.json", urls[1]).fit([["a"]])
