"""What TransformerEmbedding stores in a sentence cache."""

import numpy as np
import pytest
import torch

from sk_metaembed import TransformerEmbedding
from sk_metaembed.sources.transformer._network import Network

from .. import tiny_bert

SENTENCES = [["the", "film", "was", "plotting"], ["good", "king"], [], ["good", "king"]]


def test_a_cache_stores_layers_for_later_requests(tmp_path, monkeypatch):
    computed, forward = [], Network.hidden_states

    def counted(self, rows, *args):
        computed.extend(rows)
        return forward(self, rows, *args)

    monkeypatch.setattr(Network, "hidden_states", counted)

    def embedded(cache, layers, **options):
        source = TransformerEmbedding(
            tiny_bert.folder(), layers, cache=tmp_path / cache, **options
        )
        return source.fit_transform(SENTENCES)

    n_distinct = len({tuple(sentence) for sentence in SENTENCES if sentence})
    for cache, options, n_passes in (
        ("every", {}, 1),
        ("some", {"cache_layers": "selected"}, 3),
    ):
        computed.clear()
        first = embedded(cache, -1, **options)
        assert len(computed) == n_distinct
        again = [embedded(cache, layer, **options) for layer in (0, 1)]
        assert len(computed) == n_passes * n_distinct
        alone = TransformerEmbedding(tiny_bert.folder(), (-1, 0, 1))
        for mine, block in zip(
            [first, *again], alone.fit_transform(SENTENCES).blocks, strict=True
        ):
            assert np.array_equal(mine.blocks[0].values, block.values)


def test_a_layer_that_cannot_be_stored_is_named(tmp_path):
    network = tiny_bert.network()
    with torch.no_grad():
        network.encoder.layer[0].output.LayerNorm.weight.fill_(1e6)
    pair = network, tiny_bert.tokenizer()
    options = {"cache": tmp_path, "cache_dtype": "float16"}
    with pytest.raises(ValueError, match=r"Layer 'layer1' of .* as float32\.$"):
        TransformerEmbedding(pair, layers="all", **options).fit(SENTENCES)
    with pytest.raises(ValueError, match=r"not requested.* cache_layers='selected'"):
        TransformerEmbedding(pair, **options).fit(SENTENCES)
    selected = TransformerEmbedding(pair, cache_layers="selected", **options)
    assert selected.fit_transform(SENTENCES).blocks[0].known.all()
