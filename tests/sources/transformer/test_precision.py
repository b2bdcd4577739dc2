"""The precision of loaded models, and weights in oneDNN's layout."""

import numpy as np
import pytest
import torch

from sk_metaembed import TransformerEmbedding
from sk_metaembed._training import _onednn
from sk_metaembed._training._onednn import PackedLayer

from ... import tiny_bert

ROWS = [["the", "film"], ["good", "king", "queen"]]


def test_a_loaded_pair_keeps_its_precision():
    pair = tiny_bert.network().bfloat16(), tiny_bert.tokenizer()
    assert TransformerEmbedding(pair).fit(ROWS).dtype_ == "bfloat16"
    with pytest.raises(ValueError, match=r"\['dtype'\] must have their default"):
        TransformerEmbedding(pair, dtype="float16").fit(ROWS)


@pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="torch is built without oneDNN"
)
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
