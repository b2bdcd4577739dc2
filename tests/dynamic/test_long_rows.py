"""Long rows among short ones: recurrences on grids with few empty positions."""

import numpy as np
import pytest
import torch

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaTagger,
    EmbeddedSequences,
    TokenSequences,
)
from sk_metaembed.dynamic import _batches
from sk_metaembed.dynamic._batches import (
    MAX_POSITIONS,
    BucketLoader,
    Grid,
    SequenceData,
    SequenceDataset,
    grid_parts,
)
from sk_metaembed.dynamic._inputs import PreparedSources
from sk_metaembed.dynamic.nets._encoders import make_encoder

from .conftest import make_embedded
from .test_estimators import SMALL


@pytest.mark.parametrize(
    "lengths",
    [
        [20] * 31 + [50_000],
        [50_000] + [0] * 31,
        [0] * 31 + [200_000],
        [0, 0, 0],
        [],
        [30_000] * 20,
        np.geomspace(1, 100_000, 40).astype(int),
        np.random.default_rng(0).permutation(np.geomspace(1, 1e6, 300).astype(int)),
    ],
    ids=str,
)
def test_positions_of_a_grid_are_limited(lengths):
    lengths = np.asarray(lengths, dtype=np.int64)
    cuts = grid_parts(lengths)
    assert cuts[0] == 0 and cuts[-1] == len(lengths)
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        part = lengths[start:stop]
        n_positions = len(part) * part.max(initial=0)
        assert n_positions <= max(MAX_POSITIONS, 2 * part.sum())
    if len(lengths) and lengths.min() == lengths.max():
        assert len(cuts) == 2  # equal lengths leave no position empty


def outputs(name, lengths):
    """Return vectors and gradients of an encoder."""
    torch.manual_seed(0)
    encoder = make_encoder(name, 4, (3, 2), (1, 3), 0.0)
    tokens = torch.randn(sum(lengths), 4, requires_grad=True)
    vectors = encoder(tokens, Grid.of(np.array(lengths), torch.from_numpy))
    vectors.square().sum().backward()
    return [vectors, tokens.grad, *(p.grad for p in encoder.parameters())]


@pytest.mark.parametrize("name", ["bilstm-max", "gru", "conv"])
@pytest.mark.parametrize("lengths", [[2, 9, 1, 0, 3, 2], [0, 0, 0, 12], [12, 0, 0, 0]])
def test_parts_of_a_batch_change_nothing(name, lengths, monkeypatch):
    whole = outputs(name, lengths)
    monkeypatch.setattr(_batches, "MAX_POSITIONS", 5)
    assert len(grid_parts(np.array(lengths))) > 2
    for one, other in zip(whole, outputs(name, lengths), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("scheme", [None, "IOB2"])
def test_a_tagger_is_the_same_in_parts(monkeypatch, scheme):
    X = make_embedded(levels=("type",))
    y = [["O"] * int(n) for n in X.tokens.lengths]
    options = {**SMALL, "max_epochs": 1, "early_stopping": False, "scheme": scheme}
    for tags in y[::2]:
        tags[1:3] = ["B-a", "I-a"][: len(tags[1:3])]

    def predictions():
        model = DynamicMetaTagger("context", **options).fit(X, y)
        return model.predict(X).tolist(), np.concatenate(model.predict_proba(X))

    tags, shares = predictions()
    monkeypatch.setattr(_batches, "MAX_POSITIONS", 12)
    in_parts, shares_in_parts = predictions()
    assert in_parts == tags
    np.testing.assert_allclose(shares_in_parts, shares, atol=1e-5)


def test_batches_of_prediction_have_few_positions(monkeypatch):
    X = make_embedded(n_sequences=300, lengths=(0, 40))
    data = SequenceData(X, torch.device("cpu"), PreparedSources([], None))
    dataset = SequenceDataset(data, np.arange(300))
    monkeypatch.setattr(_batches, "MAX_POSITIONS", 100)
    batches = [batch for batch, _ in BucketLoader(dataset, 32)]
    assert sorted(row for b in batches for row in b.rows) == list(range(300))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * batch.grid.longest <= 100


@pytest.mark.slow
def test_one_row_of_60000_tokens_among_short_ones():
    words = list("abcdef")
    rows = [words * 10_000, *(words[: i % 7] for i in range(63))]
    tokens = TokenSequences.from_lists(rows)
    X = EmbeddedSequences(tokens, [Block("s", np.eye(6), "type")])
    model = DynamicMetaClassifier(**SMALL | {"encoder": "gru", "max_epochs": 1})
    assert np.isfinite(model.fit(X, np.arange(64) % 2).predict_proba(X)).all()
