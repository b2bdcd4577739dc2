"""PairEncoder: pairs of texts to vectors, by an encoder that both sides share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from .._core._arrays import PAIR_FEATURES, pair_features
from .._core._decorators import fit_context, rollback_on_error
from .._core._sklearn import HasMethods
from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences
from ..sequences._mixins import MISSING_CONSTRAINT
from ..sequences._sequence_pairs import read_pairs, tokens_of
from ._base import BaseColumnsAdapter

if TYPE_CHECKING:
    from collections.abc import Sequence


class PairEncoder(BaseColumnsAdapter):
    r"""Encode pairs of texts by one encoder, for entailment, similarity or duplicates.

    The encoder is fitted on both sides as one corpus, so their vectors are comparable.
    The features of a pair are both vectors, their difference and their product [1]_.
    Wrap any Pipeline that ends in one row of numbers per text, and put a classifier
    after it.

    If the encoder ends in word vectors or tokens, the output is `SequencePairs`.
    `DynamicMetaClassifier` and `DynamicMetaRegressor` accept them and train the encoder
    too. Another PairEncoder can encode them further.

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
        How to treat missing sides (None, NaN, null): raise an error, or use empty texts
        or token lists.
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
    ColumnsEncoder : Encodes columns that are not sides of a pair, one by one.
    SequencePairs : The output of an encoder that ends in tokens or word vectors.
    DynamicMetaClassifier : A network on such pairs, which trains the encoder on labels.

    Notes
    -----
    The features of vectors u and v are

    .. math:: [u;\ v;\ |u - v|;\ u \circ v].

    `fit` passes all 2 n texts to the encoder at once, including repeated texts. Labels
    are not passed to the encoder: they belong to pairs, not to single sentences. An
    encoder that needs labels raises an error; put supervised steps such as
    `DynamicMetaEmbedding` after the PairEncoder, where they take its SequencePairs. In
    `transform` a text that is repeated is embedded once.

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

    If the encoder returns tokens or word vectors, the output is SequencePairs:

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

    _row_noun = "pair"
    _label_remedy = (
        "but y has labels of pairs, not of the single texts. Remove it from the "
        "encoder, and put it after the PairEncoder: "
        "make_pipeline(PairEncoder(encoder), ...)."
    )

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
        return self._fit(X)

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
        return self._fit_transform(X)

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
        return self._transform(X)

    def _read(self, X, *, reset):
        return read_pairs(X, missing=self.missing)

    def _check_options(self):
        unknown = [name for name in self.features if name not in PAIR_FEATURES]
        repeated = len(set(self.features)) < len(self.features)
        if unknown or repeated or not len(self.features):
            raise ValueError(
                f"PairEncoder: features must hold some of {list(PAIR_FEATURES)}, each "
                f"at most once; got {list(self.features)}."
            )

    def _record_output(self, output, n_rows):
        self._features = tuple(self.features)
        super()._record_output(output, n_rows)

    def _groups(self):
        return self._features

    def _places(self):
        return ("first", "second")

    def _array(self, vectors, places):
        first, second = places
        return pair_features(vectors[first], vectors[second], self._features)

    def _sequences(self, output, info, places):
        output = output if places is None else output[places]
        tokens = tokens_of(output)
        tokens = tokens._with_row_info(index=info.index, missing=info.missing)
        if isinstance(output, TokenSequences):
            return SequencePairs(tokens)
        return SequencePairs(EmbeddedSequences(tokens, output.blocks))

    def _sequence_names(self, names):
        return ["sequences"] if names is None else names
