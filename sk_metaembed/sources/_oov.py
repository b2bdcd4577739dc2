"""Vectors for words that a source does not know."""

from hashlib import blake2b

import numpy as np

from ._preprocess import FREQUENT, row_mean

_SHOWN = 5


def random_vectors(words, dim, scale):
    """Return vectors drawn by the words' own hashes, the same in every process.

    Parameters
    ----------
    words : sequence of str
    dim : int
    scale : float
        Root mean square of the entries.

    Returns
    -------
    ndarray of float32, shape (n_words, dim)

    Notes
    -----
    Entry j of a word is uniform in +-scale * sqrt(3), read off the j-th state of a
    SplitMix64 generator seeded by the word's 64-bit BLAKE2b digest.
    """
    digests = b"".join(
        blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for word in words
    )
    seeds = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    steps = np.arange(1, dim + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = seeds[:, None] + steps
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = ((state ^ (state >> np.uint64(31))) >> np.uint64(40)) / float(1 << 24)
    return ((2.0 * uniform - 1.0) * (scale * np.sqrt(3.0))).astype(np.float32)


class Filler:
    """Write an ``oov`` policy's vectors into the rows that are not known.

    Parameters
    ----------
    policy : {"zero", "mean", "random", "subword", "error"}
    vocabulary : ndarray of shape (n_words, dim), default=None
        What the source's mean and scale are learned from, after its preprocessing;
        read only where the policy needs it.
    """

    def __init__(self, policy, vocabulary=None):
        self.policy = policy
        self.mean = self.scale = None
        if policy == "mean":
            self.mean = row_mean(vocabulary[:FREQUENT])
        if policy == "random":
            squares = row_mean(vocabulary[:FREQUENT], lambda v: v.astype("f8") ** 2)
            self.scale = float(np.sqrt(squares.mean())) if len(squares) else 0.0

    @property
    def writes(self):
        """Whether unknown rows get anything else than zeros."""
        return self.policy in ("mean", "random")

    def fill(self, words, values, known):
        """Write into the rows of `values` that are not known, in place.

        Returns
        -------
        ndarray of bool, shape (n_words,)
            Which rows have a vector now.
        """
        missing = ~known
        if self.policy == "mean":
            values[missing] = self.mean
        elif self.policy == "random":
            values[missing] = random_vectors(
                words[missing], values.shape[1], self.scale
            )
        return known | self.writes


def check_all_known(tokens, known, whose):
    """Raise a ValueError that names the first unknown tokens and their places."""
    unknown_types = np.flatnonzero(~known)
    if not len(unknown_types):
        return
    places = np.flatnonzero(~known[tokens.codes])
    _, first = np.unique(tokens.codes[places], return_index=True)
    places = places[np.sort(first)][:_SHOWN]
    rows = np.searchsorted(tokens.offsets, places, side="right") - 1
    shown = ", ".join(
        f"{tokens.types[tokens.codes[place]]!r} (row {row}, token "
        f"{place - tokens.offsets[row]})"
        for place, row in zip(places, rows, strict=True)
    )
    more = ", ..." if len(unknown_types) > len(places) else ""
    raise ValueError(
        f"{whose} has no vector for {len(unknown_types)} of {len(known)} distinct "
        f'tokens: {shown}{more}. With oov="error" every token must be known; remove '
        'them, or choose another policy, for example oov="zero".'
    )
