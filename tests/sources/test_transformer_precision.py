"""The precision of a network, and weights in oneDNN's layout."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest
import torch

from sk_metaembed import TransformerEmbedding
from sk_metaembed._training import _onednn
from sk_metaembed._training._onednn import PackedLayer, pack_weight
from sk_metaembed.sources.transformer._model import ModelSpec, shared_model

from .. import tiny_bert

ROWS = [["the", "film"], ["good", "king", "queen"]]


def test_a_loaded_pair_keeps_its_precision():
    pair = tiny_bert.network().bfloat16(), tiny_bert.tokenizer()
    assert TransformerEmbedding(pair).fit(ROWS).dtype_ == "bfloat16"
    with pytest.raises(ValueError, match=r"\['dtype'\] must have their default"):
        TransformerEmbedding(pair, dtype="float16").fit(ROWS)


@pytest.mark.skipif(pack_weight(torch.eye(2)) is None, reason="not packable here")
def test_models_from_files_are_packed_and_pairs_are_not(tmp_path):
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


def test_no_pass_runs_while_layers_are_tried(monkeypatch):
    network = shared_model(ModelSpec(tiny_bert.folder())).new_network("float32")
    network._packs = True
    trying, may_end = threading.Event(), threading.Event()

    def pack_layers(module, trial, equal):
        trying.set()
        assert may_end.wait(30)

    monkeypatch.setattr(_onednn, "pack_layers", pack_layers)
    rows = [np.array([1, 2, 3])]
    with ThreadPoolExecutor(2) as pool:
        passes = [pool.submit(network.hidden_states, rows, None, 0) for _ in range(2)]
        assert trying.wait(30)
        assert not wait(passes, timeout=0.2).done
        may_end.set()
        first, second = (done.result()[-1] for done in passes)
    assert network.n_passes == 2
    assert torch.equal(first, second)
