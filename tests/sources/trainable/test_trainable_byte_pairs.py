"""TrainableCharacters over byte pairs: ids, unseen pieces, resumed fits and files."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sk_metaembed import (
    DynamicMetaClassifier,
    TokenSequences,
    TrainableCharacters,
    load,
    save,
)

from ..words.test_byte_pair_embedding import MARK
from .test_trainable_characters import OPTIONS, STRANGE, vectors, words_ending

SMALL = {"vocab_size": 40, "char_dim": 6, "filters": ((1, 8), (2, 8)), "lr": 0.02}
TEXTS = ["Walking and talking", "walked and talked"] * 12


def pieces(**options):
    return TrainableCharacters(**SMALL | {"dropout": 0.0} | options)


@pytest.fixture(scope="module")
def fitted():
    """Return a classifier of endings over byte pairs alone."""
    X, y = words_ending(120, 0)
    options = OPTIONS | {"max_epochs": 12, "early_stopping": False}
    return DynamicMetaClassifier(trainable=pieces(), **options).fit(X, y)


def test_ids_are_pieces_between_marks():
    tokens = TokenSequences.from_lists([["abab"] * 3])
    pairs = pieces(vocab_size=4).prepare(tokens).byte_pairs
    assert pairs.pieces == ["a", "b", MARK, "ab"]
    ids, lengths = pairs.ids(["abba", "", "x", "aaaaa"], 3)
    assert ids.tolist() == [
        [4, 3, 1, 0, 5],
        [4, 5, 6, 6, 6],
        [4, 5, 6, 6, 6],
        [4, 0, 0, 0, 5],
    ]
    assert lengths.tolist() == [5, 2, 2, 5]


def test_a_word_is_the_same_alone_and_in_any_batch():
    opened = pieces().prepare(TokenSequences.from_lists([STRANGE] * 2))
    network = opened.network().eval()
    many = STRANGE + ["1"] + [f"{'w' * (i % 40)}{i}" for i in range(300)]
    together, known = vectors(opened, network, many)
    assert np.flatnonzero(~known[: len(STRANGE)]).tolist() == [1, 4]  # no characters
    assert not known[len(STRANGE)] and not together[~known].any()
    for i, word in enumerate(STRANGE):
        alone, _ = vectors(opened, network, [word])
        np.testing.assert_allclose(alone[0], together[i], atol=1e-5)


def test_copies_and_files_predict_alike(fitted, tmp_path):
    new, _ = words_ending(20, 1)
    expected = fitted.predict_proba(new)
    save(fitted, tmp_path / "model.skm")
    for copy in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "model.skm")):
        np.testing.assert_array_equal(copy.predict_proba(new), expected)


def test_only_pieces_of_the_training_data_have_vectors_at_first():
    tokens = TokenSequences.from_lists([["abab", "ab"]] * 3)
    opened = pieces().prepare(tokens)
    names = [*opened.byte_pairs.pieces, "begin", "end", "padding"]
    weight = opened.network().characters.weight.detach()
    zero = {name for name, row in zip(names, weight, strict=True) if not row.any()}
    assert zero == {"a", "b", MARK, "ab", "padding"}  # in longer pieces only
    assert len(opened.unseen) == len(names) == len(weight)


def test_continued_training_keeps_the_pieces(fitted):
    model = clone(fitted)
    model.partial_fit(TEXTS, np.arange(24) % 2, classes=[0, 1])
    before = model._trained.opened[0].byte_pairs.pieces
    model.partial_fit(["日本語", "walking"], [0, 1])
    opened = model._trained.opened[0]
    assert opened.byte_pairs.pieces == before
    assert len(opened.unseen) == len(before) + 3
    model.set_params(trainable__lr=0.5).partial_fit(["walked", "a"], [0, 1])
    assert model._trained.opened[0].lr == 0.5
    with pytest.raises(ValueError, match="continues with the net of the last fit"):
        model.set_params(trainable__vocab_size=41).partial_fit(["walked", "a"], [0, 1])
