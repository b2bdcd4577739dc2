"""Losses of a language model equal those of its saved arrays, computed in numpy."""

import h5py
import numpy as np
import pytest

from sk_metaembed import ElmoLanguageModel
from sk_metaembed.elmo._lm_modules import make_softmax
from sk_metaembed.elmo._options import read_options

from ..tiny_elmo import Oracle
from .grammar import ARCHITECTURE, SMALL, sentences

ROWS = [["the", "cat", "sat"], [], ["unheard", "mat"], ["log"], ["the"] * 7]
SHAPES = {
    "plain": {},
    "one layer, a clip that bites": {"n_layers": 1, "cell_clip": 0.2, "proj_clip": 0.1},
    "no skips, tanh": {"skip_connections": False, "activation": "tanh", "n_highway": 2},
}


def small(shape):
    architecture = {**ARCHITECTURE, **SHAPES[shape]}
    return {**SMALL, "max_epochs": 1, "architecture": architecture}


def log_softmax(scores):
    top = scores.max(axis=1, keepdims=True)
    return scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))


def arrays_of(file):
    names = []
    with h5py.File(file) as held:
        held.visit(names.append)
        return {n: held[n][...] for n in names if isinstance(held[n], h5py.Dataset)}


def losses_by_hand(files, vocabulary, rows):
    """Return summed losses forward and backward of each row, (n_rows, 2)."""
    arrays = arrays_of(files[1])
    oracle = Oracle(read_options(files[0]), arrays)
    numbers = {word: k for k, word in enumerate(vocabulary)}
    actual = []
    for row in rows:
        last = oracle.sentence(row, marks=True)[-1]
        known = [0, *(numbers.get(word, 2) for word in row), 1]
        recorded = []
        for out, targets in (
            (np.split(last, 2, axis=1)[0][:-1], known[1:]),
            (np.split(last, 2, axis=1)[1][1:], known[:-1]),
        ):
            scores = out @ arrays["softmax/W"].T + arrays["softmax/b"]
            recorded.append(
                -log_softmax(scores)[np.arange(len(targets)), targets].sum()
            )
        actual.append(recorded)
    return np.array(actual)


@pytest.mark.parametrize("shape", SHAPES)
def test_perplexity_is_that_of_the_saved_arrays(shape, tmp_path):
    model = ElmoLanguageModel(**small(shape))
    model.fit(sentences(20))
    files = model.save(tmp_path)
    losses = losses_by_hand(files, model.vocabulary_, ROWS)
    n_words = sum(len(row) + 1 for row in ROWS)
    for direction, k in (("forward", 0), ("backward", 1)):
        expected = np.exp(losses[:, k].sum() / n_words)
        assert model.perplexity(ROWS, direction) == pytest.approx(expected, rel=1e-5)
    both = np.exp(losses.mean(axis=1).sum() / n_words)
    assert model.perplexity(ROWS) == pytest.approx(both, rel=1e-5)
    np.testing.assert_allclose(
        model.score_samples(ROWS), -losses.mean(axis=1), rtol=1e-5
    )


def test_held_out_losses_are_float32():
    rows = sentences(12)
    low = ElmoLanguageModel(**{**SMALL, "max_epochs": 1}, dtype="bfloat16").fit(rows)
    actual = low.perplexity(rows)
    low.net_.bfloat16 = False
    assert low.perplexity(rows) == actual


def test_clusters_have_at_least_one_dimension():
    for dim in (1, 5):
        softmax = make_softmax("adaptive", dim, 60_000)
        assert min(tail[0].weight.shape[0] for tail in softmax.clusters.tail) >= 1
