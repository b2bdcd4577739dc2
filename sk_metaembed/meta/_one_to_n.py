"""OneToNMetaEmbedding: one meta vector a word, from which each source is projected."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._core._arrays import row_product
from ..sequences import Block
from ._base import BaseMetaEmbedding
from ._linear import (
    common_scale,
    known_matrix,
    learning_rows,
    source_rows,
    source_weights,
    weighted_blocks,
)
from ._one_to_n_math import (
    Decoders,
    alternate,
    descend,
    encoder,
    in_principal_axes,
    pattern_moments,
    start_decoders,
)


class OneToNMetaEmbedding(BaseMetaEmbedding):
    """Learn a vector for each word from which one linear map a source gives its vector.

    1TON and 1TON+. It needs no common dimension, weighs sources by how far they are
    trusted, and embeds words that some sources lack without filling anything in.

    Parameters
    ----------
    n_components : int, default=200
        Dimension of the meta-embedding. Fewer come out where the sources' vectors,
        side by side, have a smaller rank.
    impute_missing : bool, default=False
        What to learn from. False takes the words that all sources know (1TON); True
        takes all words that any source knows, and the missing vectors are unknowns of
        the same problem (1TON+); `impute` gives them.
    weights : dict of str to float, sequence of float, or None, default=None
        How much each source's error counts, by name or in the order of the blocks.
        None, and names that a dict leaves out, mean 1. A source of weight 0 takes no
        part.
    alpha : float, default=5e-4
        Penalty of the squared entries of the maps and of the meta vectors.
    solver : {"als", "adagrad"}, default="als"
        "als" solves for vectors and maps in turn, each exactly, from second moments:
        it comes to the optimum, without chance, and no torch is needed. "adagrad"
        takes gradient steps on mini-batches of words, as the paper does: it stops
        above the optimum and takes far longer.
    learning_rate : float, default=0.05
        Of "adagrad".
    max_iter : int, default=50
        Most epochs of "adagrad", or rounds of "als".
    batch_size : int, default=500
        Words of one step of "adagrad".
    tol : float, default=1e-3
        Learning ends when three epochs or rounds in a row lower the loss by less than
        this share.
    normalize : bool, default=True
        Scale each source's vectors to length one first.
    device : str, default="auto"
        Where "adagrad" computes: "cpu", "cuda", or "auto" for a GPU if there is one.
    random_state : int, RandomState instance or None, default=None
        Of the start and the order of the mini-batches of "adagrad".
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    weights_ : ndarray of shape (n_sources,)
        The weights used.
    n_components_ : int
        Dimension of the meta-embedding.
    coefs_ : dict of str to ndarray of shape (n_components_, dim)
        The map from meta vectors to each source's vectors, by its name.
    intercepts_ : dict of str to ndarray of shape (dim,)
        What is added, so that a source's vectors are about
        ``meta @ coefs_[name] + intercepts_[name]``.
    penalty_ : float
        Penalty of a squared meta vector, `alpha` in the units of the sources.
    loss_curve_ : list of float
        The loss of each epoch or round.
    n_iter_ : int
        Epochs or rounds.
    n_learning_rows_ : int
        Rows known to every source, or with `impute_missing` to any, from which all
        this was learned.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.
    dim_ : int
        The same as `n_components_`.

    Raises
    ------
    ValueError
        If a source knows none of the words of fit, or shares none with the others, or
        fewer than two different words are left to learn from.
    FloatingPointError
        If the loss grows beyond all numbers.

    See Also
    --------
    AutoencodedMetaEmbedding : Encoders in place of free vectors.
    ConcatMetaEmbedding : All of every source's vector.

    Notes
    -----
    With s_i(w) the vector of word w in source i, K(w) the sources that know it, n
    words and a = `alpha`, maps W_i and free vectors m_w minimise::

        1/n sum_w sum_{i in K(w)} k_i |m_w W_i + b_i - s_i(w)|^2
            + a sum_i |W_i|^2 + a/n sum_w |m_w|^2

    The last term is not in the paper. Without it there is no minimum: maps could
    shrink for ever while vectors grow.

    In 1TON+ the vectors that a source lacks are unknowns too. Whatever m_w is, the best
    of them is ``m_w W_i + b_i``, where its term is 0. So to leave the term out, as is
    done here, has the same optimum.

    Any word, seen in fit or not, gets the m that minimises its terms of the sum, in
    closed form; at the optimum the free vectors are just that. A word that no source
    knows gets zeros and is not known.

    The loss does not change when the meta space is turned. What is learned is turned
    to principal axes, so that both solvers come to the same vectors as far as they
    converge. Where all sources know all words and weigh the same, the optimum is
    ``U (S - a)^(1/2)`` of the principal components U S of the concatenation, over
    n^(1/2): halfway between U and U S.

    Lengths are divided by their root mean square before learning, so that `alpha`
    means the same without `normalize`. An interrupt from the keyboard ends learning,
    with a warning, and keeps what was learned.

    References
    ----------
    Yin and Schuetze (2016). Learning word meta-embeddings. ACL.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, OneToNMetaEmbedding
    >>> from sk_metaembed import EmbeddedSequences, TokenSequences
    >>> rng = np.random.default_rng(0)
    >>> words = [f"word{i}" for i in range(50)]
    >>> x = Block("x", rng.normal(size=(50, 5)), "type")
    >>> y = Block("y", x.values @ rng.normal(size=(5, 3)), "type")
    >>> X = EmbeddedSequences(TokenSequences.from_lists([words]), [x, y])
    >>> meta = OneToNMetaEmbedding(4).fit(X)
    >>> meta.transform(X)
    EmbeddedSequences(1 sequences, 50 tokens, 50 types; oneton: type 4d)
    >>> meta.coefs_["y"].shape
    (4, 3)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "impute_missing": ["boolean"],
        "weights": [Mapping, Sequence, np.ndarray, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"adagrad", "als"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "normalize": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=200,
        *,
        impute_missing=False,
        weights=None,
        alpha=5e-4,
        solver="als",
        learning_rate=0.05,
        max_iter=50,
        batch_size=500,
        tol=1e-3,
        normalize=True,
        device="auto",
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.impute_missing = impute_missing
        self.weights = weights
        self.alpha = alpha
        self.solver = solver
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.tol = tol
        self.normalize = normalize
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _fit_combination(self, blocks, y):
        caller = type(self).__name__
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names, caller)
        blocks, weights = weighted_blocks(blocks, self.weights_)
        known = known_matrix(blocks)
        names = [block.name for block in blocks]
        n_knowing = 1 if self.impute_missing else len(names)
        rows = learning_rows(names, known, n_knowing=n_knowing, caller=caller)
        sources, means, scale = self._centred(blocks, rows)
        decoders = self._solve(sources, known[rows], weights, caller)
        self.n_learning_rows_, self.n_iter_ = len(rows), len(self.loss_curve_)
        self.n_components_ = len(decoders.matrices[0])
        self.penalty_ = self.alpha * scale**2
        scaled = [scale * matrix for matrix in decoders.matrices]
        moved = [scale * b + m for b, m in zip(decoders.intercepts, means, strict=True)]
        self.intercepts_ = dict(zip(names, _float32(moved), strict=True))
        self.coefs_ = dict(zip(names, _float32(scaled), strict=True))
        self._encoders = {}

    def _centred(self, blocks, rows):
        """Return vectors less their mean, over their common scale; means and scale."""
        sources, means = [], []
        for block in blocks:
            values = source_rows(block, rows, normalize=self.normalize)
            knows = block.known[rows]
            means.append(values.mean(axis=0, where=knows[:, None], dtype=np.float64))
            values -= means[-1].astype(np.float32)
            values[~knows] = 0
            sources.append(values)
        scale = common_scale(sources)
        for values in sources:
            values /= np.float32(scale)
        return sources, means, scale

    def _solve(self, sources, known, weights, caller):
        """Return the decoders, of meta vectors in principal axes."""
        dims = [values.shape[1] for values in sources]
        moments = pattern_moments(sources, known)
        decoders = start_decoders(moments, dims, weights, self.alpha, self.n_components)
        if not len(decoders.matrices[0]):
            raise ValueError(
                f"{caller}: the {len(known)} words to learn from have the same vector "
                f"in every source, or alpha={self.alpha} is larger than all they differ"
                " by. Fit on more words, or make alpha smaller."
            )
        if self.solver == "als":
            decoders, self.loss_curve_ = alternate(
                moments,
                decoders,
                weights,
                self.alpha,
                max_iter=self.max_iter,
                tol=self.tol,
            )
        else:
            n_components = len(decoders.matrices[0])
            decoders, self.loss_curve_ = descend(
                self, sources, known, weights, n_components, caller=caller
            )
        return in_principal_axes(moments, decoders, weights, self.alpha)

    def _combine(self, blocks):
        blocks, weights = weighted_blocks(blocks, self.weights_)
        known = known_matrix(blocks)
        meta = np.zeros((len(known), self.n_components_), dtype=np.float32)
        patterns, codes = np.unique(known, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            who = np.flatnonzero(pattern)
            rows = np.flatnonzero(codes.ravel() == number)
            for i, matrix in zip(who, self._encoder(who, weights), strict=True):
                values = source_rows(blocks[i], rows, normalize=self.normalize)
                values -= self.intercepts_[blocks[i].name]
                meta[rows] += row_product(values, matrix)
        return meta, known.any(axis=1)

    def _encoder(self, who, weights):
        """Return the closed form's matrix of each source that knows a row."""
        who = tuple(who.tolist())
        if who and who not in self._encoders:
            coefs = [np.float64(matrix) for matrix in self.coefs_.values()]
            nothing = [np.zeros(matrix.shape[1]) for matrix in coefs]
            joined = encoder(who, Decoders(coefs, nothing), weights, self.penalty_)
            ends = np.cumsum([coefs[i].shape[1] for i in who])[:-1]
            self._encoders[who] = _float32(np.split(joined[1:], ends))
        return self._encoders.get(who, [])

    def impute(self, X):
        """Return the sources with the vectors that they lack filled in.

        For sources that are to be looked at one by one, or combined in another way,
        after 1TON+ has told what they lack. With ``impute_missing=False`` the maps come
        from the words that all sources know.

        Parameters
        ----------
        X : EmbeddedSequences
            With blocks of the names and dimensions seen in fit.

        Returns
        -------
        EmbeddedSequences
            With the same blocks at their common level, but for those of weight 0. A
            vector that a source has is as it was learned from: of length one with
            `normalize`. One that it lacks is ``m W_i + b_i``, the optimum of 1TON+, if
            any source knows the word. Then it counts as known.
        """
        meta = self.transform(X).blocks[0]
        filled = []
        for block in weighted_blocks(X.aligned_blocks(), self.weights_)[0]:
            values = source_rows(block, normalize=self.normalize)
            rows = np.flatnonzero(meta.known & ~block.known)
            made = row_product(meta.values[rows], self.coefs_[block.name])
            values[rows] = made + self.intercepts_[block.name]
            filled.append(Block(block.name, values, block.level, meta.known))
        return X.with_blocks(filled)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coefs_")


def _float32(arrays):
    return [np.ascontiguousarray(array, dtype=np.float32) for array in arrays]
