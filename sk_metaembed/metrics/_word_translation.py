"""Accuracy of translations of words by nearest neighbors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Bunch

from .._core._checked_parameters import is_integer
from .._core._named_errors import names_errors
from ..vectors._api import mean_cosines, nearest
from ._analogy import vocabulary_vectors
from ._validation import check_option, check_words

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict, Unpack

    from numpy.typing import ArrayLike

    from .._core._typing import WordEmbedding

    class TranslationOptions(TypedDict, total=False):
        """Options of `word_translation_score`, except `return_report`."""

        vocabulary: Iterable[str] | int | None
        method: Literal["csls", "cosine"]
        missing: Literal["omit", "wrong"]


_N_NEIGHBORS = 10  # in CSLS, as in the paper


@overload
def word_translation_score(
    source: WordEmbedding,
    target: WordEmbedding,
    pairs: ArrayLike,
    *,
    return_report: Literal[False] = ...,
    **options: Unpack[TranslationOptions],
) -> float: ...


@overload
def word_translation_score(
    source: WordEmbedding,
    target: WordEmbedding,
    pairs: ArrayLike,
    *,
    return_report: Literal[True],
    **options: Unpack[TranslationOptions],
) -> Bunch: ...


@names_errors
def word_translation_score(
    source: WordEmbedding,
    target: WordEmbedding,
    pairs: ArrayLike,
    *,
    vocabulary: Iterable[str] | int | None = 50_000,
    method: Literal["csls", "cosine"] = "csls",
    missing: Literal["omit", "wrong"] = "omit",
    return_report: bool = False,
) -> float | Bunch:
    """Compute the share of words whose nearest neighbor is a translation.

    Known as precision at 1 of bilingual lexicon induction. It evaluates the alignment
    of two languages, for example by `align_vectors`: use pairs that were not used to
    learn the alignment.

    Parameters
    ----------
    source, target : WordVectors, KeyedVectors, dict or fitted estimator
        Vectors of the words to translate and of their translations, in one space.
    pairs : array-like of str, shape (n_pairs, 2)
        Words and their translations. A word with several translations has a row for
        each, and any of them is correct.
    vocabulary : int, sequence of str or None, default=50_000
        Candidate translations: words of the target, or the number of its first words to
        use; None means all. CSLS searches neighbors in the same number of words of the
        source. A larger vocabulary is harder: compare only scores with the same one.
        Estimators have no vocabulary and require a list.
    method : {"csls", "cosine"}, default="csls"
        How the nearest candidate is found; see Notes.
    missing : {"omit", "wrong"}, default="omit"
        How to treat words that are not in the source or without a translation in the
        vocabulary: drop them or count them as wrong.
    return_report : bool, default=False
        Whether to return a report instead of the score.

    Returns
    -------
    score : float
        Between 0 and 1; 0 if all words are missing, with an ``UndefinedMetricWarning``
        if ``missing="omit"``.
    report : sklearn.utils.Bunch
        Returned instead of the score if `return_report`, with the attributes

        score : float
            The score.
        n_words, n_missing, n_correct : int
            Number of distinct words to translate, of missing ones and of correct ones.
        words, answers : ndarray of object, shape (n_words,)
            The words, and the nearest candidate of each; None for missing words.
        correct : ndarray of bool, shape (n_words,)
            Whether the answer is a translation.

    Raises
    ------
    TypeError
        If an embedding has an unsupported type, or a word is not a str.
    ValueError
        If there are no pairs, the dimensions differ, or an option is invalid.

    See Also
    --------
    sk_metaembed.align_vectors : Aligns the vectors of two languages.
    analogy_score : Evaluates one language by analogies.

    Notes
    -----
    "csls" is the cross-domain similarity local scaling of Conneau et al.::

        CSLS(x, y) = 2 cos(x, y) - r(x) - r(y)

    where r(y) is the mean cosine of the candidate y with its 10 nearest words of the
    source, and r(x) that of x with the target. It penalizes hubs, which are words near
    to many others, and is usually a few points better than "cosine".

    References
    ----------
    Conneau, Lample, Ranzato, Denoyer and Jegou (2018). Word translation without
    parallel data. ICLR.

    Examples
    --------
    >>> from sk_metaembed.metrics import word_translation_score
    >>> german = {"Hund": [1.0, 0.1], "Haus": [0.0, 1.0], "gehen": [-1.0, 0.2]}
    >>> english = {"dog": [1.0, 0.0], "house": [0.1, 1.0], "go": [0.9, 0.2]}
    >>> pairs = [("Hund", "dog"), ("Haus", "house"), ("gehen", "go"), ("Baum", "tree")]
    >>> report = word_translation_score(german, english, pairs, return_report=True)
    >>> report.score, report.n_missing
    (0.666..., 1)
    """
    check_option(method, ("csls", "cosine"), "method")
    check_option(missing, ("omit", "wrong"), "missing")
    table, codes = check_words(pairs, 2, "pairs")
    translations = _translations(table, codes)
    candidates, unit = vocabulary_vectors(target, vocabulary)
    usable = _with_candidate(translations, candidates)
    known, queries = vocabulary_vectors(source, usable) if usable else ([], [])
    answers = dict.fromkeys(translations)
    if known:
        _check_dims(queries, unit)
        penalties = np.zeros(len(candidates), dtype=np.float32)
        if method == "csls":
            own = vocabulary if vocabulary is None or is_integer(vocabulary) else usable
            words = vocabulary_vectors(source, own)[1]
            penalties = mean_cosines(unit, words, _N_NEIGHBORS)
        best = nearest(queries, unit, penalties)
        answers.update(zip(known, [candidates[i] for i in best], strict=True))
    report = _report(translations, answers, missing)
    if missing == "omit" and not known:
        warnings.warn(
            f"The score is undefined and set to 0: none of the {len(translations)} "
            "words is in the source and has a translation among the "
            f"{len(candidates)} candidates.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    return report if return_report else report.score


def _translations(table, codes):
    """Return the set of translations of each distinct word, in order."""
    translations = {}
    for word, translation in codes:
        translations.setdefault(table[word], set()).add(table[translation])
    return translations


def _with_candidate(translations, candidates):
    """Return the words with a translation among the candidates."""
    candidates = set(candidates)
    return [word for word, those in translations.items() if those & candidates]


def _check_dims(queries, unit):
    if queries.shape[1] != unit.shape[1]:
        raise ValueError(
            f"the source has {queries.shape[1]} dimensions and the target "
            f"{unit.shape[1]}. Map the source into the space of the target with "
            "align_vectors first."
        )


def _report(translations, answers, missing):
    correct = [answers[word] in those for word, those in translations.items()]
    n_missing = sum(answer is None for answer in answers.values())
    n_scored = len(answers) - (n_missing if missing == "omit" else 0)
    return Bunch(
        score=sum(correct) / n_scored if n_scored else 0.0,
        n_words=len(answers),
        n_missing=n_missing,
        n_correct=sum(correct),
        words=np.array(list(answers), dtype=object),
        answers=np.array(list(answers.values()), dtype=object),
        correct=np.array(correct, dtype=bool),
    )
