"""TokenClassifier: any scikit-learn classifier as a tagger."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._core._estimators import fit_context
from .._core._sample_weights import check_sample_weight, fit_model
from .._core._sklearn import NATURAL, HasMethods, StrOptions, available_if
from .._core._typing import Tags
from .._targets import (
    check_predictor,
    class_probabilities,
    errors_of_model,
    predicted_classes,
)
from ..sequences import EmbeddedInputMixin, EmbeddedSequences, convert_tags
from ..sequences._api import (
    SCHEMES,
    TaggerMixin,
    block_dims,
    check_embedded,
    check_scheme,
    decode_tags,
    read_tags,
)

_BATCH = 2**22  # numbers per batch: 16 MB


def _has_probabilities(self):
    """Return whether the fitted estimator, or the one to fit, has probabilities."""
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


class TokenClassifier(
    MetaEstimatorMixin, TaggerMixin, EmbeddedInputMixin, BaseEstimator
):
    """Tag tokens with a scikit-learn classifier, each token separately.

    The features of a token are its vectors of all sources, concatenated; `window` adds
    the vectors of its neighbors. With ``LogisticRegression`` it is a tagger for named
    entities, parts of speech or chunks that trains in seconds, and a baseline for
    `DynamicMetaTagger`, which uses the whole sentence.

    Parameters
    ----------
    estimator : classifier
        Cloned, and fitted with one row per token. May be a Pipeline.
    window : int, default=0
        Number of neighbors on each side. Neighbors beyond the ends of a sentence are
        zeros.
    scheme : {"IOB2", "IOBES"}, default=None
        The scheme of the tags: y must follow it, and invalid predictions are repaired
        as by `sk_metaembed.sequences.convert_tags`. None allows any tags.

    Attributes
    ----------
    estimator_ : classifier
        The fitted clone.
    classes_ : ndarray of shape (n_classes,)
        The tags, sorted.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences, or y not a collection of lists of str.
    ValueError
        If y does not have one tag per token or does not follow the scheme, there are no
        tokens, `estimator` is not a classifier, or the blocks differ from fit.

    See Also
    --------
    sk_metaembed.metrics.span_f1_score : Scores predicted tags by their spans.
    sk_metaembed.datasets.load_conll : Loads tagged sentences.

    Notes
    -----
    Features are float32 and take ``4 * (2 * window + 1) * dim`` bytes per token, in fit
    for all tokens at once (1.2 GB for a million tokens with 300 dimensions), in predict
    for batches of bounded size. If no vector depends on context and `window` is 0, each
    distinct word is predicted once.

    scikit-learn does not treat the tagger as a classifier, because lists are not class
    labels: folds are not stratified, and searches need
    ``scoring=make_scorer(span_f1_score)``. ``cross_val_predict`` returns tags, but not
    probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_metaembed import Block, EmbeddedSequences, TokenClassifier
    >>> from sk_metaembed import TokenSequences
    >>> sentences = [["in", "New", "York"], ["new", "in", "Bonn"]]
    >>> tokens = TokenSequences.from_lists(sentences)
    >>> X = EmbeddedSequences(tokens, [Block("one-hot", np.eye(5), "type")])
    >>> y = [["O", "B-place", "I-place"], ["O", "O", "B-place"]]
    >>> tagger = TokenClassifier(LogisticRegression(C=100), window=1).fit(X, y)
    >>> tagger.predict(X).tolist()
    [['O', 'B-place', 'I-place'], ['O', 'O', 'B-place']]
    >>> [probabilities.shape for probabilities in tagger.predict_proba(X)]
    [(3, 3), (3, 3)]
    >>> tagger.score(X, y)
    1.0
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "window": [NATURAL],
        "scheme": [StrOptions(set(SCHEMES)), None],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        window: int = 0,
        scheme: Literal["IOB2", "IOBES"] | None = None,
    ) -> None:
        self.estimator = estimator
        self.window = window
        self.scheme = scheme

    @fit_context
    def fit(
        self, X: EmbeddedSequences, y: Tags, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the classifier with one row per token.

        Parameters
        ----------
        X : EmbeddedSequences
            The sentences, with vectors of one or several sources at any level.
        y : list of lists of str, array of such lists, or TokenSequences
            One tag per token.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of all tokens of each sentence, for each step that accepts weights.
            The tokens of sentences of weight 0 are left out.

        Returns
        -------
        estimator instance
            The fitted tagger.
        """
        check_embedded(X)
        check_predictor(self.estimator, "classes", "estimator")
        tags = read_tags(y, X.tokens)
        if self.scheme is not None:
            check_scheme(tags, self.scheme)
        positions, weights = np.arange(tags.n_tokens), None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X)
            weights = np.repeat(weights, X.tokens.lengths)
            positions = np.flatnonzero(weights)
            weights = weights[positions]
        if not len(positions):
            raise ValueError(
                f"there is nothing to learn from: {len(X)} sentences have no tokens "
                "with a weight above 0 (0 samples)."
            )
        self.dims_in_: dict[str, int] = block_dims(X)
        self._fitted_window = self.window
        self._fitted_scheme = self.scheme
        features = token_features(X, self.window, positions)
        labels = tags.types[tags.codes[positions]]
        with errors_of_model("estimator", self.estimator):
            model = fit_model(clone(self.estimator), features, labels, weights)
        self.estimator_ = model
        self.classes_: NDArray[Any] = np.unique(getattr(model, "classes_", labels))
        return self

    def predict(self, X: EmbeddedSequences) -> NDArray[np.object_]:
        """Return a tag for every token.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks seen in fit.

        Returns
        -------
        ndarray of object, shape (n_sequences,)
            A list of str per sentence.
        """
        labels, places = self._apply(X, predicted_classes)
        tags = decode_tags(places, labels, X.tokens.offsets)
        scheme = self._fitted_scheme
        return tags if scheme is None else convert_tags(tags, to=scheme)

    @available_if(_has_probabilities)
    def predict_proba(self, X: EmbeddedSequences) -> list[NDArray[Any]]:
        """Return the probability of each tag at each token, if the classifier has it.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks seen in fit.

        Returns
        -------
        list of ndarray, shape (n_tokens_i, n_classes)
            One array per sentence; columns are `classes_`.
        """
        values, places = self._apply(X, class_probabilities)
        return np.split(values[places], X.tokens.offsets[1:-1]) if len(X) else []

    def _apply(self, X, read):
        """Return the classifier's output for distinct tokens, and each token's row."""
        check_is_fitted(self)
        check_embedded(X, self.dims_in_)
        window = self._fitted_window
        positions, places = distinct_positions(X, window)
        model = self.estimator_
        with errors_of_model("estimator", model):
            if not len(positions):
                # Classifiers refuse empty input: a row of zeros gives the shape.
                zeros = np.zeros((1, self._n_features()), dtype=np.float32)
                return read(model, zeros, self.classes_)[:0], places
            parts = [
                read(model, token_features(X, window, part), self.classes_)
                for part in batches(positions, self._n_features())
            ]
        return np.concatenate(parts), places

    def _n_features(self):
        return (2 * self._fitted_window + 1) * sum(self.dims_in_.values())


def token_features(X, window, positions):
    """Return the vectors of some tokens and their neighbors, float32 (n, n_features).

    Neighbors are ordered from left to right, each with its blocks in order.
    """
    width = (2 * window + 1) * X.dim
    out = np.zeros((len(positions), width), dtype=np.float32)
    segments = X.tokens.segment_ids()
    rows = {
        "type": X.tokens.codes,
        "token": np.arange(X.tokens.n_tokens),
        "sequence": segments,
    }
    at = 0
    for offset in range(-window, window + 1):
        present, neighbors = _neighbors(segments, positions, offset)
        for block in X.blocks:
            block_rows = rows[block.level][neighbors]
            out[present, at : at + block.dim] = block.values[block_rows]
            at += block.dim
    return out


def _neighbors(segments, positions, offset):
    """Return which tokens have a neighbor at a distance, and these neighbors."""
    if offset == 0:
        return slice(None), positions
    places = positions + offset
    inside = np.flatnonzero((places >= 0) & (places < len(segments)))
    same = segments[places[inside]] == segments[positions[inside]]
    return inside[same], places[inside[same]]


def distinct_positions(X, window):
    """Return positions of tokens with distinct features, and each token's row in them.

    Without neighbors and context, all tokens of a type have the same features.
    """
    codes = X.tokens.codes
    if window == 0 and all(block.level == "type" for block in X.blocks):
        _, positions, places = np.unique(codes, return_index=True, return_inverse=True)
        return positions, places
    every = np.arange(len(codes))
    return every, every


def batches(positions, n_features):
    """Yield parts of positions whose features take bounded memory."""
    size = max(_BATCH // max(n_features, 1), 1)
    for start in range(0, len(positions), size):
        yield positions[start : start + size]
