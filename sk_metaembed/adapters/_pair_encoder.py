"""PairEncoder: pairs of texts to vectors, by an encoder that both sides share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import PAIR_FEATURES, pair_features
from .._core._decorators import fit_context, rollback_on_error
from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences
from ..sequences._mixins import MISSING_CONSTRAINT, SequencesInputMixin
from ..sequences._sequence_pairs import column_names, read_pairs, tokens_of
from ..sequences._validation import count_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class PairEncoder(SequencesInputMixin, TransformerMixin, BaseEstimator):
    r"""Encode pairs of texts by one encoder, for entailment, similarity or duplicates.

    The encoder is fitted on both sides as one corpus, so their vectors are in one
    space. The features of a pair are both vectors, their difference and their product
    [1]_. Wrap any Pipeline that ends in one row of numbers per text, and put a
    classifier after it.

    If the encoder ends in word vectors or tokens, the output is `SequencePairs`.
    `DynamicMetaClassifier` and `DynamicMetaRegressor` take them and train the encoder
    too; another PairEncoder continues where this one ended.

    Parameters
    ----------
    encoder : transformer or Pipeline
        With fit and transform, from a list of texts (or of token lists) to an array, a
        sparse matrix or a DataFrame with one row per text; or to a `TokenSequences` or
        `EmbeddedSequences`. It is cloned before it is fitted.
    features : sequence of str, default=("u", "v", "absdiff", "product")
        The vector of the first side, that of the second, the absolute value of their
        difference, and their elementwise product. "absdiff" and "product" alone do not
        depend on the order of the sides, which suits symmetric relations such as
        similarity. Not used if the output is SequencePairs.
    missing : {"raise", "empty"}, default="raise"
        Whether missing sides (None, NaN, null) raise an error or are empty texts or
        token lists.
    add_indicator : bool, default=False
        Whether to append two columns, "missing__first" and "missing__second", that mark
        missing sides. Not used if the output is SequencePairs.

    Attributes
    ----------
    encoder_ : transformer
        The fitted clone.
    feature_names_in_ : ndarray of object, shape (2,)
        The names of the columns, if fit was passed a DataFrame.
    n_missing_ : int
        Number of missing sides in the data of `fit`.

    Raises
    ------
    TypeError
        If a side is missing or not a text, sides of texts and of token lists are mixed,
        or the encoder does not return numbers. The message names row and side.
    ValueError
        If the number of columns is not two, `features` are unknown, the encoder needs
        labels, or its output is not finite or does not have one row per text.

    See Also
    --------
    SequencePairs : The output of an encoder that ends in tokens or word vectors.
    DynamicMetaClassifier : A network on such pairs, which trains the encoder on labels.

    Notes
    -----
    The features of vectors u and v are

    .. math:: [u;\ v;\ |u - v|;\ u \circ v].

    `fit` passes all 2 n texts to the encoder at once, including repeated texts.
    Labels are not passed on: they belong to pairs, and a sentence in pairs of several
    labels has no label of its own. An encoder that needs labels raises an error; put
    supervised steps such as `DynamicMetaEmbedding` after the PairEncoder, where they
    take its SequencePairs. In `transform` a text that is repeated is embedded once.

    The columns of a DataFrame must have the names and the order seen in fit, as
    elsewhere in scikit-learn, so that sides cannot be swapped by accident.

    References
    ----------
    .. [1] A. Conneau et al. "Supervised Learning of Universal Sentence Representations
       from Natural Language Inference Data". EMNLP 2017.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import PairEncoder
    >>> X = [("a dog runs", "a dog runs"), ("a dog runs", "no cat sleeps")] * 5
    >>> model = make_pipeline(PairEncoder(TfidfVectorizer()), LogisticRegression())
    >>> model.fit(X, ["same", "other"] * 5).predict(X[:2]).tolist()
    ['same', 'other']
    >>> model[0].get_feature_names_out()[-2:].tolist()
    ['product__runs', 'product__sleeps']

    Word vectors or tokens stay sequences:

    >>> from sk_metaembed import Tokenizer
    >>> PairEncoder(Tokenizer()).fit_transform(X)
    SequencePairs(10 pairs of TokenSequences: 60 tokens, 6 types)
    """

    _parameter_constraints: dict = {
        "encoder": [HasMethods(["fit", "transform"])],
        "features": [list, tuple],
        "missing": MISSING_CONSTRAINT,
        "add_indicator": ["boolean"],
    }

    def __init__(
        self,
        encoder: Any,
        features: Sequence[str] = PAIR_FEATURES,
        *,
        missing: Literal["raise", "empty"] = "raise",
        add_indicator: bool = False,
    ) -> None:
        self.encoder = encoder
        self.features = features
        self.missing = missing
        self.add_indicator = add_indicator

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit(self, X: Any, y: object = None) -> Self:
        """Fit a clone of the encoder on both sides, as one corpus.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.
        y : None
            Ignored.

        Returns
        -------
        PairEncoder
            The fitted estimator.
        """
        rows, _ = self._start(X)
        self.encoder_.fit(rows)
        self._record_output(self.encoder_.transform(rows[:2]), 2)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Fit a clone of the encoder on both sides, and encode them.

        The encoder's own `fit_transform` is used if it has one, so that it reads the
        texts once.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.
        y : None
            Ignored.

        Returns
        -------
        ndarray or sparse matrix of float32, or SequencePairs
            As from `transform`.
        """
        rows, info = self._start(X)
        if hasattr(self.encoder_, "fit_transform"):
            output = self.encoder_.fit_transform(rows)
        else:
            output = self.encoder_.fit(rows).transform(rows)
        self._record_output(output, len(rows))
        return self._pairs(output, len(rows), info)

    def transform(self, X: Any) -> Any:
        """Encode pairs; a text in several pairs is encoded once.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.

        Returns
        -------
        ndarray or sparse matrix of float32, shape (n_pairs, n_features)
            The features of each pair; or SequencePairs if the encoder returns tokens or
            word vectors.
        """
        check_is_fitted(self, "encoder_")
        self._check_names(X)
        rows, info = read_pairs(X, caller="PairEncoder", missing=self.missing)
        if not isinstance(rows, list):
            return self._pairs(self.encoder_.transform(rows), len(rows), info)
        if not rows and self._dim is not None:
            # Most encoders raise an error for an empty list.
            n_columns = len(self._features) * self._dim + 2 * self._indicates
            return np.zeros((0, n_columns), dtype=np.float32)
        rows, places = _distinct_rows(rows)
        return self._pairs(self.encoder_.transform(rows), len(rows), info, places)

    def _start(self, X):
        """Check the parameters, read the pairs and clone the encoder."""
        _check_features(self.features)
        _check_takes_no_labels(self.encoder)
        names = column_names(X)
        rows, info = read_pairs(X, caller="PairEncoder", missing=self.missing)
        if len(rows) == 0:
            raise ValueError(
                "Found array with 0 sample(s): PairEncoder needs at least one pair to "
                "fit its encoder."
            )
        self.encoder_ = clone(self.encoder)
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.n_missing_ = count_missing(info)
        return rows, info

    def _check_names(self, X):
        expected, received = getattr(self, "feature_names_in_", None), column_names(X)
        if expected is None or received is None or list(expected) == received:
            return
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"PairEncoder was fitted on the columns {list(expected)}, in this order, "
            f"got {received}. Select them: X[{list(expected)}]."
        )

    def _record_output(self, output, n_rows):
        """Record the kind of the encoder's output, and the columns to make of it."""
        self._features, self._indicates = tuple(self.features), self.add_indicator
        self._outputs_sequences = isinstance(output, TokenSequences | EmbeddedSequences)
        self._dim = self._names = None
        if not self._outputs_sequences:
            self._names = column_names(output)
            self._dim = _as_vectors(output, n_rows).shape[1]

    def _pairs(self, output, n_rows, info, places=None):
        """Return features of pairs, or SequencePairs, of an encoder's output.

        `places` are the rows of the output for all first, then all second sides.
        """
        if isinstance(output, TokenSequences | EmbeddedSequences):
            output = output if places is None else output[places]
            return SequencePairs(_with_row_info(output, info))
        vectors = _as_vectors(output, n_rows)
        if vectors.shape[1] != self._dim:
            raise ValueError(
                f"PairEncoder: the encoder returned {vectors.shape[1]} columns, but "
                f"{self._dim} in fit. Their number must not depend on the input."
            )
        places = np.arange(n_rows) if places is None else places
        first, second = np.split(places, 2)
        features = pair_features(vectors[first], vectors[second], self._features)
        return _with_indicator(features, info) if self._indicates else features

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return one name per column: the feature and the encoder's name, joined.

        Parameters
        ----------
        input_features : ignored
            The columns are named after the features of the encoder.

        Returns
        -------
        ndarray of object
            Such as "absdiff__0", with numbers if the encoder does not name its columns.
            The encoder's own names if it returns tokens or word vectors.
        """
        check_is_fitted(self, "encoder_")
        names = self._names
        if hasattr(self.encoder_, "get_feature_names_out"):
            names = self.encoder_.get_feature_names_out()
        if self._outputs_sequences:
            return np.asarray(["sequences"] if names is None else names, dtype=object)
        if names is None:
            names = range(self._dim)
        names = [f"{feature}__{name}" for feature in self._features for name in names]
        if self._indicates:
            names += ["missing__first", "missing__second"]
        return np.array(names, dtype=object)

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Choose the container of the features; SequencePairs are not changed.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            The container. None leaves the choice unchanged.

        Returns
        -------
        PairEncoder
            The estimator itself.
        """
        # Before fit it is not known whether the output can be wrapped.
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Columns of texts; two_d_array would mean that they may hold numbers.
        tags.input_tags.categorical = True
        return tags

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._sklearn_auto_wrap_output_keys = _WRAPPED


