"""Tests of the comparisons of devices, and of steps that must not wait for a GPU."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from sk_metaembed import ElmoLanguageModel
from sk_metaembed.dynamic._batches import SequenceData, SequenceDataset
from sk_metaembed.sources.elmo.language_model._bptt import BPTTBatches
from sk_metaembed.sources.elmo.language_model._corpus import RowsCorpus

from ..sources.elmo.language_model.grammar import SMALL
from . import cases
from .cases import CASES
from .compare import differences


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_fault_in_any_array_is_found(dtype):
    case = CASES["word"]
    expected = case.compute("cpu", "float32")
    actual = case.compute("cpu", dtype)
    effects = None
    if dtype == "bfloat16":
        effects = cases.rounding_effects(case, expected)
    assert not differences(expected, actual, dtype, effects)
    for name, values in actual.items():
        found = differences(expected, {**actual, name: values * 1.6}, dtype, effects)
        kind, _, weight = name.partition(" ")
        # A bias that softmax ignores has a gradient of rounding errors.
        ignored = weight == "mixer.score.bias" or (kind, dtype) == ("step", "bfloat16")
        assert found or ignored, name
    name = "value predict_proba"
    broken = {**actual, name: np.where(np.eye(*actual[name].shape), np.nan, 0.5)}
    assert differences(expected, broken, dtype, effects) == [f"{name}: not finite"]
    assert "names differ" in differences(expected, {}, dtype)[0]


MODELS = {
    "bilstm-max": cases.classifier(encoder="bilstm-max"),
    "context": cases.classifier("context", encoder="mean"),
    "published": cases.classifier(encoder="mean", mixer="published"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_step_reads_no_number_from_the_device(name):
    # Tensors on the device "meta" have no values: reading one, or a tensor whose shape
    # depends on values, raises an error. On a GPU it would wait for all work so far.
    X, y = cases.embedded(), np.arange(cases.N_ROWS) % 2
    model = MODELS[name].set_params(max_epochs=1, early_stopping=False, device="cpu")
    net = model.fit(X, y).net_
    meta = torch.device("meta")
    module = net.module_.to(meta).train()
    data = SequenceData(X, meta, net.module__sources)
    weights = np.ones(cases.N_ROWS, np.float32)
    dataset = SequenceDataset(data, np.arange(cases.N_ROWS), y, weights)
    batch, target = dataset.batch(np.arange(cases.N_ROWS))
    loss = net.get_loss(module(batch), target, X=batch, training=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 5.0)
    torch.optim.Adam(module.parameters()).step()
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        loss.item()


def test_a_step_of_a_language_model_reads_no_number(monkeypatch):
    # Autocast does not know the device "meta".
    monkeypatch.setattr(torch, "autocast", lambda *args, **options: nullcontext())
    sentences = [row for row in cases.tokens().to_list() if row]
    model = ElmoLanguageModel(**SMALL | {"softmax": "full", "max_epochs": 1})
    module = model.fit(sentences).net_.module_.to("meta").train()
    corpus = RowsCorpus(cases.TokenSequences.from_lists(sentences))
    options = model.options_.max_characters, 4, 5, torch.device("meta"), 0
    batches = BPTTBatches(corpus, model.vocabulary_, *options)
    states = None
    for (batch, _), _ in zip(batches, range(2), strict=False):
        losses, states = module(batch, states)
        losses.mean().backward()
    assert losses.shape == (2, batch.n_targets)
