"""What sources with one vector a word share: look-up, unknown words, statistics.

Vectors for words that a source does not know.
"""

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ..sequences import Block, EmbeddedSequences
from ._base import FREQUENT, BaseEmbedding, fit_preprocessing, row_mean, word_coverage

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


def check_all_known(tokens, known, caller):
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
        f"{caller} has no vector for {len(unknown_types)} of {len(known)} distinct "
        f'tokens: {shown}{more}. With oov="error" every token must be known; remove '
        'them, or choose another policy, for example oov="zero".'
    )


OOV_CONSTRAINT = [StrOptions({"zero", "mean", "random", "subword", "error"})]


class Found(NamedTuple):
    """Where each type's vector comes from."""

    rows: np.ndarray  # in the table, -1 where absent
    known: np.ndarray
    composed: np.ndarray | None  # vectors of the absent, under oov="subword"


class BaseWordEmbedding(BaseEmbedding, auto_wrap_output_keys=None):
    """Base class of sources that have a table with one vector a word.

    A leaf writes:

    ``_table()``
        Returns the vectors, of shape (n_words, dim), the most frequent first.
    ``_find(words)``
        Returns the table's row of each word, int of shape (n,), -1 where absent.
    ``_fit_vectors(tokens, y)``
        Learns or opens the table.
    ``_compose(words)``
        Returns vectors made of the words' parts and a bool array that says which
        are known, for ``oov="subword"``. Leave it out where there is no such thing.

    The template looks up each distinct word once, applies the parameters `oov` and
    `preprocess` if the leaf has them, and gathers vectors only where they are asked
    for: `fit` reads at most the first 100,000 rows. What comes out is one block at
    level "type"; a word is known if it stands in the table, or is composed of known
    parts.

    Attributes
    ----------
    coverage_ : dict
        Share of the training data that is known: ``"types"`` of its distinct tokens,
        ``"tokens"`` of its tokens.
    dims_ : dict of str to int
        Dimension of the block, by its name.

    See Also
    --------
    BaseEmbedding : The base of all sources.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.sources import BaseWordEmbedding
    >>> class LetterEmbedding(BaseWordEmbedding):
    ...     '''Lower-case letters as one-hot vectors.'''
    ...
    ...     def _table(self):
    ...         return np.eye(26, dtype=np.float32)
    ...
    ...     def _find(self, words):
    ...         rows = [ord(w) - 97 if len(w) == 1 else -1 for w in words]
    ...         return np.array([row if 0 <= row < 26 else -1 for row in rows])
    >>> source = LetterEmbedding().fit([["a", "b", "no"], ["b"]])
    >>> source.transform([["c"]])[0].argmax()
    np.int64(2)
    >>> source.coverage_["tokens"]
    0.75
    """

    _parameter_constraints: dict = {
        **BaseEmbedding._parameter_constraints,
        "oov": OOV_CONSTRAINT,
    }

    def _table(self):
        """Return the vectors of all words."""
        raise NotImplementedError(f"{type(self).__name__} must define _table().")

    def _find(self, words):
        """Return the table's row of each word."""
        raise NotImplementedError(f"{type(self).__name__} must define _find(words).")

    def _compose(self, words):
        """Return vectors made of the words' parts, and which are known."""
        raise ValueError(
            f'{type(self).__name__}: oov="subword" needs vectors of parts of words, '
            "which this source does not have. Use vectors in fastText's .bin format, "
            'FastTextEmbedding, or another policy, for example oov="zero".'
        )

    def _learn(self, tokens, y):
        self._fit_vectors(tokens, y)
        return self._settle(tokens)

    def _settle(self, tokens):
        """Learn what follows from the table, and return what `_compute` gives."""
        policy = getattr(self, "oov", "zero")
        if policy == "subword":
            self._compose(tokens.types[:0])  # refuses where there are no parts
        found = self._compute(tokens)
        frequent = self._table()[:FREQUENT]
        self._preprocessing = self._learn_preprocessing(frequent)
        if policy in ("mean", "random"):
            frequent = self._preprocessing.apply(frequent)
        self._filler = Filler(policy, frequent)
        self.coverage_ = word_coverage(tokens, found.known)
        self.dims_ = {self.block_name: self._table().shape[1]}
        return found

    def _learn_preprocessing(self, frequent):
        return fit_preprocessing(getattr(self, "preprocess", None), frequent)

    def _compute(self, tokens):
        rows = _checked_rows(self._find(tokens.types), tokens, type(self).__name__)
        known, composed = rows >= 0, None
        policy = getattr(self, "oov", "zero")
        if policy == "error":
            check_all_known(tokens, known, type(self).__name__)
        if policy == "subword" and not known.all():
            composed, known[rows < 0] = self._compose(tokens.types[rows < 0])
        return Found(rows, known, composed)

    def _finish(self, tokens, found):
        table = self._table()
        if self._as_they_are(table, found):
            block = Block._of_table(self.block_name, table, found.rows, "type")
            return EmbeddedSequences(tokens, [block])
        # "clip" reads row 0 for the absent ones and is several times faster
        # than the default mode on a mapped table.
        values = np.take(table, found.rows, axis=0, mode="clip")
        if found.composed is not None:
            values[found.rows < 0] = found.composed
        if self._preprocessing.kind is not None:
            values = self._preprocessing.apply(values, out=values)
        known = found.known
        if not known.all():
            values[~known] = 0
            known = self._filler.fill(tokens.types, values, known)
        block = Block(self.block_name, values, "type", known)
        return EmbeddedSequences(tokens, [block])

    def _as_they_are(self, table, found):
        """Return whether the vectors are rows of a table that stays as it is."""
        return (
            not table.flags.writeable
            and table.dtype in (np.float32, np.float16)
            and found.composed is None
            and self._preprocessing.kind is None
            and (found.known.all() or not self._filler.writes)
        )


def _checked_rows(rows, tokens, caller):
    rows = np.asarray(rows)
    if not rows.size:  # an empty list is an array of floats
        rows = rows.astype(np.int64)
    if rows.shape != tokens.types.shape or rows.dtype.kind not in "iu":
        raise TypeError(
            f"{caller}._find must return a row of the table for each of "
            f"{tokens.n_types} words, -1 where absent; got an array of shape "
            f"{rows.shape} and dtype {rows.dtype}."
        )
    return rows
