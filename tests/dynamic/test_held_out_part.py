"""The part that is held out for early stopping has no copies of training rows."""

import numpy as np
import pytest
from skorch.callbacks import Callback

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
)

N_ROWS = 80


class Divided(Exception):
    """The rows are divided, and training would begin."""


class Stop(Callback):
    def on_train_begin(self, net, X, **kwargs):
        raise Divided(X.rows, net.get_split_datasets(X)[1].rows)


def divide(X, y, **options):
    """Return which rows a fit holds out."""
    net = DynamicMetaClassifier(early_stopping=True, callbacks=[Stop()], random_state=0)
    with pytest.raises(Divided) as caught:
        net.fit(X, y, **options)
    train, held_out = caught.value.args
    is_held_out = np.zeros(len(X), dtype=bool)
    kept = np.flatnonzero(options.get("sample_weight", np.ones(len(X))))
    is_held_out[kept[held_out]] = True
    assert len(train) + len(held_out) == len(kept)
    assert 0.03 < is_held_out.mean() < 0.3
    return is_held_out


def rows_of(numbers, n_sides=1):
    """Return sequences of the texts of these numbers, with vectors of their own."""
    values = np.random.default_rng(0).normal(size=(len(numbers), 3))
    tokens = TokenSequences.from_lists([[f"text{i}"] for i in numbers])
    X = EmbeddedSequences(tokens, [Block("a", values, "sequence")])
    return X if n_sides == 1 else SequencePairs(X)


def assert_together(is_held_out, unit):
    for each in np.unique(unit):
        assert len(set(is_held_out[unit == each])) == 1


def test_copies_are_held_out_together():
    unit = np.random.default_rng(0).permutation(np.arange(N_ROWS) // 4)
    assert_together(divide(rows_of(unit), unit % 2), unit)


def test_groups_are_held_out_together():
    unit = np.random.default_rng(0).permutation(np.arange(N_ROWS) // 4)
    X, y = rows_of(np.arange(N_ROWS)), np.arange(N_ROWS) % 2
    assert_together(divide(X, y, groups=unit), unit)
    weight = np.where(np.arange(N_ROWS) % 5, 1.0, 0.0)
    is_held_out = divide(X, y, groups=unit, sample_weight=weight)
    assert not is_held_out[weight == 0].any()
    assert_together(is_held_out[weight > 0], unit[weight > 0])


def test_mirrored_pairs_are_held_out_together():
    first, second = np.arange(N_ROWS // 2), 100 + np.arange(N_ROWS // 2)
    sides = np.concatenate([first, second, second, first])
    unit = np.tile(first, 2)
    assert_together(divide(rows_of(sides, 2), unit % 2), unit)


def test_rows_of_equal_tokens_are_divided():
    """Vectors of sequences can differ, such as those of images."""
    divide(rows_of(np.zeros(N_ROWS, dtype=int)), np.arange(N_ROWS) % 2)
