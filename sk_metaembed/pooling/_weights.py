"""Weights of words that are learned from how often they occur."""

import numpy as np


def word_probabilities(tokens):
    """Return the words that occur, and the share of the tokens that each is.

    Parameters
    ----------
    tokens : TokenSequences

    Returns
    -------
    words : ndarray of object, shape (n_words,)
    probabilities : ndarray of float64, shape (n_words,)
    """
    counts = tokens.type_counts()
    used = counts > 0
    return tokens.types[used], counts[used] / max(tokens.n_tokens, 1)


def sif_weights(probabilities, a):
    """Return ``a / (a + p)``."""
    return a / (a + np.asarray(probabilities))


def usif_weights(probabilities, a):
    """Return ``a / (a / 2 + p)``, which is 2 for an infinite `a`."""
    return 1.0 / (0.5 + np.asarray(probabilities) / a)


def usif_a(probabilities, mean_length):
    """Return uSIF's `a`, computed from the data.

    Parameters
    ----------
    probabilities : ndarray of shape (n_words,)
        Of all words of the vocabulary.
    mean_length : float
        Average number of tokens of a sequence, at least 1.

    Returns
    -------
    float
        Infinite where no word is more probable than chance; all weights are 2 then.

    Notes
    -----
    With V the size of the vocabulary and n the mean length, a word drawn uniformly
    stands in a sequence with probability ``t = 1 - (1 - 1 / V)**n``. With alpha the
    share of the vocabulary that has ``p(w) > t``, ``a = (1 - alpha) / (alpha V / 2)``.
    """
    n_words = len(probabilities)
    if n_words < 2:
        return np.inf
    threshold = -np.expm1(mean_length * np.log1p(-1.0 / n_words))
    # A uniform vocabulary and n = 1 put every p on the threshold, up to rounding.
    alpha = np.mean(np.asarray(probabilities) > threshold * (1 + 1e-9))
    return (1 - alpha) / (alpha * n_words / 2) if alpha else np.inf


def inverse_document_frequencies(tokens):
    """Return the words that occur, and ``ln((1 + n) / (1 + df)) + 1`` of each.

    Parameters
    ----------
    tokens : TokenSequences
        n sequences; df of them hold the word.

    Returns
    -------
    words : ndarray of object, shape (n_words,)
    idf : ndarray of float64, shape (n_words,)
    """
    from ._kernels import count_holders

    holders = count_holders(tokens.codes, tokens.offsets, tokens.n_types)
    used = holders > 0
    idf = np.log((1 + len(tokens)) / (1 + holders[used])) + 1
    return tokens.types[used], idf


def learn_weights(kind, tokens, sif_a):
    """Return a weight for each word that occurs, and one for all others.

    Parameters
    ----------
    kind : {"idf", "sif", "usif"}
    tokens : TokenSequences
    sif_a : float

    Returns
    -------
    weights : dict of str to float
    unseen : float
        The weight of a word with p(w) = 0 or df(w) = 0.
    """
    if kind == "idf":
        words, weights = inverse_document_frequencies(tokens)
        unseen = np.log(1 + len(tokens)) + 1
    elif kind == "sif":
        words, probabilities = word_probabilities(tokens)
        weights, unseen = sif_weights(probabilities, sif_a), 1.0
    else:
        words, probabilities = word_probabilities(tokens)
        filled = max(np.count_nonzero(tokens.lengths), 1)
        a = usif_a(probabilities, tokens.n_tokens / filled)
        weights, unseen = usif_weights(probabilities, a), 2.0
    return dict(zip(words.tolist(), weights.tolist(), strict=True)), float(unseen)