# scikit-learn reads from this attribute whether to wrap the output of transform, which
# depends on the encoder here, so it cannot be a keyword argument of the class.
_WRAPPED = property(
    lambda self: set() if getattr(self, "_outputs_sequences", False) else {"transform"}
)
PairEncoder._sklearn_auto_wrap_output_keys = _WRAPPED


def _check_features(features):
    unknown = [name for name in features if name not in PAIR_FEATURES]
    repeated = len(set(features)) < len(features)
    if unknown or repeated or not len(features):
        raise ValueError(
            f"PairEncoder: features must hold some of {list(PAIR_FEATURES)}, each at "
            f"most once; got {list(features)}."
        )


def _check_takes_no_labels(encoder):
    for step in _fitted_steps(encoder):
        if get_tags(step).target_tags.required:
            name = type(step).__name__
            raise ValueError(
                f"PairEncoder: {name} in the encoder learns from labels, but y has "
                "labels of pairs, not of the single texts. Remove it from the encoder, "
                "and put it after the PairEncoder: "
                "make_pipeline(PairEncoder(encoder), ...)."
            )


def _fitted_steps(encoder):
    """Return the encoder, or the estimators that it is composed of."""
    for name in ("steps", "transformer_list", "transformers"):
        parts = getattr(encoder, name, None)
        if isinstance(parts, list):
            steps = [part[1] for part in parts if hasattr(part[1], "fit")]
            return [inner for step in steps for inner in _fitted_steps(step)]
    return [encoder]


