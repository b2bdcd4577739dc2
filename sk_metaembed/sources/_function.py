"""FunctionEmbedding: any callable as a source.

What a user's function returns, checked and put into one array.
"""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._core._messages import short_repr
from ..sequences import Block
from ..sequences._mixins import MISSING_CONSTRAINT
from ._base import PREPROCESS_CONSTRAINT, BaseEmbedding
from ._original_text import filled_texts


def call_in_batches(func, entries, batch_size, caller):
    """Call a function on batches of a list and return its results in one list.

    Parameters
    ----------
    func : callable
    entries : list
    batch_size : int or None
        None for all in one call; no entries, no call.
    caller : str
        Begins the error messages.

    Returns
    -------
    list
        One result an entry.
    """
    size = batch_size or len(entries) or 1
    results = []
    for start in range(0, len(entries), size):
        batch = entries[start : start + size]
        part = func(batch)
        if not hasattr(part, "__len__") or len(part) != len(batch):
            came = len(part) if hasattr(part, "__len__") else type(part).__name__
            raise ValueError(
                f"{caller}: func got {len(batch)} entries and must return as many "
                f"results, got {came}. It is called with a list of entries, not with "
                "one at a time."
            )
        results.extend(part)
    return results


def stack_results(results, entries, sizes, dim, caller):
    """Return all results in one array, and which rows are known.

    Parameters
    ----------
    results : list of array-like or None
        Of shape (dim,) each, or (size, dim) where there are sizes.
    entries : list
        What the results are for, named in errors.
    sizes : ndarray of int64, shape (n_entries,), or None
    dim : int or None
        None takes it from the first result.
    caller : str
        Begins the error messages.

    Returns
    -------
    values : ndarray of float32, shape (n_rows, dim)
        Zero where the result is None.
    known : ndarray of bool, shape (n_rows,)
    """
    given = [i for i, result in enumerate(results) if result is not None]
    if dim is None:
        dim = _dim_of(results[given[0]] if given else None, caller)
    counts = np.ones(len(results), dtype=np.int64) if sizes is None else sizes
    ends = np.cumsum(counts)
    values = np.zeros((int(counts.sum()), dim), dtype=np.float32)
    for i in given:
        shape = (dim,) if sizes is None else (int(counts[i]), dim)
        result = _checked(results[i], shape, f"{caller}: func's result {i}", entries[i])
        values[ends[i] - counts[i] : ends[i]] = result
    has_result = np.zeros(len(results), dtype=bool)
    has_result[given] = True
    known = np.repeat(has_result, counts)
    _check_finite(values, ends, entries, caller)
    return values, known


def scatter(values, known, rows, n_rows):
    """Return values and flags at some rows of longer arrays, zero elsewhere."""
    if len(rows) == n_rows:
        return values, known
    spread = np.zeros((n_rows, values.shape[1]), dtype=values.dtype)
    flags = np.zeros(n_rows, dtype=bool)
    spread[rows], flags[rows] = values, known
    return spread, flags


def _dim_of(result, caller):
    if result is None:
        raise ValueError(
            f"{caller}: func gave no vector for any entry of the training fold, so the "
            "dimension is not known. Set dim; or, if X should have rows, check that it "
            "is not empty, for example a generator that was read before."
        )
    shape = np.shape(result)
    if not shape or not shape[-1]:
        raise ValueError(
            f"{caller}: func must return a vector an entry, but a result has shape "
            f"{shape}."
        )
    return shape[-1]


def _checked(result, shape, which, entry):
    try:
        result = np.asarray(result)
        if result.dtype.kind == "c":
            raise TypeError("it is complex")
        with np.errstate(over="ignore"):  # infinity is reported with its entry
            result = result.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{which}, for {short_repr(entry)}, is no array of numbers: {error}. "
            "Return None for an entry that has no vector."
        ) from error
    if result.shape != shape:
        raise ValueError(
            f"{which}, for {short_repr(entry)}, has shape {result.shape}, expected "
            f"{shape}."
        )
    return result


def _check_finite(values, ends, entries, caller):
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        i = int(np.searchsorted(ends, bad[0], side="right"))
        raise ValueError(
            f"{caller}: func's result {i}, for {short_repr(entries[i])}, holds NaN or "
            "infinity. Return None for an entry that has no vector."
        )


class FunctionEmbedding(BaseEmbedding):
    """Make a source of any callable: a sentence encoder, a lexicon, hand-made features.

    The quickest way to bring vectors from elsewhere into a union; for a source with
    parameters of its own, derive from `BaseEmbedding`.

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
        Give `func` sequences as strings: at ``level="sequence"`` the original texts;
        tokens joined by spaces at ``level="token"``, and where there are only tokens.
    dim : int, default=None
        Dimension of the vectors. None takes it from what `func` returns in fit.
    batch_size : int, default=None
        Largest number of entries a call, None for all in one.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        What is done to the vectors, learned from the known rows of the training fold.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or take them as
        empty sequences. A TokenSequences is taken as it is.

    Attributes
    ----------
    coverage_ : dict
        Share of the training fold's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by its name.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    ValueError
        If results are not finite or their shapes do not fit; the entry is named.

    See Also
    --------
    BaseEmbedding : The base of sources that are classes.

    Notes
    -----
    Fitting calls `func` on the training fold, to learn the dimension, `preprocess`
    and `coverage_`; ``fit_transform`` calls it once for both. Sequences without
    tokens, and original texts that are empty or only white space, are not passed to
    it: their vectors are zero and not known.

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
        "missing": MISSING_CONSTRAINT,
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
        missing="raise",
    ):
        self.func = func
        self.level = level
        self.joined = joined
        self.dim = dim
        self.batch_size = batch_size
        self.preprocess = preprocess
        self.missing = missing

    def _fit_vectors(self, tokens, y):
        self._dim = self.dim

    def _embed(self, tokens):
        caller = f"FunctionEmbedding(level={self.level!r})"
        if self.level == "type":
            entries, filled = tokens.types.tolist(), slice(None)
        elif self.joined and self.level == "sequence":
            filled, entries = filled_texts(tokens)
        else:
            filled = np.flatnonzero(tokens.lengths)
            entries = tokens[filled].to_list()
            if self.joined:
                entries = [" ".join(words) for words in entries]
        results = call_in_batches(self.func, entries, self.batch_size, caller)
        sizes = tokens.lengths[filled] if self.level == "token" else None
        values, known = stack_results(results, entries, sizes, self._dim, caller)
        if self._dim is None:
            self._dim = values.shape[1]  # what fit saw binds transform
        if self.level == "sequence":
            values, known = scatter(values, known, filled, len(tokens))
        return Block(self.block_name, values, self.level, known)
