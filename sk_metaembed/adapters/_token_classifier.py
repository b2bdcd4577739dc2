"""TokenClassifier: any scikit-learn classifier as a tagger.

One row of numbers a token: its vectors of all sources, and its neighbours'.
"""

from numbers import Integral

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    clone,
    is_classifier,
)
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
)

from .._core._decorators import available_if, fit_context, rollback_on_error
from ..sequences._mixins import (
    EmbeddedInputMixin,
    TaggerMixin,
    block_dims,
    check_blocks,
    check_embedded,
)
from ..sequences._tags import (
    SCHEMES,
    check_scheme,
    convert_tags,
    decode_tags,
    read_tags,
)

_BATCH = 2**22  # numbers of one batch: 16 MB


def n_token_features(dims, window, add_indicator):
    """Return how many numbers `token_features` gives a token."""
    return (2 * window + 1) * sum(dim + add_indicator for dim in dims.values())


def token_features(X, window, add_indicator, positions):
    """Return the vectors of some tokens and of their neighbours, side by side.

    Parameters
    ----------
    X : EmbeddedSequences
    window : int
        Neighbours on each side. Beyond a sequence's ends there are zeros.
    add_indicator : bool
        Add a column a block, 1 where it knows the token.
    positions : ndarray of int
        The tokens, among all.

    Returns
    -------
    ndarray of float32, shape (n_positions, n_features)
        From the leftmost neighbour to the rightmost; each with its blocks in order.
    """
    dims = {block.name: block.dim for block in X.blocks}
    width = n_token_features(dims, window, add_indicator)
    out = np.zeros((len(positions), width), dtype=np.float32)
    segments = X.tokens.segment_ids()
    rows = {
        "type": X.tokens.codes,
        "token": np.arange(X.tokens.n_tokens),
        "sequence": segments,
    }
    at = 0
    for offset in range(-window, window + 1):
        there, neighbours = _neighbours(segments, positions, offset)
        for block in X.blocks:
            wanted = rows[block.level][neighbours]
            out[there, at : at + block.dim] = block.values[wanted]
            at += block.dim
            if add_indicator:
                out[there, at] = block.known[wanted]
                at += 1
    return out


def _neighbours(segments, positions, offset):
    """Return which tokens have a neighbour at that distance, and these neighbours."""
    if offset == 0:
        return slice(None), positions
    places = positions + offset
    inside = (places >= 0) & (places < len(segments))
    there = np.flatnonzero(inside)
    same = segments[places[there]] == segments[positions[there]]
    return there[same], places[there[same]]


def distinct_positions(X, window):
    """Return tokens whose features are all there are, and where each token's stand.

    Without neighbours and context a token is like any other of its type.

    Parameters
    ----------
    X : EmbeddedSequences
    window : int

    Returns
    -------
    positions : ndarray of int64
    places : ndarray of int64, shape (n_tokens,)
        Of each token, among `positions`.
    """
    codes = X.tokens.codes
    if window == 0 and all(block.level == "type" for block in X.blocks):
        _, positions, places = np.unique(codes, return_index=True, return_inverse=True)
        return positions, places
    every = np.arange(len(codes))
    return every, every


