"""PairEncoder: pairs of texts to vectors, by an encoder that both sides share.

What PairEncoder asks of its parameters before it fits anything.

What an encoder gives, as rows of numbers; and rows that occur several times.
"""

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


def check_features(features):
    strange = [name for name in features if name not in PAIR_FEATURES]
    repeated = len(set(features)) < len(features)
    if strange or repeated or not len(features):
        raise ValueError(
            f"PairEncoder: features must hold some of {list(PAIR_FEATURES)}, each at "
            f"most once; got {list(features)}."
        )


def refuse_labels(encoder):
    for step in _steps(encoder):
        if get_tags(step).target_tags.required:
            name = type(step).__name__
            raise ValueError(
                f"PairEncoder: {name} in the encoder learns from labels, but y has "
                "labels of pairs, not of the texts that the encoder sees. Leave it out "
                "of the encoder, and put it behind the PairEncoder: "
                "make_pipeline(PairEncoder(encoder), ...)."
            )


def _steps(encoder):
    """Return the steps that get labels: the encoder, or those that it is made of."""
    for name in ("steps", "transformer_list", "transformers"):
        parts = getattr(encoder, name, None)
        if isinstance(parts, list):
            steps = [part[1] for part in parts]
            return [
                inner
                for step in steps
                if hasattr(step, "fit")
                for inner in _steps(step)
            ]
    return [encoder]


def distinct_rows(rows):
    """Return the distinct texts or token lists, and where each row stands among them.

    Parameters
    ----------
    rows : list of str or of list of str

    Returns
    -------
    distinct : list
        In first-seen order.
    places : ndarray of int64, shape (n_rows,)
    """
    found, distinct = {}, []
    places = np.empty(len(rows), dtype=np.int64)
    for i, row in enumerate(rows):
        key = row if isinstance(row, str) else tuple(row)
        places[i] = found.setdefault(key, len(found))
        if len(found) > len(distinct):
            distinct.append(row)
    return distinct, places


def as_vectors(given, n_rows, caller="PairEncoder"):
    """Return what an encoder gave as float32, or say what is wrong with it.

    Parameters
    ----------
    given : array, sparse matrix or DataFrame
    n_rows : int
        How many rows it must have.
    caller : str, default="PairEncoder"
        Begins the error messages.

    Returns
    -------
    ndarray or sparse CSR matrix of float32, shape (n_rows, dim)

    Raises
    ------
    TypeError
        If it is no numbers.
    ValueError
        If it has not one row a text, or is not finite.
    """
    values = given.tocsr() if sparse.issparse(given) else np.asarray(given)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{caller}: the encoder must give numbers, tokens or word vectors; got "
                f"{type(given).__name__} of dtype {values.dtype}."
            ) from error
    if values.ndim != 2 or values.shape[0] != n_rows or not values.shape[1]:
        raise ValueError(
            f"{caller}: the encoder must give one row of numbers a text, an array of "
            f"shape ({n_rows}, dim); got shape {values.shape}."
        )
    with np.errstate(over="ignore"):  # told as infinity
        values = values.astype(np.float32, copy=False)
    numbers = values.data if sparse.issparse(values) else values
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{caller}: the encoder gave NaN or infinity for some texts. Look at its "
            "steps, for example for a division by the length of an empty text."
        )
    return values


def with_indicator(features, info):
    """Return features of pairs, and two columns: which sides were missing."""
    n_pairs = features.shape[0]
    missing = np.zeros(2 * n_pairs) if info.missing is None else info.missing
    columns = missing.reshape(2, n_pairs).T.astype(np.float32)
    if sparse.issparse(features):
        return sparse.hstack([features, columns], format="csr")
    return np.concatenate([features, columns], axis=1)


