"""EmbeddingQuantizer: vectors as small integers or bits."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from .._core._arrays import chunks
from .._core._checked_parameters import CheckedParametersMixin
from .._core._decorators import fit_context, rollback_on_error
from .._core._sklearn import Interval, StrOptions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .._core._typing import RandomState

_LARGEST = 127  # of the integers: as many below zero as above
_CLIPPED = 1e-4  # share of the entries whose magnitude does not count for the scale


def integer_scale(X):
    """Return the size of one integer step for the entries of X, 1 for zeros.

    Rare large entries are clipped, so that they do not cost the others precision.
    """
    magnitudes = np.abs(X).ravel()
    scale = float(np.quantile(magnitudes, 1 - _CLIPPED)) or float(magnitudes.max())
    return scale / _LARGEST if scale > 0 else 1.0


def to_integers(X, scale):
    """Return X in integer steps of a given size, int8 of the shape of X."""
    codes = np.empty(X.shape, dtype=np.int8)
    for rows in chunks(len(X)):
        steps = np.rint(X[rows] / np.float64(scale))  # float32 rounds tiny scales to 0
        codes[rows] = np.clip(steps, -_LARGEST, _LARGEST)
    return codes


def random_rotation(dim, n_bits, random):
    """Return random directions, float64 (dim, n_bits).

    Each group of `dim` directions is orthonormal and uniformly distributed.
    """
    groups = []
    for _ in range(-(-n_bits // dim)):
        directions, triangle = np.linalg.qr(random.standard_normal((dim, dim)))
        groups.append(directions * np.sign(np.diag(triangle)))
    return np.concatenate(groups, axis=1)[:, :n_bits]


def to_bits(X, mean, rotation):
    """Return whether centered rows are positive in each direction, bool (n, n_bits)."""
    bits = np.empty((len(X), rotation.shape[1]), dtype=bool)
    for rows in chunks(len(X)):
        # Products in float64: a sign depends on the other rows of a batch, by rounding,
        # only where a product is zero within 1e-16 of its terms.
        bits[rows] = (X[rows] - mean) @ rotation > 0
    return bits


class EmbeddingQuantizer(TransformerMixin, CheckedParametersMixin, BaseEstimator):
    r"""Store vectors as small integers or bits: 4 to more than 100 times smaller.

    Use it after `Pooling`, or after any transformer that returns one vector per row.
    Bits of a random rotation usually preserve similarities better than fewer dimensions
    of the same size in memory.

    Parameters
    ----------
    output : {"int8", "binary", "packed"}, default="int8"
        Representation of each number of a vector:

        - "int8": an integer from -127 to 127, proportional to it;
        - "binary": -1 or 1, the sign in a random direction, as int8, for scikit-learn's
          estimators and metrics;
        - "packed": the same signs as bits, eight per byte, as uint8, for storage and
          comparison by the Hamming distance.
    n_bits : int or None, default=None
        Number of signs, for "binary" and "packed". None means the number of features.
        More are possible and more accurate.
    random_state : int, RandomState instance or None, default=None
        Controls the directions of "binary" and "packed". Pass an int for codes that can
        be compared with codes of another fit on the same data.

    Attributes
    ----------
    scale_ : float
        Size of one integer step, the same for all features; only for "int8".
    mean_ : ndarray of float64, shape (n_features_in_,)
        Mean of the training data; only for "binary" and "packed".
    rotation_ : ndarray of float64, shape (n_features_in_, n_bits)
        Directions whose signs are taken; only for "binary" and "packed".
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had string column names in fit.

    See Also
    --------
    SVDMetaEmbedding : Fewer dimensions of several sources.
    GCCAMetaEmbedding : The same for the information shared by the sources.

    Notes
    -----
    "int8" is ``x / scale_`` rounded to integers. The scale is chosen such that one
    entry in 10,000 of the training data exceeds 127 ``scale_``; these entries are
    clipped. All features have the same scale, so cosines are preserved up to rounding.
    A range per feature, as in other libraries, does not preserve them, because it
    scales up features of small variance.

    "binary" is ``sign((x - mean_) @ rotation_)``. If the angle between two centered
    vectors is :math:`\theta`, a fraction :math:`\theta / \pi` of their bits differs on
    average, so their cosine is about :math:`\cos(\pi h / b)` if h of b bits
    differ. The directions are orthogonal in groups of `n_features_in_`, which reduces
    the error. Without the rotation, the signs of all principal components would have
    the same weight, although the first components vary most. The first m bits are a
    valid, shorter code for any m.

    The lengths of vectors should be similar. If they differ by orders of magnitude,
    scale rows to unit length first, for example with `sklearn.preprocessing.Normalizer`
    ("int8" keeps lengths, "binary" depends on them through the mean). The zero vector
    of an empty sequence is encoded like any other vector.

    References
    ----------
    Charikar (2002). Similarity estimation techniques from rounding algorithms. STOC.

    Ji, Li, Yan, Zhang and Tian (2012). Super-bit locality-sensitive hashing. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import EmbeddingQuantizer
    >>> X = np.random.default_rng(0).normal(size=(100, 64)).astype(np.float32)
    >>> EmbeddingQuantizer().fit_transform(X)[0, :4]
    array([ 4, -4, 21,  3], dtype=int8)
    >>> packed = EmbeddingQuantizer("packed", n_bits=256, random_state=0)
    >>> codes = packed.fit_transform(X)
    >>> X.nbytes / codes.nbytes
    8.0

    The share of bits in which two rows differ, and the corresponding cosine:

    >>> share = np.bitwise_count(codes[0] ^ codes[1]).sum() / 256
    >>> print(f"{np.cos(np.pi * share):.1f}")
    -0.2
    """

    _parameter_constraints: dict = {
        "output": [StrOptions({"int8", "binary", "packed"})],
        "n_bits": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        output: Literal["int8", "binary", "packed"] = "int8",
        *,
        n_bits: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.output = output
        self.n_bits = n_bits
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the scale of the integers, or the mean, and draw the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Vectors of sequences, such as the output of `Pooling`.
        y : ignored
            Not used.

        Returns
        -------
        estimator instance
            The fitted transformer.
        """
        data = validate_data(self, X, dtype=[np.float64, np.float32])
        for name in ("scale_", "mean_", "rotation_"):  # of a fit with another output
            self.__dict__.pop(name, None)
        if self.output == "int8":
            self.scale_ = integer_scale(data)
            return self
        n_features = data.shape[1]
        random = check_random_state(self.random_state)
        self.mean_ = data.mean(axis=0, dtype=np.float64)
        self.rotation_ = random_rotation(n_features, self.n_bits or n_features, random)
        return self

    if TYPE_CHECKING:

        def fit_transform(
            self, X: ArrayLike, y: object = None, **fit_params: Any
        ) -> NDArray[np.int8] | NDArray[np.uint8]: ...

    def transform(self, X: ArrayLike) -> NDArray[np.int8] | NDArray[np.uint8]:
        """Return the codes of vectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Vectors of sequences.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, n_bits) or \
                (n_samples, ceil(n_bits / 8))
            For "int8", "binary" and "packed"; int8, int8 and uint8. Unused bits of the
            last byte are zero.
        """
        self._check_fitted()
        data = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.output == "int8":
            return to_integers(data, self.scale_)
        bits = to_bits(data, self.mean_, self.rotation_)
        if self.output == "packed":
            return np.packbits(bits, axis=1)
        return np.where(bits, np.int8(1), np.int8(-1))

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Return a name for each column, after its feature or its bits.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, used by "int8".

        Returns
        -------
        ndarray of str objects
            One name per column: the feature's, ``bit0``, ..., or ``byte0``, ...
        """
        self._check_fitted()
        names = _check_feature_names_in(self, input_features)
        if self.output == "int8":
            return names
        n_bits = self.rotation_.shape[1]
        kind, n_columns = ("bit", n_bits)
        if self.output == "packed":
            kind, n_columns = ("byte", -(-n_bits // 8))
        return np.array([f"{kind}{i}" for i in range(n_columns)], dtype=object)

    def _check_fitted(self):
        check_is_fitted(self, "scale_" if self.output == "int8" else "rotation_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
