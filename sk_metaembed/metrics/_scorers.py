"""Factories of scorers in scikit-learn's form, to search for the best embedding.

Scorers: callables that rate a fitted estimator, as scikit-learn's searches do.
"""

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


class _Scorer:
    """What scikit-learn asks of a scorer, beside calling it."""

    def _accept_sample_weight(self):
        return False

    def __repr__(self):
        return f"{type(self).__name__}({self._shown()})"


class _SetsScorer(_Scorer):
    """A scorer on one or several sets of rated pairs."""

    def _mean_or_each(self, scores):
        mean = float(np.mean(list(scores.values())))
        return mean if self.average else {**scores, "mean": mean}

    def _shown(self):
        sizes = {name: len(gold) for name, gold in self.scores.items()}
        return f"n_pairs={sizes}, average={self.average}"


class WordSimilarityScorer(_SetsScorer):
    """Rates by word similarity; looks the words of all sets up once a call.

    Parameters
    ----------
    sets : (pairs, scores), Bunch, or dict of str to either
    average : bool
    missing : {"omit", "zero", "mean"}
    case_fallback : bool
    """

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
        """Return the score of a fitted estimator; X and y are not used."""
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
        return self._mean_or_each(scores)


class SentenceSimilarityScorer(_SetsScorer):
    """Rates by sentence similarity; transforms the texts of all sets at once.

    Parameters
    ----------
    sets : (pairs, scores), Bunch, or dict of str to either
    average : bool
    correlation : {"pearson", "spearman"}
    """

    def __init__(self, sets, average, correlation):
        self.average = average
        self.correlation = correlation
        pairs, self.scores = _read_sets(sets, average, _text_pairs)
        self.texts = [text for sides in pairs.values() for text in sides]

    def __call__(self, estimator, X=None, y=None):
        """Return the score of a fitted estimator; X and y are not used."""
        caller = type(self).__name__
        values = sentence_vectors(estimator, self.texts, caller)
        scores, start = {}, 0
        for name, gold in self.scores.items():
            part = values[start : start + 2 * len(gold)]
            scores[name] = pairs_report(part, gold, self.correlation, caller).score
            start += 2 * len(gold)
        return self._mean_or_each(scores)


class AnalogyScorer(_Scorer):
    """Rates by the share of analogy questions that are answered.

    Parameters
    ----------
    questions : ndarray of str, shape (n_questions, 4)
    vocabulary : list of str
    options : dict
        Of `analogy_score`.
    """

    def __init__(self, questions, vocabulary, options):
        self.questions = questions
        self.vocabulary = vocabulary
        self.options = options

    def __call__(self, estimator, X=None, y=None):
        """Return the score of a fitted estimator; X and y are not used."""
        return analogy_score(
            estimator, self.questions, vocabulary=self.vocabulary, **self.options
        )

    def _shown(self):
        sizes = f"n_questions={len(self.questions)}, n_words={len(self.vocabulary)}"
        return ", ".join([sizes, *(f"{k}={v!r}" for k, v in self.options.items())])


class SpanScorer(_Scorer):
    """Rates a tagger by the spans that it finds.

    Parameters
    ----------
    options : dict
        Of `span_f1_score`, without `tokens`.
    """

    def __init__(self, options):
        self.options = options

    def __call__(self, estimator, X, y):
        """Return the score of a fitted tagger on sentences and their tags."""
        tokens = X if self.options["level"] == "surface" else None
        return span_f1_score(y, estimator.predict(X), tokens=tokens, **self.options)

    def _shown(self):
        return ", ".join(f"{k}={v!r}" for k, v in self.options.items())


def _read_sets(sets, average, read):
    """Return pairs and scores of each set, by name."""
    single = not isinstance(sets, dict) or "pairs" in sets
    sets = {"score": sets} if single else sets
    if not sets:
        raise ValueError("A scorer needs at least one set of pairs, got none.")
    if not average and "mean" in sets:
        raise ValueError("A set is named 'mean', as is the mean of all; rename it.")
    pairs, scores = {}, {}
    for name, each in sets.items():
        caller = "the set" if single else f"set {name!r}"
        rows, gold = _pairs_and_scores(each, caller)
        pairs[name], n_pairs = read(rows, f"{caller}: pairs")
        scores[name] = check_scores(gold, n_pairs, caller)
    return pairs, scores


def _pairs_and_scores(each, caller):
    if isinstance(each, dict) and {"pairs", "scores"} <= set(each):
        return each["pairs"], each["scores"]
    is_two = isinstance(each, tuple | list) and len(each) == 2
    if is_two and not any(isinstance(part, dict | str) for part in each):
        return each
    raise TypeError(
        f"{caller} must be (pairs, scores), or what load_word_similarity or "
        f"fetch_sts_benchmark gives; got {type(each).__name__}. Several sets go in a "
        "dict by name, such as load_word_similarities gives."
    )


def _word_pairs(rows, caller):
    words, codes = check_words(rows, 2, caller)
    return [(words[i], words[j]) for i, j in codes], len(codes)


