"""FunctionEmbedding: any callable as a source."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..sequences import Block
from ..sequences._estimator import MISSING_CONSTRAINT
from ._base import PREPROCESS_CONSTRAINT, BaseEmbedding
from ._results import call_in_batches, scatter, stack_results
from ._written import filled_texts


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
        whose = f"FunctionEmbedding(level={self.level!r})"
        if self.level == "type":
            entries, filled = tokens.types.tolist(), slice(None)
        elif self.joined and self.level == "sequence":
            filled, entries = filled_texts(tokens)
        else:
            filled = np.flatnonzero(tokens.lengths)
            entries = tokens[filled].to_list()
            if self.joined:
                entries = [" ".join(words) for words in entries]
        results = call_in_batches(self.func, entries, self.batch_size, whose)
        sizes = tokens.lengths[filled] if self.level == "token" else None
        values, known = stack_results(results, entries, sizes, self._dim, whose)
        if self._dim is None:
            self._dim = values.shape[1]  # what fit saw binds transform
        if self.level == "sequence":
            values, known = scatter(values, known, filled, len(tokens))
        return Block(self.block_name, values, self.level, known)
