"""FunctionEmbedding: any callable as a source."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..sequences import Block
from ._base import PREPROCESS_CONSTRAINT, BaseEmbedding


class FunctionEmbedding(BaseEmbedding):
    """Make a source of any callable: a sentence encoder, a lexicon, hand-made features.

    Parameters
    ----------
    func : callable
        Gets a list and returns one result an entry, in order:

        - ``level="type"``: distinct tokens (str); an array of shape (n, dim);
        - ``level="sequence"``: sequences, as lists of tokens or as strings (see
          `joined`); an array of shape (n, dim);
        - ``level="token"``: sequences likewise; one array of shape
          (n_tokens of the sequence, dim) each.

        An entry of the result that is None means that there is no vector: its rows
        are zero and not known. To pickle the source, give a function of a module.
    level : {"type", "token", "sequence"}, default="type"
        What one row of vectors stands for. At "type" each distinct token is embedded
        once, whatever its context.
    joined : bool, default=False
        Give `func` sequences as strings, tokens joined by spaces.
    dim : int, default=None
        Dimension of the vectors. None takes it from what `func` returns in fit.
    batch_size : int, default=None
        Largest number of entries a call, None for all in one.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        What is done to the vectors, learned from the known rows of the training fold.

    Attributes
    ----------
    coverage_ : dict
        Share of the training fold's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by its name.

    Raises
    ------
    ValueError
        If results are not finite, or their shapes do not fit; the row is named.

    Notes
    -----
    Fitting calls `func` on the training fold, to learn the dimension, `preprocess`
    and `coverage_`; ``fit_transform`` calls it once for both. Sequences without
    tokens are not passed to it: their vectors are zero and not known.

    Examples
    --------
    >>> from sk_metaembed import FunctionEmbedding
    >>> def lengths(words):
    ...     return [[len(word)] for word in words]
    >>> FunctionEmbedding(lengths).fit_transform(["to be", "or not"])[1]
    array([[2.],
           [3.]], dtype=float32)
    >>> def shouting(texts):
    ...     return [[text.count("!"), len(text)] for text in texts]
    >>> source = FunctionEmbedding(shouting, level="sequence", joined=True)
    >>> source.fit_transform([["oh", "!"], ["well"]]).block("function").values
    array([[1., 4.],
           [0., 4.]], dtype=float32)
    """

    _parameter_constraints: dict = {
        "func": [callable],
        "level": [StrOptions({"type", "token", "sequence"})],
        "joined": ["boolean"],
        "dim": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "preprocess": PREPROCESS_CONSTRAINT,
    }

    def __init__(
        self,
        func,
        level="type",
        *,
        joined=False,
        dim=None,
        batch_size=None,
        preprocess=None,
    ):
        self.func = func
        self.level = level
        self.joined = joined
        self.dim = dim
        self.batch_size = batch_size
        self.preprocess = preprocess

    def _fit_vectors(self, tokens, y):
        self._dim = self.dim

    def _embed(self, tokens):
        if self.level == "type":
            results = self._call(tokens.types.tolist())
            sizes = None
        else:
            filled = np.flatnonzero(tokens.lengths)
            results = [None] * len(tokens)
            called = self._call(self._sequences(tokens[filled]))
            for row, result in zip(filled, called, strict=True):
                results[row] = result
            sizes = tokens.lengths if self.level == "token" else None
        values, known = self._stacked(results, sizes)
        self._dim = values.shape[1]
        return Block(self.block_name, values, self.level, known)

    def _sequences(self, tokens):
        sequences = tokens.to_list()
        return [" ".join(words) for words in sequences] if self.joined else sequences

    def _call(self, entries):
        size = self.batch_size or max(len(entries), 1)
        results = []
        for start in range(0, len(entries), size):
            batch = entries[start : start + size]
            part = self.func(batch)
            if not hasattr(part, "__len__") or len(part) != len(batch):
                came = len(part) if hasattr(part, "__len__") else type(part).__name__
                raise ValueError(
                    f"FunctionEmbedding: func got {len(batch)} entries and must return "
                    f"as many results, got {came}."
                )
            results.extend(part)
        return results

    def _stacked(self, results, sizes):
        """Return one array of all rows, and which are known."""
        rows = [self._checked(r, i, sizes) for i, r in enumerate(results)]
        dim = self._known_dim(rows)
        counts = np.ones(len(rows), dtype=np.int64) if sizes is None else sizes
        blank = [np.zeros((n, dim), np.float32) for n in (0, 1)]
        known = np.repeat([row is not None for row in rows], counts).astype(bool)
        parts = [
            (blank[1].repeat(n, axis=0) if row is None else row)
            for row, n in zip(rows, counts, strict=True)
        ]
        for i, part in enumerate(parts):
            if part.shape[1] != dim:
                raise ValueError(
                    f"FunctionEmbedding: func's result {i} has {part.shape[1]} "
                    f"dimensions, others or the training fold have {dim}."
                )
        return np.concatenate([blank[0], *parts]), known

    def _checked(self, result, i, sizes):
        if result is None:
            return None
        result = np.asarray(result, dtype=np.float32)
        if sizes is None:
            result = result.reshape(1, -1) if result.ndim == 1 else result
            expected = 1
        else:
            expected = sizes[i]
        if result.ndim != 2 or len(result) != expected:
            raise ValueError(
                f"FunctionEmbedding(level={self.level!r}): func's result {i} has shape "
                f"{result.shape}, expected ({expected}, dim)."
            )
        if not np.isfinite(result).all():
            raise ValueError(
                f"FunctionEmbedding: func's result {i} holds NaN or infinity. Return "
                "None for an entry that has no vector."
            )
        return result

    def _known_dim(self, rows):
        found = next((row.shape[1] for row in rows if row is not None), None)
        dim = self._dim if self._dim is not None else found
        if dim is None:
            raise ValueError(
                "FunctionEmbedding: func gave no vector for any entry of the training "
                "fold, so the dimension is not known. Set dim."
            )
        return dim
