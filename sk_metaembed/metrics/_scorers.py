"""Scorers of embeddings and taggers for searches of scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._core._named_errors import names_errors
from ._analogy import analogy_score, check_questions
from ._sentence_similarity import check_sentence_pairs, sentence_similarity_score
from ._spans import span_f1_score
from ._validation import check_option
from ._word_similarity import check_word_pairs, word_similarity_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Functions that check the arguments of a score other than its estimator.
_CHECKS: dict[Any, Any] = {
    word_similarity_score: check_word_pairs,
    sentence_similarity_score: check_sentence_pairs,
    analogy_score: check_questions,
}


@dataclass(eq=False)
class UnsupervisedScorer:
    """Scorer of embeddings without labels: the mean of a score over sets of data."""

    score_func: Callable[..., float]
    sets: dict[str, tuple[Any, ...]] = field(repr=False)
    average: bool
    options: dict[str, Any] = field(repr=False)  # may contain a vocabulary

    def __call__(self, estimator, X=None, y=None):
        """Return the score of a fitted estimator; X and y are ignored."""
        scores = {
            name: self.score_func(estimator, *data, **self.options)
            for name, data in self.sets.items()
        }
        mean = float(np.mean(list(scores.values())))
        return mean if self.average else {**scores, "mean": mean}

    def _accept_sample_weight(self):  # scikit-learn asks scorers in a dict
        return False


@dataclass(eq=False)
class SpanScorer:
    """Scorer of taggers by span F1; ``options`` are of `span_f1_score`."""

    options: dict[str, Any]

    def __call__(self, estimator, X, y):
        """Return the score of a fitted tagger on sentences and their tags."""
        tokens = X if self.options["level"] == "surface" else None
        return span_f1_score(y, estimator.predict(X), tokens=tokens, **self.options)

    def _accept_sample_weight(self):
        return False


@names_errors
def make_unsupervised_scorer(
    score_func: Callable[..., float],
    data: Any,
    *,
    average: bool = True,
    **options: Any,
) -> Callable[..., float | dict[str, float]]:
    """Make a scorer of embeddings that needs no labels.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``, with words or
    texts as X and no y. The scorer evaluates the estimator on `data` and ignores the
    test fold.

    Parameters
    ----------
    score_func : callable
        `word_similarity_score`, `sentence_similarity_score`, `analogy_score`, or a
        function with the signature ``score_func(estimator, *data, **options)``.
    data : tuple, Bunch, array-like, or dict of str to any of them
        The arguments of `score_func` after the estimator: a tuple such as (pairs,
        scores), the result of a loader such as `datasets.load_word_similarity`,
        `datasets.fetch_sts_benchmark` or `datasets.load_analogies`, or an array of
        questions. A dict holds several sets by name.
    average : bool, default=True
        Whether to return the mean score of the sets. If False, return a dict of the
        scores by name, with their mean as "mean", for multimetric searches with
        ``refit="mean"``.
    **options
        Passed to `score_func`, such as ``missing="zero"``, which does not favor
        candidates that know few words. `analogy_score` needs ``vocabulary``, a list of
        words, the same for all candidates.

    Returns
    -------
    callable
        ``scorer(estimator, X=None, y=None)`` returns a float or a dict of floats. It
        can be pickled if `score_func` can.

    Raises
    ------
    TypeError
        If `data` has an unsupported type, or `score_func` lacks an option.
    ValueError
        If a set has no rows, the lengths of pairs and scores differ, or an option is
        invalid.

    See Also
    --------
    word_similarity_score : Scores word pairs, with a report.
    sentence_similarity_score : Scores pairs of sentences, with a report.
    analogy_score : Scores analogy questions, with a report.

    Notes
    -----
    All folds are scored on the same data; folds only vary the training data, which may
    contain words of the pairs. This is not leakage, because nothing is trained on the
    ratings. Evaluate the result of a search on other sets.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sk_metaembed import PretrainedEmbedding, WordVectors
    >>> from sk_metaembed.metrics import make_unsupervised_scorer, word_similarity_score
    >>> words = ["cat", "dog", "car", "bus"]
    >>> matrix = [[6, 1], [5, 1], [7, 1], [6, 2]]
    >>> source = PretrainedEmbedding(WordVectors.from_arrays(words, matrix))
    >>> pairs = [("cat", "dog"), ("car", "bus"), ("dog", "car"), ("cat", "bus")]
    >>> scorer = make_unsupervised_scorer(word_similarity_score, (pairs, [9, 8, 2, 1]))
    >>> grid = {"preprocess": [None, "center"]}
    >>> search = GridSearchCV(source, grid, scoring=scorer, cv=2).fit(words)
    >>> search.cv_results_["mean_test_score"].round(2)
    array([0.4, 1. ])
    """
    single = not isinstance(data, dict) or _is_bunch(data)
    sets = {"score": data} if single else data
    if not sets:
        raise ValueError("At least one set of data is required; got none.")
    if not average and "mean" in sets:
        raise ValueError("The name 'mean' is reserved for the mean; rename the set.")
    sets = {name: _arguments(each) for name, each in sets.items()}
    check = _CHECKS.get(score_func, lambda *_, **__: None)
    for name, each in sets.items():
        try:
            check(*each, **options)
        except (TypeError, ValueError) as error:
            if not single:
                error.add_note(f"The set is {name!r}.")
            raise
    return UnsupervisedScorer(score_func, sets, average, options)


def _is_bunch(data):
    return isinstance(data, dict) and not {"data", "questions"}.isdisjoint(data)


def _arguments(each):
    """Return the arguments of a score after its estimator, as a tuple."""
    if _is_bunch(each):
        if "questions" in each:
            return (each["questions"],)
        # The target of SICK is a label.
        return each["data"], each.get("scores", each.get("target"))
    return each if isinstance(each, tuple) else (each,)


@names_errors
def make_span_f1_scorer(
    *,
    scheme: Literal["IOB2", "IOBES", "BIOES"] = "IOB2",
    average: Literal["micro", "macro", "weighted"] = "micro",
    labels: Iterable[str] | None = None,
    level: Literal["entity", "surface"] = "entity",
    invalid: Literal["repair", "drop", "raise"] = "repair",
    zero_division: float | Literal["warn"] = 0.0,
) -> Callable[..., float]:
    """Make a scorer of taggers by span F1.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``. For
    ``level="entity"`` it equals ``make_scorer(span_f1_score)``; for "surface" it takes
    the words of each fold from X.

    Parameters
    ----------
    scheme : {"IOB2", "IOBES", "BIOES"}, default="IOB2"
        Tagging scheme.
    average : {"micro", "macro", "weighted"}, default="micro"
        As for `span_f1_score`.
    labels : list of str, default=None
        Labels to score; None means all.
    level : {"entity", "surface"}, default="entity"
        As for `span_f1_score`.
    invalid : {"repair", "drop", "raise"}, default="repair"
        As for `span_f1_score`.
    zero_division : {"warn", 0.0, 1.0}, default=0.0
        Score of a fold without true and predicted spans.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)`` returns a float. It can be pickled. The estimator is
        a fitted tagger or a Pipeline that ends in one. For ``level="surface"``, X must
        be token lists, sequences with vectors, or texts that a default `Tokenizer`
        splits correctly.

    Raises
    ------
    ValueError
        If an option is invalid.

    See Also
    --------
    span_f1_score : Computes the score.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import FunctionEmbedding, TokenClassifier
    >>> from sk_metaembed.metrics import make_span_f1_scorer
    >>> capitals = FunctionEmbedding(lambda words: [[w.istitle()] for w in words])
    >>> tagger = make_pipeline(capitals, TokenClassifier(LogisticRegression(C=100)))
    >>> X = [["in", "Rome"], ["to", "Bonn"]] * 4
    >>> y = [["O", "B-place"]] * 8
    >>> scorer = make_span_f1_scorer(level="surface")
    >>> cross_val_score(tagger, X, y, scoring=scorer, cv=2)
    array([1., 1.])
    """
    check_option(average, ("micro", "macro", "weighted"), "average")
    options: dict[str, Any] = {
        "scheme": scheme,
        "average": average,
        "labels": labels if isinstance(labels, str | None) else [*labels],
        "level": level,
        "invalid": invalid,
        "zero_division": zero_division,
    }
    with warnings.catch_warnings(action="ignore"):
        span_f1_score([["O"]], [["O"]], tokens=[["a"]], **options)  # checks them
    return SpanScorer(options)