def _text_pairs(rows, caller):
    left, right = check_text_pairs(rows, caller)
    return left + right, len(left)


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    from numpy.typing import ArrayLike
    from sklearn.utils import Bunch

    RatedPairs: TypeAlias = tuple[ArrayLike, ArrayLike] | Bunch


def make_word_similarity_scorer(
    sets: RatedPairs | Mapping[str, RatedPairs],
    *,
    average: bool = True,
    missing: Literal["omit", "zero", "mean"] = "omit",
    case_fallback: bool = True,
) -> Callable[..., float | dict[str, float]]:
    """Make a scorer that rates an embedding by word similarity.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``, with words as X
    and no y: the search then maximises word similarity. The pairs are what is
    scored; X, of the test fold, is not.

    Parameters
    ----------
    sets : (pairs, scores), Bunch, or dict of str to either
        One or several sets of rated pairs, as of `datasets.load_word_similarity` or
        `datasets.load_word_similarities`.
    average : bool, default=True
        The mean of several sets' scores; else a dict of them by name, and their mean
        as "mean", for searches over several metrics: ``refit="mean"``.
    missing : {"omit", "zero", "mean"}, default="omit"
        As for `word_similarity_score`. "zero" does not favour candidates that know few
        words.
    case_fallback : bool, default=True
        As for `word_similarity_score`.

    Returns
    -------
    callable
        ``scorer(estimator, X=None, y=None)`` returns a float, or a dict of them. It can
        be pickled. The estimator, fitted, gives one vector a word.

    Raises
    ------
    TypeError
        If the sets are none of these.
    ValueError
        If a set has no pairs, or pairs and scores do not fit together.

    See Also
    --------
    word_similarity_score : The same for one set, with a report.

    Notes
    -----
    Every fold is scored on the same pairs: folds vary what is learned from, and words
    of the pairs may be among it. That is not a leak, the ratings are never learned
    from; but report a final figure on sets that took no part in the search.

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
    >>> grid = {"preprocess": [None, "centre"]}
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
    """Make a scorer that rates an embedding of texts by sentence similarity.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``, with texts as X
    and no y. The pairs are what is scored; X, of the test fold, and y are not.

    Parameters
    ----------
    sets : (pairs, scores), Bunch, or dict of str to either
        One or several sets of rated pairs, as of `datasets.fetch_sts_benchmark`.
    average : bool, default=True
        The mean of several sets' scores; else a dict of them by name, and their mean
        as "mean".
    correlation : {"pearson", "spearman"}, default="pearson"
        As for `sentence_similarity_score`.

    Returns
    -------
    callable
        ``scorer(estimator, X=None, y=None)`` returns a float, or a dict of them. It can
        be pickled. The estimator, fitted, gives one vector a text.

    Raises
    ------
    TypeError
        If the sets are none of these.
    ValueError
        If a set has no pairs, or pairs and scores do not fit together.

    See Also
    --------
    sentence_similarity_score : The same for one set, with a report.

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
    """Make a scorer that rates an embedding by the analogies it answers.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``, with words as X
    and no y. The questions are what is scored, in every fold the same.

    Parameters
    ----------
    questions : array-like of str, shape (n_questions, 4)
        As of `datasets.load_analogies`.
    vocabulary : sequence of str
        The words that can be answers, for every candidate of a search the same.
    method : {"3cosadd", "3cosmul"}, default="3cosadd"
        As for `analogy_score`, like what follows.
    epsilon : float, default=1e-3
        Of 3CosMul.
    ignore_case : bool, default=True
        Whether words that differ in case alone are one.
    missing : {"omit", "wrong"}, default="omit"
        What becomes of a question with a word that has no vector. "wrong" does not
        favour candidates that know few words.

    Returns
    -------
    callable
        ``scorer(estimator, X=None, y=None)`` returns a float. It can be pickled. The
        estimator, fitted, gives one vector a word.

    Raises
    ------
    TypeError
        If the vocabulary is no words.
    ValueError
        If a row of the questions has not four words, or an option is not allowed.

    See Also
    --------
    analogy_score : The same, with a report.

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
    """Make a scorer that rates a tagger by the spans that it finds.

    Pass it as ``scoring`` to ``GridSearchCV`` or ``cross_val_score``. For entities it
    is ``make_scorer(span_f1_score)``; for surface forms it takes the words of each fold
    from X.

    Parameters
    ----------
    scheme : {"IOB2", "IOBES", "BIOES"}, default="IOB2"
        What the tags are written in.
    average : {"micro", "macro", "weighted"}, default="micro"
        As for `span_f1_score`.
    labels : list of str, default=None
        The labels that count; None means all.
    level : {"entity", "surface"}, default="entity"
        As for `span_f1_score`.
    invalid : {"repair", "drop", "raise"}, default="repair"
        As for `span_f1_score`.
    zero_division : {"warn", 0.0, 1.0}, default=0.0
        The score of a fold where no span is true and none predicted.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)`` returns a float. It can be pickled. The estimator, a
        fitted tagger or a Pipeline that ends in one, predicts tags for X: for surface
        forms X must be sentences as tokens or with vectors, or texts that the Tokenizer
        splits as it does by default.

    Raises
    ------
    ValueError
        If an option is not allowed.

    See Also
    --------
    span_f1_score : The score itself.

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