def _distinct_rows(rows):
    """Return the distinct texts or token lists, and each row's place among them."""
    numbers, distinct = {}, []
    places = np.empty(len(rows), dtype=np.int64)
    for i, row in enumerate(rows):
        key = row if isinstance(row, str) else tuple(row)
        places[i] = numbers.setdefault(key, len(numbers))
        if len(numbers) > len(distinct):
            distinct.append(row)
    return distinct, places


def _as_vectors(output, n_rows):
    """Return an encoder's output as float32, dense or CSR (n_rows, dim), checked."""
    values = output.tocsr() if sparse.issparse(output) else np.asarray(output)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "PairEncoder: the encoder must return numbers, tokens or word vectors; "
                f"got {type(output).__name__} of dtype {values.dtype}."
            ) from error
    if values.ndim != 2 or values.shape[0] != n_rows or not values.shape[1]:
        raise ValueError(
            "PairEncoder: the encoder must return one row of numbers per text, an "
            f"array of shape ({n_rows}, dim); got shape {values.shape}."
        )
    with np.errstate(over="ignore"):  # refused below, as infinity
        values = values.astype(np.float32, copy=False)
    numbers = values.data if sparse.issparse(values) else values
    if not np.isfinite(numbers).all():
        raise ValueError(
            "PairEncoder: the encoder returned NaN or infinity for some texts. Check "
            "its steps, for example for a division by the length of an empty text."
        )
    return values


def _with_indicator(features, info):
    """Append two columns to features of pairs: which sides were missing."""
    n_pairs = features.shape[0]
    missing = np.zeros(2 * n_pairs) if info.missing is None else info.missing
    columns = missing.reshape(2, n_pairs).T.astype(np.float32)
    if sparse.issparse(features):
        return sparse.hstack([features, columns], format="csr")
    return np.concatenate([features, columns], axis=1)


def _with_row_info(sequences, info):
    """Return sequences with the labels of the pairs and the missing sides."""
    tokens = tokens_of(sequences)
    tokens = tokens._with_row_info(index=info.index, missing=info.missing)
    if isinstance(sequences, TokenSequences):
        return tokens
    return EmbeddedSequences(tokens, sequences.blocks)
