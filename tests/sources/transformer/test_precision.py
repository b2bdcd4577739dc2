"""``dtype="auto"`` and weights in oneDNN's layout."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sk_metaembed import TransformerEmbedding, load, save
from sk_metaembed._io._handle import shared
from sk_metaembed._training import _onednn
from sk_metaembed._training._onednn import PackedLayer, has_onednn
from sk_metaembed.sources.transformer import _precision
from sk_metaembed.sources.transformer._model import ModelSpec, TransformerModel

from ... import tiny_bert

ROWS = [["the", "film"], ["good", "king", "queen"]]


@pytest.fixture
def trial(monkeypatch):
    """Replace the result of the trial, and count the trials."""
    outcome = {"speedup": 2.0, "closeness": 1.0, "count": 0}

    def compare(*args):
        outcome["count"] += 1
        return outcome["speedup"], outcome["closeness"]

    monkeypatch.setattr(_precision, "compare", compare)
    monkeypatch.setattr(_precision, "computes_bfloat16", lambda device: True)
    monkeypatch.setattr(_precision, "_chosen", {})
    return outcome


def auto(**options):
    return TransformerEmbedding(tiny_bert.folder(), dtype="auto", **options).fit(ROWS)


@pytest.mark.parametrize(
    ("speedup", "closeness", "expected"),
    [
        (1.3, 0.9995, "bfloat16"),
        (1.1, 0.9995, "float32"),
        (1.3, 0.998, "float32"),
        (1.3, -1.0, "float32"),
    ],
)
def test_the_trial_decides(trial, speedup, closeness, expected):
    trial.update(speedup=speedup, closeness=closeness)
    source = auto()
    assert source.dtype_ == expected
    assert source._model.network.module.dtype == getattr(torch, expected)
    same = TransformerEmbedding(tiny_bert.folder(), dtype=expected).fit(ROWS)
    assert source.fingerprint_ == same.fingerprint_
    assert source._model is same._model
    assert source.transform(ROWS) == same.transform(ROWS)
    clone(source).fit(ROWS)
    assert trial["count"] == 1


def test_the_choice_is_part_of_a_saved_source(trial, tmp_path):
    source = auto()
    trial["speedup"] = 0.5
    _precision._chosen.clear()
    save(source, tmp_path / "source.skm")
    for copy in (pickle.loads(pickle.dumps(source)), load(tmp_path / "source.skm")):
        assert copy.dtype_ == "bfloat16"
        assert copy.transform(ROWS) == source.transform(ROWS)
    assert trial["count"] == 1
    assert clone(source).fit(ROWS).dtype_ == "float32"


def test_without_bfloat16_nothing_is_tried(trial, monkeypatch):
    monkeypatch.setattr(_precision, "computes_bfloat16", lambda device: False)
    assert auto().dtype_ == "float32"
    assert trial["count"] == 0


def test_networks_are_compared():
    model = shared(TransformerModel, ModelSpec(tiny_bert.folder()))
    exact, other = model.network, model.new_network("bfloat16")
    speedup, closeness = _precision.compare(exact, other)
    assert speedup > 0
    assert 0.99 < closeness < 1
    assert _precision.compare(exact, exact)[1] == pytest.approx(1)


def test_vectors_that_are_not_finite_are_not_close():
    model = shared(TransformerModel, ModelSpec(tiny_bert.folder()))
    broken = model.new_network("float32")
    next(broken.module.parameters()).data.fill_(torch.nan)
    assert _precision.compare(model.network, broken)[1] == -1


def test_a_loaded_pair_keeps_its_precision():
    pair = tiny_bert.network().bfloat16(), tiny_bert.tokenizer()
    assert TransformerEmbedding(pair).fit(ROWS).dtype_ == "bfloat16"
    with pytest.raises(ValueError, match=r"\['dtype'\] must have their default"):
        TransformerEmbedding(pair, dtype="auto").fit(ROWS)


@pytest.mark.skipif(not has_onednn("cpu", torch.float32), reason="not packable here")
def test_models_from_files_are_packed_and_pairs_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(_onednn, "is_faster", lambda shape: shape[0] > 2)
    size = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4}
    tiny_bert.save(tmp_path, **size, initializer_range=0.05)
    source = TransformerEmbedding(tmp_path, layers="all").fit(ROWS)
    module = source._model.network.module
    n_packed = sum(isinstance(m, PackedLayer) for m in module.modules())
    assert n_packed == 2 * 6 + 1  # per layer, and the pooler
    pair = tiny_bert.network(**size, initializer_range=0.05), tiny_bert.tokenizer()
    plain = TransformerEmbedding(pair, layers="all").fit(ROWS)
    assert not any(isinstance(m, PackedLayer) for m in pair[0].modules())
    for ours, torchs in zip(
        source.transform(ROWS).blocks, plain.transform(ROWS).blocks, strict=True
    ):
        np.testing.assert_allclose(ours.values, torchs.values, atol=2e-5)
    trained = source._model.private_module()
    assert not any(isinstance(m, PackedLayer) for m in trained.modules())
