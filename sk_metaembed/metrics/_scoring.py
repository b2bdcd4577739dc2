"""Scorers: callables that rate a fitted estimator, as scikit-learn's searches do."""

import numpy as np

from ._analogy import analogy_score
from ._reading import check_scores, check_text_pairs, check_words
from ._sentence_similarity import pairs_report, sentence_vectors
from ._spans import span_f1_score
from ._word_similarity import similarity_report, vectors_of_words


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
        whose = type(self).__name__
        values, known = vectors_of_words(
            estimator, self.words, self.case_fallback, whose
        )
        scores = {
            name: similarity_report(
                values, known, codes, self.scores[name], self.missing, whose
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
        whose = type(self).__name__
        values = sentence_vectors(estimator, self.texts, whose)
        scores, start = {}, 0
        for name, gold in self.scores.items():
            part = values[start : start + 2 * len(gold)]
            scores[name] = pairs_report(part, gold, self.correlation, whose).score
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
        whose = "the set" if single else f"set {name!r}"
        rows, gold = _pairs_and_scores(each, whose)
        pairs[name], n_pairs = read(rows, f"{whose}: pairs")
        scores[name] = check_scores(gold, n_pairs, whose)
    return pairs, scores


def _pairs_and_scores(each, whose):
    if isinstance(each, dict) and {"pairs", "scores"} <= set(each):
        return each["pairs"], each["scores"]
    is_two = isinstance(each, tuple | list) and len(each) == 2
    if is_two and not any(isinstance(part, dict | str) for part in each):
        return each
    raise TypeError(
        f"{whose} must be (pairs, scores), or what load_word_similarity or "
        f"fetch_sts_benchmark gives; got {type(each).__name__}. Several sets go in a "
        "dict by name, such as load_word_similarities gives."
    )


def _word_pairs(rows, whose):
    words, codes = check_words(rows, 2, whose)
    return [(words[i], words[j]) for i, j in codes], len(codes)


def _text_pairs(rows, whose):
    left, right = check_text_pairs(rows, whose)
    return left + right, len(left)
