"""Losses of a language model equal those computed from its arrays in numpy."""

import h5py
import numpy as np
import pytest
from scipy.special import log_softmax

from sk_metaembed import ElmoLanguageModel

from ....tiny_elmo import Oracle
from .grammar import ARCHITECTURE, SMALL, sentences

ROWS = [["the", "cat", "sat"], [], ["unheard", "mat"], ["log"], ["the"] * 150]
ROWS += [["<S>", "on"]]  # a word that is spelled like a mark
SHAPES = {
    "plain": {},
    "one layer, a clip that bites": {"n_layers": 1, "cell_clip": 0.2, "proj_clip": 0.1},
    "no skips, tanh": {"skip_connections": False, "activation": "tanh", "n_highway": 2},
}


def small(shape):
    architecture = {**ARCHITECTURE, **SHAPES[shape]}
    return {**SMALL, "max_epochs": 1, "architecture": architecture}


def arrays_of(file):
    names = []
    with h5py.File(file) as held:
        held.visit(names.append)
        return {n: held[n][...] for n in names if isinstance(held[n], h5py.Dataset)}


def losses_by_hand(model, file, rows):
    """Return summed losses forward and backward of each row, (n_rows, 2)."""
    arrays = arrays_of(file)
    oracle = Oracle(model.options_, arrays)
    numbers = {word: k for k, word in enumerate(model.vocabulary_)}
    actual = []
    for row in rows:
        last = oracle.sentence(row, marks=True)[-1]
        known = [0, *(max(2, numbers.get(word, 2)) for word in row), 1]
        recorded = []
        for out, targets in (
            (np.split(last, 2, axis=1)[0][:-1], known[1:]),
            (np.split(last, 2, axis=1)[1][1:], known[:-1]),
        ):
            scores = out @ arrays["softmax/W"].T + arrays["softmax/b"]
            shares = log_softmax(scores, axis=1)
            recorded.append(-shares[np.arange(len(targets)), targets].sum())
        actual.append(recorded)
    return np.array(actual)


@pytest.mark.parametrize("shape", SHAPES)
def test_perplexity_is_that_of_the_saved_arrays(shape, tmp_path):
    model = ElmoLanguageModel(**small(shape))
    model.fit(sentences(20))
    losses = losses_by_hand(model, model.save(tmp_path)[1], ROWS)
    n_words = sum(len(row) + 1 for row in ROWS)
    for direction, k in (("forward", 0), ("backward", 1)):
        expected = np.exp(losses[:, k].sum() / n_words)
        assert model.perplexity(ROWS, direction) == pytest.approx(expected, rel=1e-5)
    both = np.exp(losses.mean(axis=1).sum() / n_words)
    assert model.perplexity(ROWS) == pytest.approx(both, rel=1e-5)
    for size in (1, 2, 9):
        scores = model.set_params(batch_size=size).score_samples(ROWS)
        np.testing.assert_allclose(scores, -losses.mean(axis=1), rtol=1e-5)


def test_held_out_losses_are_float32():
    rows = sentences(12)
    low = ElmoLanguageModel(**{**SMALL, "max_epochs": 1}, dtype="bfloat16").fit(rows)
    actual = low.perplexity(rows)
    low.net_.bfloat16 = False
    assert low.perplexity(rows) == actual


@pytest.mark.parametrize("dim", [1, 5])
def test_clusters_have_at_least_one_dimension(dim, monkeypatch):
    monkeypatch.setattr(
        "sk_metaembed.sources.elmo.language_model._net._CUTOFFS", (2, 4, 8)
    )
    options = small("plain") | {"softmax": "adaptive"}
    options["architecture"]["projection_dim"] = dim
    model = ElmoLanguageModel(**options).fit(sentences(20))
    clusters = model.net_.module_.softmax.clusters.tail
    assert min(tail[0].weight.shape[0] for tail in clusters) >= 1
