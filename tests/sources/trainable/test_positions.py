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
