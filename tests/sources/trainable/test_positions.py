"""TrainablePositions: numbers of positions, and networks that read them."""

import numpy as np
import pytest

import sk_metaembed as sk
from sk_metaembed import DynamicMetaClassifier, TokenSequences, TrainablePositions
from sk_metaembed import TrainableTokens as Tokens

from .test_tokens import OPTIONS, known, looked_up

# The classes have the same tokens, at other positions.
ROWS = [["a", "b", "b", "b"], ["b", "a", "b", "b"], list("bbab"), list("bbba")] * 5
Y = np.array(["first", "first", "second", "second"] * 5)
BOTH = [("tokens", Tokens(4)), ("positions", TrainablePositions(4))]


def test_a_position_has_one_vector_in_all_rows():
    spec = TrainablePositions(4).prepare(TokenSequences.from_lists(ROWS))
    assert spec.n_rows == 4
    vectors = looked_up(spec, spec.network(), [["a", "z"], [], ["b", "b", "a"]])
    np.testing.assert_array_equal(vectors[:2], vectors[2:4])
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01


def test_positions_after_the_longest_row_of_fit_are_unknown():
    spec = TrainablePositions(4).prepare(TokenSequences.from_lists([["a", "b"], []]))
    assert known(spec, [list("abc"), ["z"]]) == [[True, True, False], [True]]


@pytest.mark.parametrize("encoder", ["max", "conv"])
def test_a_network_reads_positions(encoder, tmp_path):
    options = OPTIONS | {"encoder": encoder, "lr": 0.05, "head_dropout": 0.0}
    model = DynamicMetaClassifier(trainable=BOTH, **options).fit(ROWS, Y)
    assert (model.predict(ROWS) == Y).all()
    expected = model.predict_proba(ROWS)
    alone = np.concatenate([model.predict_proba(ROWS[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, expected, atol=1e-5)
    longer = model.predict_proba([[*row, "a"] for row in ROWS])
    assert np.isfinite(longer).all()
    sk.save(model, tmp_path / "net.skm")
    again = sk.load(tmp_path / "net.skm").predict_proba(ROWS)
    np.testing.assert_array_equal(again, expected)


def test_without_positions_the_maximum_does_not_tell_the_classes_apart():
    options = OPTIONS | {"encoder": "max", "train_options": {"linear_share": 0}}
    model = DynamicMetaClassifier(trainable=Tokens(4), **options).fit(ROWS, Y)
    assert (model.predict(ROWS) == Y).mean() == 0.5


def test_rows_without_tokens_have_no_position():
    with pytest.raises(ValueError, match="no tokens"):
        TrainablePositions().prepare(TokenSequences.from_lists([[], []]))


def test_sequences_of_equal_length_have_positions_by_default():
    rows = [["a", "b", "c"], ["c", "b", "a"], []] * 4
    model = DynamicMetaClassifier(**OPTIONS).fit(rows, [0, 1, 0] * 4)
    assert list(model.trained_) == ["tokens", "positions"]
    assert np.isfinite(model.predict_proba([["a"], [], ["z"] * 9])).all()
    for other in ([["a", "b"], ["c"]] * 4, [["a"], ["b"]] * 4):
        model.fit(other, [0, 1] * 4)
        assert list(model.trained_) == ["tokens"]


def test_one_row_of_another_length_does_not_take_positions_away():
    rows, y = [["a", "b", "c"], ["c", "b", "a"]] * 25, [0, 1] * 25
    for odd in (["a"], ["b"] * 9):
        model = DynamicMetaClassifier(**OPTIONS).fit([*rows, odd], [*y, 0])
        assert list(model.trained_) == ["tokens", "positions"]


@pytest.mark.parametrize("attention", ["word", "context", "task", "uniform"])
def test_repeated_combinations_of_types_are_mixed_as_tokens_are(attention, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [[str(token) for token in rng.choice(["a", "b"], 6)] for _ in range(24)]
    results = []
    for limit in (2, 10**9):
        limited = "sk_metaembed.dynamic._batches._TOKENS_PER_COMBINATION"
        monkeypatch.setattr(limited, limit)
        options = OPTIONS | {"embedding_dropout": 0.0, "encoder": "conv"}
        model = DynamicMetaClassifier(attention, **options)
        model.fit(rows, np.arange(24) % 2)
        results.append((model.predict_proba(rows), model.attention_weights(rows[:3])))
    joint, by_token = results
    np.testing.assert_allclose(joint[0], by_token[0], atol=1e-4)
    weights = [frame[["tokens", "positions"]] for frame in (joint[1], by_token[1])]
    np.testing.assert_allclose(*weights, atol=1e-4)
