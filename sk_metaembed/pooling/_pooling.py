"""Pooling: one vector per sequence, with word weights learned from frequencies."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import infinite_rows
from .._core._errors import short_repr
from .._core._estimators import fit_context, is_real
from .._core._sklearn import COUNT, POSITIVE, StrOptions
from .._core._typing import Names
from ..sequences import Block, EmbeddedInputMixin, EmbeddedSequences
from ..sequences._api import block_dims, check_embedded, look_up
from ._bags import block_bags
from ._modes import LARGEST_POWER, MODES, WEIGHTED, mode_parts, part_factors, write_part


def word_probabilities(tokens):
    """Return the words that occur, (n_words,), and their shares of the tokens."""
    counts = tokens.type_counts()
    used = counts > 0
    return tokens.types[used], counts[used] / max(tokens.n_tokens, 1)


def usif_a(probabilities, mean_length):
    """Return the `a` of uSIF from the probabilities of the vocabulary, as in `Pooling`.

    Infinite if no word is more probable than the threshold: then all weights are 2.
    """
    n_words = len(probabilities)
    if n_words < 2:
        return np.inf
    threshold = -np.expm1(mean_length * np.log1p(-1.0 / n_words))
    # For a uniform vocabulary and n = 1, every p equals the threshold up to rounding.
    alpha = np.mean(np.asarray(probabilities) > threshold * (1 + 1e-9))
    return (1 - alpha) / (alpha * n_words / 2) if alpha else np.inf


def inverse_document_frequencies(tokens):
    """Return the words that occur, and ``ln((1 + n) / (1 + df)) + 1`` of each.

    n is the number of sequences, df of which contain the word.
    """
    n_types = max(tokens.n_types, 1)
    distinct = np.unique(tokens.segment_ids() * n_types + tokens.codes)
    frequencies = np.bincount(distinct % n_types, minlength=tokens.n_types)
    used = frequencies > 0
    idf = np.log((1 + len(tokens)) / (1 + frequencies[used])) + 1
    return tokens.types[used], idf


def learn_weights(kind, tokens, sif_a):
    """Return the weights of words that occur, a dict, and the weight of all others.

    `kind` is "idf", "sif" or "usif".
    """
    if kind == "idf":
        words, weights = inverse_document_frequencies(tokens)
        unseen = np.log(1 + len(tokens)) + 1
    elif kind == "sif":
        words, probabilities = word_probabilities(tokens)
        weights, unseen = sif_a / (sif_a + probabilities), 1.0
    else:
        words, probabilities = word_probabilities(tokens)
        filled = max(np.count_nonzero(tokens.lengths), 1)
        a = usif_a(probabilities, tokens.n_tokens / filled)
        weights, unseen = 1.0 / (0.5 + probabilities / a), 2.0  # `a` may be infinite
    return dict(zip(words.tolist(), weights.tolist(), strict=True)), float(unseen)


Mode: TypeAlias = Literal[
    "mean",
    "max",
    "min",
    "sum",
    "first",
    "last",
    "power-means",
    "dct",
    "hierarchical",
]


class Pooling(EmbeddedInputMixin, TransformerMixin, BaseEstimator):
    """Pool the vectors of each sequence's tokens into one row of an array.

    Usually the last step before an ordinary estimator. The mean is a strong baseline;
    several modes together keep more information about a sequence, at the cost of more
    columns. Each block is pooled separately and the results are concatenated. Blocks at
    level "sequence" are copied unchanged.

    Parameters
    ----------
    mode : str, or list or tuple of str, default="mean"
        One of the following, or several, which are concatenated in order:

        - "mean", "max", "min", "sum": over the tokens, for each dimension.
        - "first", "last": the vector of the first or last token.
        - "power-means": the power means listed in `powers`.
        - "dct": the first `n_coefficients` of the cosine transform along the sequence,
          which roughly preserve word order; the first is the mean.
        - "hierarchical": the maximum over the means of all windows of `window_size`
          tokens, which preserves word order locally.
    weights : {None, "idf", "sif", "usif"}, default=None
        Weights of words in "mean", "sum" and "power-means", learned in `fit`. Ignored
        by the other modes.
    powers : list or tuple, default=(1, inf, -inf)
        Integers from 1 to 7; inf is the maximum, -inf the minimum. Only used by
        "power-means".
    n_coefficients : int, default=2
        Number of coefficients of "dct".
    window_size : int, default=5
        Number of tokens per window of "hierarchical".
    sif_a : float, default=1e-3
        The a of ``weights="sif"``.
    add_indicator : bool, default=False
        Whether to append a column "missing" that marks missing rows, which `Tokenizer`
        and the sources record with ``missing="empty"``. Takes effect in `fit`.

    Attributes
    ----------
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name. `transform` requires the same.
    word_weights_ : dict of str to float, or None
        Weight of each word of the training data; None with ``weights=None``.
    unseen_weight_ : float or None
        Weight of all other words.

    Raises
    ------
    TypeError
        If the input is not an EmbeddedSequences.
    ValueError
        If modes or powers are invalid or repeated, if no mode uses the weights, if the
        blocks differ from the blocks in fit, or if a result exceeds float32.

    See Also
    --------
    CommonComponentRemoval : The second step of SIF and uSIF.

    Notes
    -----
    Only tokens whose row is known are pooled. Other tokens are ignored, as if they were
    not in the sequence: they do not count in lengths, positions or windows. A sequence
    without known tokens gives zeros.

    With w the weights and s the known tokens of the sequence, the mean is

    - ``sum_s v / |s|`` without weights;
    - ``sum_s w v / |s|`` for "sif", w = a / (a + p), and "usif", w = a / (a / 2 + p),
      where p is the share of the word in all training tokens;
    - ``sum_s w v / sum_s w`` for "idf", w = ln((1 + n) / (1 + df)) + 1, where df of the
      n training sequences contain the word.

    An unseen word has p = 0 and df = 0: weight 1, 2, and ln(1 + n) + 1. For "usif",
    with V training words and n tokens in the average non-empty sequence, let alpha be
    the share of words with ``p > 1 - (1 - 1 / V)**n``; then ``a = (1 - alpha) / (alpha
    * V / 2)``.

    A power mean is ``sign(m) |m|**(1 / p)``, with m the mean as above of ``v**p``.

    Cosine coefficient k of N vectors is
    ``c / N * sum_n v_n cos(pi k (2n + 1) / (2 max(N, K)))`` with K = `n_coefficients`,
    c = 1 for k = 0 and the root of 2 otherwise: the orthonormal DCT-II of the sequence,
    padded to K vectors if it is shorter, divided by the length.

    References
    ----------
    Arora, Liang, Ma (2017), "A simple but tough-to-beat baseline for sentence
    embeddings" (SIF). Ethayarajh (2018), "Unsupervised random walk sentence
    embeddings" (uSIF). Rueckle et al. (2018), "Concatenated power mean word
    embeddings as universal cross-lingual sentence representations". Almarwani,
    Aldarmaki, Diab (2019), "Efficient sentence embedding using discrete cosine
    transform". Shen et al. (2018), "Baseline needs more love" (hierarchical pooling).

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, Pooling, TokenSequences
    >>> tokens = TokenSequences.from_lists([["a", "b", "b"], ["b"], []])
    >>> table = Block("glove", [[3.0, 0.0], [0.0, 6.0]], "type")
    >>> embedded = EmbeddedSequences(tokens, [table])
    >>> Pooling().fit_transform(embedded)
    array([[1., 4.],
           [0., 6.],
           [0., 0.]], dtype=float32)
    >>> pooling = Pooling(mode=("mean", "max")).fit(embedded)
    >>> pooling.get_feature_names_out().tolist()
    ['glove__mean__0', 'glove__mean__1', 'glove__max__0', 'glove__max__1']
    """

    _parameter_constraints: dict = {
        "mode": [StrOptions(set(MODES)), list, tuple],
        "weights": [StrOptions({"idf", "sif", "usif"}), None],
        "powers": [list, tuple],
        "n_coefficients": [COUNT],
        "window_size": [COUNT],
        "sif_a": [POSITIVE],
        "add_indicator": ["boolean"],
    }

    def __init__(
        self,
        mode: Mode | list[Mode] | tuple[Mode, ...] = "mean",
        *,
        weights: Literal["idf", "sif", "usif"] | None = None,
        powers: Sequence[float] = (1, math.inf, -math.inf),
        n_coefficients: int = 2,
        window_size: int = 5,
        sif_a: float = 1e-3,
        add_indicator: bool = False,
    ) -> None:
        self.mode = mode
        self.weights = weights
        self.powers = powers
        self.n_coefficients = n_coefficients
        self.window_size = window_size
        self.sif_a = sif_a
        self.add_indicator = add_indicator

    @fit_context
    def fit(self, X: EmbeddedSequences, y: object = None) -> Self:
        """Learn the names and dimensions of blocks, and weights of words.

        Parameters
        ----------
        X : EmbeddedSequences
            Training data.
        y : ignored
            Not used.

        Returns
        -------
        estimator instance
            The fitted transformer.
        """
        X = check_embedded(X)
        modes = _modes(self.mode)
        if "power-means" in modes:
            _check_powers(self.powers)
        if self.weights is not None and not set(modes) & set(WEIGHTED):
            raise ValueError(
                f"weights={self.weights!r} has no effect with mode={self.mode!r}: only "
                f"{', '.join(WEIGHTED)} use weights. Add one of these modes, or set "
                "weights=None."
            )
        if all(block.level == "sequence" for block in X.blocks):
            self._warn_of_no_effect(X)
        options = self.powers, self.n_coefficients, self.window_size
        self.dims_in_ = block_dims(X)
        self._sequence_blocks = [b.name for b in X.blocks if b.level == "sequence"]
        self._has_indicator = self.add_indicator
        self._weighting = self.weights
        self._fitted_parts = [
            part for mode in modes for part in mode_parts(mode, *options)
        ]
        self.word_weights_ = self.unseen_weight_ = None
        if self.weights is not None:
            self.word_weights_, self.unseen_weight_ = learn_weights(
                self.weights, X.tokens, self.sif_a
            )
        return self

    def _warn_of_no_effect(self, X):
        """Warn if options have no effect on blocks at level "sequence"."""
        given = {"mode": self.mode, "weights": self.weights}
        given = [
            f"{name}={value!r}"
            for name, value in given.items()
            if value not in (None, "mean", ["mean"], ("mean",))
        ]
        if given:
            warnings.warn(
                f"{' and '.join(given)} will have no effect: the blocks of X, "
                f"{short_repr(list(X.names))}, have one vector per sequence already, "
                "which is copied. Leave them at their defaults, or use sources with "
                "vectors of words.",
                UserWarning,
                stacklevel=2,
            )

    if TYPE_CHECKING:

        def fit_transform(
            self, X: EmbeddedSequences, y: object = None, **fit_params: Any
        ) -> NDArray[np.float32]: ...

    def transform(self, X: EmbeddedSequences) -> NDArray[np.float32]:
        """Return the pooled vectors of each sequence, zeros without known words.

        Parameters
        ----------
        X : EmbeddedSequences
            Must have blocks of the names and dimensions seen in `fit`.

        Returns
        -------
        ndarray of float32, shape (n_sequences, n_features_out)
            One row per sequence, with the columns of `get_feature_names_out`.
        """
        check_is_fitted(self)
        X = check_embedded(X, self.dims_in_)
        at_sequence_level = [b.name for b in X.blocks if b.level == "sequence"]
        if at_sequence_level != self._sequence_blocks:
            raise ValueError(
                f"was fitted with the blocks {self._sequence_blocks} at level "
                f"'sequence'; got {at_sequence_level}, which would give other columns. "
                "Pass the output of the same sources, or call fit."
            )
        n_parts = len(self._fitted_parts)
        n_columns = sum(
            block.dim * (1 if block.level == "sequence" else n_parts)
            for block in X.blocks
        )
        out = np.zeros((len(X), n_columns + self._has_indicator), dtype=np.float32)
        column = 0
        with np.errstate(over="ignore"):  # overflow is reported with its row below
            for block in X.blocks:
                if block.level == "sequence":
                    out[:, column : column + block.dim] = block.values
                    column += block.dim
                    continue
                bags = self._bags(X.tokens, block)
                for part in self._fitted_parts:
                    write_part(part, bags, out, column)
                    column += block.dim
        if self._has_indicator and X.tokens.missing is not None:
            out[:, column] = X.tokens.missing
        overflowing = infinite_rows(out)
        if len(overflowing):
            raise ValueError(
                f"The pooled vector of row {overflowing[0]} exceeds float32 (and "
                f"those of {len(overflowing) - 1} more rows). Scale the vectors, for "
                'example with preprocess="unit" of the source.'
            )
        return out

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return a name for each column: ``block__part__number``.

        Parameters
        ----------
        input_features : ignored
            Embedded sequences have blocks, not features.

        Returns
        -------
        ndarray of str objects
            Columns of a sequence-level block have no part: ``block__number``. With
            ``add_indicator=True`` the last name is "missing".
        """
        check_is_fitted(self)
        names = []
        for name, dim in self.dims_in_.items():
            labels = [f"{name}__{part.label}" for part in self._fitted_parts]
            if name in self._sequence_blocks:
                labels = [name]
            names += [f"{label}__{i}" for label in labels for i in range(dim)]
        if self._has_indicator:
            names.append("missing")
        return np.array(names, dtype=object)

    def _bags(self, tokens, block):
        bags = block_bags(tokens, block)
        if self.word_weights_ is None:
            return bags
        weights = look_up(tokens.types, self.word_weights_, self.unseen_weight_)
        weights = weights[bags.codes]
        if self._weighting != "idf":
            return bags._replace(weights=weights)
        segments = np.repeat(np.arange(len(tokens)), bags.lengths)
        sums = np.bincount(segments, weights, minlength=len(tokens))
        sums[bags.lengths == 0] = 1.0
        return bags._replace(weights=weights, divisors=sums)

    def pool_with_weights(
        self, X: EmbeddedSequences
    ) -> tuple[NDArray[np.float32], list[tuple[Block, NDArray[np.float64] | None]]]:
        """Return the pooled vectors, and the weight of each token in them.

        `explain` uses it for exact contributions of words, also in steps of your own.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks seen in `fit`.

        Returns
        -------
        pooled : ndarray of float32, shape (n_sequences, n_features_out)
            The output of `transform`.
        parts : list of (Block, ndarray of shape (n_tokens,) or None)
            For each part of the pooled vectors in order, the block it is pooled from,
            and the weight of each token, 0 for unknown tokens. The weights are None if
            the part is not a sum of token vectors.
        """
        parts: list[Any] = []
        for block in X.blocks:
            if block.level == "sequence":
                parts.append((block, None))
                continue
            bags = self._bags(X.tokens, block)
            known = block.known
            if block.level == "type":
                known = known[X.tokens.codes]
            for part in self._fitted_parts:
                factors = part_factors(part, bags)
                if factors is not None:  # of the known tokens
                    every = np.zeros(len(known))
                    every[known] = factors
                    factors = every
                parts.append((block, factors))
        return np.asarray(self.transform(X)), parts

    def from_pooled(self, pooled: NDArray[Any]) -> NDArray[Any]:
        """Return the output of this step for pooled vectors.

        Parameters
        ----------
        pooled : ndarray of shape (n_rows, n_features_out)
            Such as the vectors of `pool_with_weights`.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            The same vectors.
        """
        return pooled


def _modes(mode):
    modes = [mode] if isinstance(mode, str) else list(mode)
    invalid = [m for m in modes if not isinstance(m, str) or m not in MODES]
    if invalid or not modes or len(set(modes)) < len(modes):
        raise ValueError(
            f"mode must be one of {', '.join(MODES)}, or a non-empty list or tuple of "
            f"distinct ones; got {mode!r}."
        )
    return modes


def _check_powers(powers):
    allowed = {*range(1, LARGEST_POWER + 1), math.inf, -math.inf}
    invalid = [p for p in powers if not is_real(p) or p not in allowed]
    if invalid or not powers or len(set(powers)) < len(powers):
        raise ValueError(
            f"powers must contain distinct integers from 1 to {LARGEST_POWER}, inf or "
            f"-inf, and not be empty; got {powers!r}."
        )
