"""What sources with one vector a word share: look-up, unknown words, statistics."""

from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ..sequences import Block, EmbeddedSequences
from ._base import BaseEmbedding, word_coverage
from ._oov import Filler, check_all_known
from ._preprocess import FREQUENT, fit_preprocessing

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


def _checked_rows(rows, tokens, whose):
    rows = np.asarray(rows)
    if not rows.size:  # an empty list is an array of floats
        rows = rows.astype(np.int64)
    if rows.shape != tokens.types.shape or rows.dtype.kind not in "iu":
        raise TypeError(
            f"{whose}._find must return a row of the table for each of "
            f"{tokens.n_types} words, -1 where absent; got an array of shape "
            f"{rows.shape} and dtype {rows.dtype}."
        )
    return rows