class PairEncoder(SequencesInputMixin, TransformerMixin, BaseEstimator):
    r"""Encode pairs of texts by one encoder, for entailment, similarity or duplicates.

    The encoder is fitted on both sides as one corpus, so that both get vectors of one
    space, and a model is told of both vectors, of how they differ and where they
    agree [1]_. Put it around any Pipeline that ends in one row of numbers a text,
    and a classifier behind it.

    Where the encoder ends in word vectors or tokens, the step hands on
    `SequencePairs`. `DynamicMetaClassifier` and `DynamicMetaRegressor` take them and
    train the encoder too; another PairEncoder goes on where this one ended.

    Parameters
    ----------
    encoder : transformer or Pipeline
        With fit and transform, from a list of texts (or of token lists) to an array, a
        sparse matrix or a DataFrame of one row a text; or to a `TokenSequences` or
        `EmbeddedSequences`. It is cloned before it is fitted.
    features : sequence of {"u", "v", "absdiff", "product"}, default=all four
        The vector of the first side, that of the second, the absolute value of their
        difference, their product entry by entry. "absdiff" and "product" alone do not
        tell one side from the other: right for what is symmetric, such as similarity.
        Not used where SequencePairs come out.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing sides (None, NaN, null): raise an error, or take them as
        empty texts or token lists.
    add_indicator : bool, default=False
        Whether to append two columns, "missing__first" and "missing__second", that mark
        missing sides. Not used where SequencePairs come out.

    Attributes
    ----------
    encoder_ : transformer
        The fitted clone.
    feature_names_in_ : ndarray of object, shape (2,)
        The names of the columns, where fit saw a DataFrame.
    n_missing_ : int
        Number of missing sides in the data of `fit`.

    Raises
    ------
    TypeError
        If a side is missing or no text, sides of texts and of token lists are mixed,
        or the encoder gives no numbers. The message names row and side.
    ValueError
        If there are more or fewer than two columns, `features` are not known, the
        encoder needs labels, or what it gives is not finite or not one row a text.

    See Also
    --------
    SequencePairs : What comes out of an encoder that ends in tokens or word vectors.
    DynamicMetaClassifier : A net over such pairs, the encoder trained on their labels.

    Notes
    -----
    Of vectors u and v the output is

    .. math:: [u;\ v;\ |u - v|;\ u \circ v].

    Fitting passes all 2 n texts to the encoder at once, a text as often as it occurs.
    Labels are not passed on: they are of pairs, and a sentence that stands in pairs of
    several labels has none of its own. An encoder that needs labels is refused;
    supervised steps, such as `DynamicMetaEmbedding`, stand behind the PairEncoder and
    take its SequencePairs. In `transform` a text that occurs several times is embedded
    once.

    A DataFrame's columns must have the names and the order that they had in fit, as
    elsewhere in scikit-learn: sides that are swapped by accident are refused.

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

    Behind word vectors or tokens, pairs stay sequences:

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
        self, encoder, features=PAIR_FEATURES, *, missing="raise", add_indicator=False
    ):
        self.encoder = encoder
        self.features = features
        self.missing = missing
        self.add_indicator = add_indicator

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit(self, X, y=None):
        """Fit a clone of the encoder on both sides.

        Both sides are one corpus to the encoder: a vocabulary, or vectors, that it
        learns cover both. Labels are not passed on.

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
        self._see(self.encoder_.transform(rows[:2]), 2)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit_transform(self, X, y=None):
        """Fit a clone of the encoder on both sides, and encode them in one go.

        A Pipeline calls it while it is fitted. The encoder's own `fit_transform` is
        used where it has one, so that it reads the texts once.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.
        y : None
            Ignored.

        Returns
        -------
        ndarray or sparse matrix of float32, or SequencePairs
            As `transform` gives them.
        """
        rows, info = self._start(X)
        if hasattr(self.encoder_, "fit_transform"):
            given = self.encoder_.fit_transform(rows)
        else:
            given = self.encoder_.fit(rows).transform(rows)
        self._see(given, len(rows))
        return self._features(given, len(rows), info)

    def transform(self, X):
        """Encode pairs.

        A text that stands in several pairs, as premises do, is encoded once. Nothing is
        learned.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.

        Returns
        -------
        ndarray or sparse matrix of float32, shape (n_pairs, n_features)
            The features of each pair, side by side; or SequencePairs where the encoder
            gives tokens or word vectors.
        """
        check_is_fitted(self, "encoder_")
        self._check_names(X)
        rows, info = read_pairs(X, caller="PairEncoder", missing=self.missing)
        if not isinstance(rows, list):
            return self._features(self.encoder_.transform(rows), len(rows), info)
        if not rows and self._dim is not None:
            # Most encoders refuse an empty list.
            n_columns = len(self.features) * self._dim + 2 * self.add_indicator
            return np.zeros((0, n_columns), dtype=np.float32)
        rows, places = distinct_rows(rows)
        return self._features(self.encoder_.transform(rows), len(rows), info, places)

    def _start(self, X):
        check_features(self.features)
        refuse_labels(self.encoder)
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
        seen, came = getattr(self, "feature_names_in_", None), column_names(X)
        if seen is not None and came is not None and list(seen) != came:
            raise ValueError(
                "The feature names should match those that were passed during fit: "
                f"PairEncoder was fitted on the columns {list(seen)}, in this order, "
                f"got {came}. Select them: X[{list(seen)}]."
            )

    def _see(self, given, n_rows):
        """Note of what kind the encoder's output is."""
        self._gives_sequences = isinstance(given, TokenSequences | EmbeddedSequences)
        self._dim = self._names = None
        if not self._gives_sequences:
            self._names = column_names(given)
            self._dim = as_vectors(given, n_rows).shape[1]

    def _features(self, given, n_rows, info, places=None):
        """Return the pairs' features from what the encoder gave for distinct rows."""
        if isinstance(given, TokenSequences | EmbeddedSequences):
            given = given if places is None else given[places]
            return SequencePairs(_labelled(given, info))
        vectors = as_vectors(given, n_rows)
        if vectors.shape[1] != self._dim:
            raise ValueError(
                f"PairEncoder: the encoder gave {vectors.shape[1]} columns after "
                f"{self._dim} in fit. It must give as many for any input."
            )
        places = np.arange(n_rows) if places is None else places
        first, second = np.split(places, 2)
        features = pair_features(vectors[first], vectors[second], self.features)
        return with_indicator(features, info) if self.add_indicator else features

    def get_feature_names_out(self, input_features=None):
        """Return one name a column: feature, two underscores, the encoder's name.

        Where the encoder has no names for its columns, numbers stand for them.

        Parameters
        ----------
        input_features : ignored
            Names of the two columns tell nothing of the output's.

        Returns
        -------
        ndarray of object
            The encoder's own names where it gives tokens or word vectors.
        """
        check_is_fitted(self, "encoder_")
        names = self._names
        if hasattr(self.encoder_, "get_feature_names_out"):
            names = self.encoder_.get_feature_names_out()
        if self._gives_sequences:
            return np.asarray(["sequences"] if names is None else names, dtype=object)
        if names is None:
            names = range(self._dim)
        names = [f"{feature}__{name}" for feature in self.features for name in names]
        if self.add_indicator:
            names += ["missing__first", "missing__second"]
        return np.array(names, dtype=object)

    def set_output(self, *, transform=None):
        """Choose the container of the features; SequencePairs stay what they are.

        Whether there are features to put into a frame is known after fit only, so that
        the choice may be made before.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            The container.

        Returns
        -------
        PairEncoder
            With the choice noted.
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Columns of texts. two_d_array would say that they may hold numbers.
        tags.input_tags.categorical = True
        return tags

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._sklearn_auto_wrap_output_keys = _WRAPPED


def _labelled(sequences, info):
    """Return sequences with the labels of the pairs, and which of them were missing."""
    tokens = tokens_of(sequences)
    tokens = tokens._with_row_info(index=info.index, missing=info.missing)
    if isinstance(sequences, TokenSequences):
        return tokens
    return EmbeddedSequences(tokens, sequences.blocks)


# scikit-learn decides by this attribute whether to wrap what transform returns; here
# that depends on the encoder, so it cannot be one of the class's keyword arguments.
_WRAPPED = property(
    lambda self: set() if getattr(self, "_gives_sequences", False) else {"transform"}
)
PairEncoder._sklearn_auto_wrap_output_keys = _WRAPPED
