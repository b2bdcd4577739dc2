"""Factories of scorers in scikit-learn's form, to search for the best embedding."""

import numpy as np

from ..sequences._spans import SCHEMES
from ._analogy import check_options
from ._reading import check_option, check_vocabulary, check_words
from ._scoring import (
    AnalogyScorer,
    SentenceSimilarityScorer,
    SpanScorer,
    WordSimilarityScorer,
)
from ._sentence_similarity import KINDS
from ._spans import AVERAGES, check_averaging
from ._spans_counts import check_count_options
from ._word_similarity import MISSING


def make_word_similarity_scorer(
    sets, *, average=True, missing="omit", case_fallback=True
):
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


def make_sentence_similarity_scorer(sets, *, average=True, correlation="pearson"):
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
    questions,
    *,
    vocabulary,
    method="3cosadd",
    epsilon=1e-3,
    ignore_case=True,
    missing="omit",
):
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
    whose = "make_analogy_scorer"
    check_options(method, epsilon, missing, whose)
    check_words(questions, 4, f"{whose}: questions")
    options = {
        "method": method,
        "epsilon": epsilon,
        "ignore_case": ignore_case,
        "missing": missing,
    }
    words = check_vocabulary(vocabulary, whose)
    return AnalogyScorer(np.asarray(questions), words, options)


def make_span_f1_scorer(
    *,
    scheme="IOB2",
    average="micro",
    labels=None,
    level="entity",
    invalid="repair",
    zero_division=0.0,
):
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
    whose = "make_span_f1_scorer"
    check_option(scheme, SCHEMES, "scheme", whose)
    check_option(average, AVERAGES[:3], "average", whose)
    check_averaging(average, zero_division, whose)
    check_count_options(invalid, level, labels, "strict", whose)
    options = {
        "scheme": scheme,
        "average": average,
        "labels": labels,
        "level": level,
        "invalid": invalid,
        "zero_division": zero_division,
    }
    return SpanScorer(options)