def batches(positions, n_features):
    """Yield parts of positions whose features take a bounded memory."""
    size = max(_BATCH // max(n_features, 1), 1)
    for start in range(0, len(positions), size):
        yield positions[start : start + size]


def _estimator_has(name):
    """Tell whether the fitted estimator, or the one to fit, has a method."""

    def check(self):
        return hasattr(getattr(self, "estimator_", self.estimator), name)

    return check


class TokenClassifier(
    MetaEstimatorMixin, TaggerMixin, EmbeddedInputMixin, BaseEstimator
):
    """Tag tokens by a scikit-learn classifier, each token by itself.

    A token's features are its vectors of all sources, side by side; `window` adds
    those of its neighbours. That makes a tagger for named entities, parts of speech
    or chunks out of ``LogisticRegression`` in seconds, and the base line for
    `DynamicMetaTagger`, which sees the whole sentence.

    Parameters
    ----------
    estimator : classifier
        Cloned, and fitted with one row a token. A Pipeline will do.
    window : int, default=0
        How many neighbours on each side are seen. Beyond a sentence's ends there are
        zeros.
    add_indicator : bool, default=False
        Add a column a source, and a neighbour, that is 1 where the source knows the
        word. It tells unknown words, and the ends of a sentence, from words whose
        vectors are near zero.
    scheme : {"IOB2", "IOBES", "BIOES"}, default=None
        The scheme that tags keep to: y is checked against it, and what is predicted
        against it is mended as `sk_metaembed.sequences.convert_tags` does. None takes
        and gives any tags.

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
        If X is not an EmbeddedSequences or y no collection of lists of str.
    ValueError
        If y does not give every token one tag, breaks the scheme, there is no token,
        `estimator` is no classifier, or the blocks are not those of fit.

    See Also
    --------
    sk_metaembed.metrics.span_f1_score : Scores predicted tags by the spans they mark.
    sk_metaembed.datasets.load_conll : Loads tagged sentences.

    Notes
    -----
    Features are float32 and take ``4 * (2 * window + 1) * dim`` bytes a token, in fit
    for all tokens at once, in predict for a bounded number at a time. Where the
    vectors depend on the word alone and `window` is 0, each distinct word is
    predicted once.

    Each token is decided by itself: without a `scheme` an I may follow an O.
    `span_f1_score` reads such spans as the scorer conlleval does, and so does a scheme
    that mends them: the score is the same. Probabilities are those of single tokens.

    To scikit-learn it is no classifier, which knows of no lists as labels: folds are
    not stratified, and searches take ``scoring=make_scorer(span_f1_score)``.
    ``cross_val_predict`` gives tags, but no probabilities.

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
    >>> [shares.shape for shares in tagger.predict_proba(X)]
    [(3, 3), (3, 3)]
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "window": [Interval(Integral, 0, None, closed="left")],
        "add_indicator": ["boolean"],
        "scheme": [StrOptions(set(SCHEMES)), None],
    }

    def __init__(self, estimator, *, window=0, add_indicator=False, scheme=None):
        self.estimator = estimator
        self.window = window
        self.add_indicator = add_indicator
        self.scheme = scheme

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier with one row a token.

        All tokens are rows at once, so that a corpus of a million tokens with 300
        dimensions takes 1.2 GB as float32: see Notes of the class.

        Parameters
        ----------
        X : EmbeddedSequences
            The sentences, with vectors of one or several sources at any level.
        y : list of lists of str, array of such lists, or TokenSequences
            One tag a token.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each token of a sentence, if the classifier takes weights.

        Returns
        -------
        estimator instance
            The fitted tagger.
        """
        caller = type(self).__name__
        check_embedded(X, caller=caller)
        if not is_classifier(self.estimator):
            raise ValueError(
                f"{caller}: estimator must be a classifier, got {self.estimator!r}."
            )
        tags = read_tags(y, X.tokens, caller=caller)
        if self.scheme is not None:
            check_scheme(tags, self.scheme, caller=caller)
        params = self._weights(X, sample_weight)
        if tags.n_tokens == 0:
            raise ValueError(
                f"{caller}: there is nothing to learn from: {len(X)} sentences hold no "
                "token (0 samples)."
            )
        self.dims_in_ = block_dims(X)
        features = self._features(X, np.arange(tags.n_tokens))
        labels = tags.types[tags.codes]
        self.estimator_ = clone(self.estimator).fit(features, labels, **params)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X):
        """Return a tag for every token.

        Tokens are decided one by one, and a sequence of tags may be one that no
        annotator wrote.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks that fit saw.

        Returns
        -------
        ndarray of object, shape (n_sequences,)
            Each a list of str.
        """
        labels, places = self._apply(X, "predict")
        tags = decode_tags(places, labels, X.tokens.offsets)
        return tags if self.scheme is None else convert_tags(tags, to=self.scheme)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Return the probability of each tag at each token.

        The method is there if the classifier has it. `classes_` names the columns.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks that fit saw.

        Returns
        -------
        list of ndarray, shape (n_tokens_i, n_classes)
            One array a sentence; columns are `classes_`.
        """
        return self._by_sentence(X, "predict_proba")

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Return the logarithm of each tag's probability at each token.

        The method is there if the classifier has it. Sums of logarithms rate whole
        sequences of tags without underflow.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks that fit saw.

        Returns
        -------
        list of ndarray, shape (n_tokens_i, n_classes)
            One array a sentence; columns are `classes_`.
        """
        return self._by_sentence(X, "predict_log_proba")

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X):
        """Return the classifier's scores of each tag at each token.

        The method is there if the classifier has it, as support vector machines do
        instead. Scores have a scale of the classifier's own.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks that fit saw.

        Returns
        -------
        list of ndarray, shape (n_tokens_i, n_classes)
            One array a sentence; of shape (n_tokens_i,) if there are two tags.
        """
        return self._by_sentence(X, "decision_function")

    def _by_sentence(self, X, method):
        values, places = self._apply(X, method)
        return np.split(values[places], X.tokens.offsets[1:-1]) if len(X) else []

    def _apply(self, X, method):
        """Return what the classifier says of distinct tokens, and each one's place."""
        check_is_fitted(self)
        caller = type(self).__name__
        check_embedded(X, caller=caller)
        check_blocks(X, self.dims_in_, caller=caller)
        positions, places = distinct_positions(X, self.window)
        if not len(positions):
            # The classifier refuses no rows; one of zeros shows the shape.
            zeros = np.zeros((1, self._n_features()), dtype=np.float32)
            return getattr(self.estimator_, method)(zeros)[:0], places
        parts = [
            getattr(self.estimator_, method)(self._features(X, part))
            for part in batches(positions, self._n_features())
        ]
        return np.concatenate(parts), places

    def _n_features(self):
        return n_token_features(self.dims_in_, self.window, self.add_indicator)

    def _features(self, X, positions):
        return token_features(X, self.window, self.add_indicator, positions)

    def _weights(self, X, sample_weight):
        """Return the fit parameters that give each token its sentence's weight."""
        if sample_weight is None:
            return {}
        weights = _check_sample_weight(sample_weight, X)
        weights = np.repeat(weights, X.tokens.lengths)
        name, last = "sample_weight", self.estimator
        if hasattr(last, "steps") and not has_fit_parameter(last, name):
            step, last = last.steps[-1]
            name = f"{step}__{name}"
        if not has_fit_parameter(last, "sample_weight"):
            raise ValueError(
                f"{type(self).__name__}: sample_weight was passed, but "
                f"{type(last).__name__} takes none."
            )
        return {name: weights}
