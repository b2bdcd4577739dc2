"""Scorers of embeddings and taggers for searches of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ..sequences._tags import SCHEMES
from ._analogy import analogy_score, check_options
from ._sentence_similarity import KINDS, pairs_report, sentence_vectors
from ._spans import AVERAGES, check_averaging, check_count_options, span_f1_score
from ._validation import (
    check_option,
    check_scores,
    check_text_pairs,
    check_vocabulary,
    check_words,
)
from ._word_similarity import MISSING, similarity_report, vectors_of_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    from numpy.typing import ArrayLike
    from sklearn.utils import Bunch

    RatedPairs: TypeAlias = tuple[ArrayLike, ArrayLike] | Bunch


class _Scorer:
    """Base of scorers: what scikit-learn requires in addition to the call."""

    def _accept_sample_weight(self):
        return False

    def __repr__(self):
        return f"{type(self).__name__}({self._repr_params()})"


class _SetsScorer(_Scorer):
    """Base of scorers on one or several sets of rated pairs."""

    def _aggregate(self, scores):
        mean = float(np.mean(list(scores.values())))
        return mean if self.average else {**scores, "mean": mean}

    def _repr_params(self):
        sizes = {name: len(gold) for name, gold in self.scores.items()}
        return f"n_pairs={sizes}, average={self.average}"


class WordSimilarityScorer(_SetsScorer):
    """Scorer by word similarity; a call looks up the words of all sets together."""

    def __init__(self, sets, average, missing, case_fallback):
        self.average = average
        self.missing = missing
        self.case_fallback = case_fallback
        pairs, self.scores = _read_sets(sets, average, _word_pairs)
        every = [pair for each in pairs.values() for pair in each]
        self.words, codes = check_words(every, 2, type(self).__name__)
        ends = np.cumsum([len(each) for each in pairs.values()])[:-1]
        self.codes = dict(zip(pairs, np.split(codes, ends), strict=True))

    def __call__(self, estimator, X=None, y=None):
        """Return the score of a fitted estimator; X and y are ignored."""
        caller = type(self).__name__
        values, known = vectors_of_words(
            estimator, self.words, self.case_fallback, caller
        )
        scores = {
            name: similarity_report(
                values, known, codes, self.scores[name], self.missing, caller
            ).score
            for name, codes in self.codes.items()
        }
        return self._aggregate(scores)


class SentenceSimilarityScorer(_SetsScorer):
    """Scorer by sentence similarity; a call transforms all texts together."""

    def __init__(self, sets, average, correlation):
        self.average = average
        self.correlation = correlation
        pairs, self.scores = _read_sets(sets, average, _text_pairs)
        self.texts = [text for sides in pairs.values() for text in sides]

    def __call__(self, estimator, X=None, y=None):
        """Return the score of a fitted estimator; X and y are ignored."""
        caller = type(self).__name__
        values = sentence_vectors(estimator, self.texts, caller)
        scores, start = {}, 0
        for name, gold in self.scores.items():
            part = values[start : start + 2 * len(gold)]
            scores[name] = pairs_report(part, gold, self.correlation, caller).score
            start += 2 * len(gold)
        return self._aggregate(scores)


class AnalogyScorer(_Scorer):
    """Scorer by accuracy on analogy questions; ``options`` are of `analogy_score`."""

    def __init__(self, questions, vocabulary, options):
        self.questions = questions
        self.vocabulary = vocabulary
        self.options = options

    def __call__(self, estimator, X=None, y=None):
        """Return the score of a fitted estimator; X and y are ignored."""
        return analogy_score(
            estimator, self.questions, vocabulary=self.vocabulary, **self.options
        )

    def _repr_params(self):
        sizes = f"n_questions={len(self.questions)}, n_words={len(self.vocabulary)}"
        return ", ".join([sizes, *(f"{k}={v!r}" for k, v in self.options.items())])


class SpanScorer(_Scorer):
    """Scorer of taggers by span F1; ``options`` are of `span_f1_score`."""

    def __init__(self, options):
        self.options = options

    def __call__(self, estimator, X, y):
        """Return the score of a fitted tagger on sentences and their tags."""
        tokens = X if self.options["level"] == "surface" else None
        return span_f1_score(y, estimator.predict(X), tokens=tokens, **self.options)

    def _repr_params(self):
        return ", ".join(f"{k}={v!r}" for k, v in self.options.items())


def _read_sets(sets, average, read):
    """Return the pairs, as ``read`` returns them, and the scores by name of set."""
    single = not isinstance(sets, dict) or _is_bunch(sets)
    sets = {"score": sets} if single else sets
    if not sets:
        raise ValueError("A scorer requires at least one set of pairs; got none.")
    if not average and "mean" in sets:
        raise ValueError("The name 'mean' is reserved for the mean; rename the set.")
    pairs, scores = {}, {}
    for name, each in sets.items():
        caller = "the set" if single else f"set {name!r}"
        rows, gold = _pairs_and_scores(each, caller)
        pairs[name], n_pairs = read(rows, f"{caller}: pairs")
        scores[name] = check_scores(gold, n_pairs, caller)
    return pairs, scores


def _is_bunch(sets):
    return isinstance(sets, dict) and {"data", "target"} <= set(sets)


def _pairs_and_scores(each, caller):
    if _is_bunch(each):  # the target of SICK is a label
        return each["data"], each.get("scores", each["target"])
    is_two = isinstance(each, tuple | list) and len(each) == 2
    if is_two and not any(isinstance(part, dict | str) for part in each):
        return each
    raise TypeError(
        f"{caller} must be (pairs, scores), or the result of load_word_similarity or "
        f"fetch_sts_benchmark; got {type(each).__name__}. Pass several sets as a dict "
        "by name, such as the result of load_word_similarities."
    )


def _word_pairs(rows, caller):
    words, codes = check_words(rows, 2, caller)
    return [(words[i], words[j]) for i, j in codes], len(codes)


def _text_pairs(rows, caller):
    left, right = check_text_pairs(rows, caller)
    return left + right, len(left)


def make_word_similarity_scorer(
    sets: RatedPairs | Mapping[str, RatedPairs],
    *,
    average: bool = True,
    missing: Literal["omit", "zero", "mean"] = "omit",
    case_fallback: bool = True,
) -> Callable[..., float | dict[str, float]]:
    """Make a scorer of embeddings by word similarity.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``, with words as X
    and no y. The scorer evaluates the estimator on the pairs and ignores the test fold.

    Parameters
    ----------
    sets : (pairs, scores), Bunch, or dict of str to either
        One or several sets of rated pairs, for example of
        `datasets.load_word_similarity` or `datasets.load_word_similarities`.
    average : bool, default=True
        Whether to return the mean score of the sets; else a dict of the scores by name
        and their mean as "mean", for multimetric searches: ``refit="mean"``.
    missing : {"omit", "zero", "mean"}, default="omit"
        As for `word_similarity_score`. "zero" does not favor candidates that know few
        words.
    case_fallback : bool, default=True
        As for `word_similarity_score`.

    Returns
    -------
    callable
        ``scorer(estimator, X=None, y=None)`` returns a float or a dict of floats. It
        can be pickled. The fitted estimator must return one vector per word.

    Raises
    ------
    TypeError
        If `sets` has an unsupported type.
    ValueError
        If a set has no pairs, or the lengths of pairs and scores differ.

    See Also
    --------
    word_similarity_score : Scores one set, with a report.

    Notes
    -----
    All folds are scored on the same pairs; folds only vary the training data, which may
    contain words of the pairs. This is not leakage, because nothing is trained on the
    ratings. Evaluate the result of a search on other sets.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sk_metaembed import PretrainedEmbedding, WordVectors
    >>> from sk_metaembed.metrics import make_word_similarity_scorer
    >>> words = ["cat", "dog", "car", "bus"]
    >>> matrix = [[6, 1], [5, 1], [7, 1], [6, 2]]
    >>> source = PretrainedEmbedding(WordVectors.from_arrays(words, matrix))
    >>> pairs = [("cat", "dog"), ("car", "bus"), ("dog", "car"), ("cat", "bus")]
    >>> scorer = make_word_similarity_scorer((pairs, [9, 8, 2, 1]))
    >>> grid = {"preprocess": [None, "center"]}
    >>> search = GridSearchCV(source, grid, scoring=scorer, cv=2).fit(words)
    >>> search.cv_results_["mean_test_score"].round(2)
    array([0.4, 1. ])
    """
    check_option(missing, MISSING, "missing", "make_word_similarity_scorer")
    return WordSimilarityScorer(sets, average, missing, case_fallback)


def make_sentence_similarity_scorer(
    sets: RatedPairs | Mapping[str, RatedPairs],
    *,
    average: bool = True,
    correlation: Literal["pearson", "spearman"] = "pearson",
) -> Callable[..., float | dict[str, float]]:
    """Make a scorer of text embeddings by sentence similarity.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``, with texts as X
    and no y. The scorer evaluates the estimator on the pairs and ignores the test fold.

    Parameters
    ----------
    sets : (pairs, scores), Bunch, or dict of str to either
        One or several sets of rated pairs, for example of
        `datasets.fetch_sts_benchmark`.
    average : bool, default=True
        Whether to return the mean score of the sets; else a dict of the scores by name
        and their mean as "mean".
    correlation : {"pearson", "spearman"}, default="pearson"
        As for `sentence_similarity_score`.

    Returns
    -------
    callable
        ``scorer(estimator, X=None, y=None)`` returns a float or a dict of floats. It
        can be pickled. The fitted estimator must return one vector per text.

    Raises
    ------
    TypeError
        If `sets` has an unsupported type.
    ValueError
        If a set has no pairs, or the lengths of pairs and scores differ.

    See Also
    --------
    sentence_similarity_score : Scores one set, with a report.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sk_metaembed.metrics import make_sentence_similarity_scorer
    >>> pairs = [("a red car", "the red car"), ("one tea", "one cup"), ("yes", "no")]
    >>> scorer = make_sentence_similarity_scorer((pairs, [5, 3, 0]))
    >>> texts = ["a red car", "the red car", "one tea", "one cup", "yes", "no"]
    >>> grid = {"use_idf": [False, True]}
    >>> search = GridSearchCV(TfidfVectorizer(), grid, scoring=scorer, cv=2)
    >>> print(search.fit(texts).best_score_ > 0)
    True
    """
    check_option(correlation, KINDS, "correlation", "make_sentence_similarity_scorer")
    return SentenceSimilarityScorer(sets, average, correlation)


def make_analogy_scorer(
    questions: ArrayLike,
    *,
    vocabulary: Iterable[str],
    method: Literal["3cosadd", "3cosmul"] = "3cosadd",
    epsilon: float = 1e-3,
    ignore_case: bool = True,
    missing: Literal["omit", "wrong"] = "omit",
) -> Callable[..., float]:
    """Make a scorer of embeddings by accuracy on analogy questions.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``, with words as X
    and no y. The scorer evaluates the estimator on the questions and ignores the test
    fold.

    Parameters
    ----------
    questions : array-like of str, shape (n_questions, 4)
        Questions, for example of `datasets.load_analogies`.
    vocabulary : sequence of str
        Candidate answers, the same for all candidates of a search.
    method : {"3cosadd", "3cosmul"}, default="3cosadd"
        As for `analogy_score`, like the following parameters.
    epsilon : float, default=1e-3
        Positive constant of 3CosMul.
    ignore_case : bool, default=True
        Whether words that differ only in case are equal.
    missing : {"omit", "wrong"}, default="omit"
        How to treat questions with an unknown word. "wrong" does not favor candidates
        that know few words.

    Returns
    -------
    callable
        ``scorer(estimator, X=None, y=None)`` returns a float. It can be pickled. The
        fitted estimator must return one vector per word.

    Raises
    ------
    TypeError
        If the vocabulary is not a list of words.
    ValueError
        If a question does not have four words, or an option is invalid.

    See Also
    --------
    analogy_score : Scores once, with a report.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_metaembed import PretrainedEmbedding, WordVectors
    >>> from sk_metaembed.metrics import make_analogy_scorer
    >>> words = ["man", "woman", "king", "queen", "band"]
    >>> matrix = [[1, 0, 0.2], [0, 1, 0.2], [1, 0, 1], [0, 1, 1], [0.4, 0.4, 0.1]]
    >>> source = PretrainedEmbedding(WordVectors.from_arrays(words, matrix))
    >>> questions = [("man", "king", "woman", "queen")]
    >>> scorer = make_analogy_scorer(questions, vocabulary=words)
    >>> cross_val_score(source, words, scoring=scorer, cv=2)
    array([1., 1.])
    """
    caller = "make_analogy_scorer"
    check_options(method, epsilon, missing, caller)
    check_words(questions, 4, f"{caller}: questions")
    options = {
        "method": method,
        "epsilon": epsilon,
        "ignore_case": ignore_case,
        "missing": missing,
    }
    words = check_vocabulary(vocabulary, caller)
    return AnalogyScorer(np.asarray(questions), words, options)


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
    caller = "make_span_f1_scorer"
    check_option(scheme, SCHEMES, "scheme", caller)
    check_option(average, AVERAGES[:3], "average", caller)
    check_averaging(average, zero_division, caller)
    check_count_options(invalid, level, labels, "strict", caller)
    options = {
        "scheme": scheme,
        "average": average,
        "labels": labels,
        "level": level,
        "invalid": invalid,
        "zero_division": zero_division,
    }
    return SpanScorer(options)
