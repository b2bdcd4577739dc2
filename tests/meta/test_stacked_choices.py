"""The margins by which a stack chooses between values and between forms of vectors."""

import numpy as np
import pytest

from sk_metaembed import StackedMetaClassifier, TokenSequences
from sk_metaembed._stacking import _linear
from sk_metaembed._stacking._linear import _nearest_to_default, is_clearly_less

NOISE = np.tile([-1.0, 1.0], 50)
ERROR = NOISE.std(ddof=1) / np.sqrt(len(NOISE))  # the standard error of a mean of NOISE


@pytest.mark.parametrize(
    ("n_errors", "expected"), [(-3, False), (0.5, False), (1.9, False), (2.1, True)]
)
def test_clearly_less_is_two_standard_errors(n_errors, expected):
    old = np.random.default_rng(0).random(len(NOISE))
    assert is_clearly_less(old - n_errors * ERROR - NOISE, old) == expected


@pytest.mark.parametrize("few", [None, np.zeros(1), np.zeros(0)])
def test_too_few_rows_show_nothing(few):
    assert not is_clearly_less(few, None if few is None else few + 1)


@pytest.mark.parametrize(("n_errors", "expected"), [(0.9, 1), (1.1, 0)])
def test_the_default_is_kept_within_one_standard_error(n_errors, expected):
    error = NOISE.std() / np.sqrt(len(NOISE))
    best, usual, worst = np.zeros(100), NOISE + n_errors * error, np.ones(100)
    assert _nearest_to_default(np.stack([best, usual, worst])) == expected


def test_a_penalty_that_is_clearly_worse_is_not_solved_to_the_end(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1800)
    words = rng.integers(30, size=(len(y), 3)) + 5 * y[:, None]
    X = TokenSequences.from_lists([[f"word{i}" for i in row] for row in words])
    answers = []

    def answer(new, old):
        answers.append(is_clearly_less(new, old))
        return answers[-1]

    def decisions():
        return StackedMetaClassifier(random_state=0).fit(X, y).decision_function(X)

    monkeypatch.setattr(_linear, "is_clearly_less", lambda new, old: False)
    expected = decisions()
    monkeypatch.setattr(_linear, "is_clearly_less", answer)
    np.testing.assert_array_equal(decisions(), expected)
    assert any(answers)
