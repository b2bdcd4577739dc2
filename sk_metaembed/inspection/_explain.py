"""explain: contributions of words and sources to a prediction."""

from __future__ import annotations

from collections.abc import Sized
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core._errors import check_choice, prefix_errors
from .._core._sklearn import safe_indexing
from .._pipelines import replace_steps, unwrap_fitted
from ..sequences import Block, EmbeddedSequences
from ._explain_linear import Contributions, Outputs, exact_contributions, source_of
from ._explained_texts import read_texts, sizes_of, with_column
from ._explanation import Explanation

_TOKENS_AT_ONCE = 1 << 18  # tokens of shortened texts predicted together


@prefix_errors
def explain(
    estimator: Any,
    X: Any,
    *,
    target: Any = None,
    column: Any = None,
    background: Any = None,
    method: Literal["auto", "exact", "occlusion"] = "auto",
) -> Explanation:
    r"""Return what each word and each source contributes to a prediction.

    Accepts any fitted pipeline on texts that ends in a classifier or regressor. If word
    vectors are averaged and all later steps are linear, the prediction is a sum over
    the words and the contributions are exact. Otherwise each word, and each source, is
    left out in turn.

    Parameters
    ----------
    estimator : fitted classifier or regressor
        A Pipeline, a search (its ``best_estimator_`` is used), or any other estimator
        whose input is `X`.
    X : list of str, TokenSequences, or data frame
        The texts to explain. Pass only a few: occlusion needs one prediction per word.
        A frame requires `column`. Missing texts are explained as texts
        without words, if the estimator accepts them.
    target : class label, default=None
        The class to explain. None explains, for each text, the class with the largest
        value, which is the predicted one.
    column : column label, default=None
        The column of texts in a frame. The words of this column are left out; the
        others keep their values.
    background : texts or frame, like X, default=None
        Rows whose mean prediction is the base value, such as a hundred training rows.
        For a frame, they also define the contribution of each column. None is described
        in Notes.
    method : {"auto", "exact", "occlusion"}, default="auto"
        "exact" raises an error if no exact contributions exist; "auto" uses occlusion
        in this case.

    Returns
    -------
    Explanation
        The contributions, as arrays and tables. In a notebook it shows the texts.

    Raises
    ------
    TypeError
        If the estimator is neither a classifier nor a regressor, a text is missing
        and the estimator does not accept it, or X are pairs: pass them in a frame,
        with one side as `column`.
    ValueError
        If `target` is not a class, the predictions have several columns of targets, a
        frame is passed without `column` or does not contain it, or ``method="exact"``
        does not apply.

    See Also
    --------
    Explanation : The result, as tables, bars and shaded texts.
    TokenWeightsDisplay : The weights of sources inside a network.

    Notes
    -----
    The value that is explained is the ``decision_function`` of a classifier for the
    target class (of two classes, its negative for the first one), or ``predict_proba``
    if there is none; for a regressor it is the prediction.

    *Exact.* Let the pooled vector be :math:`x = \sum_k a_k v_k`, with :math:`a_k` the
    weight of word k (1 / n for the mean of n words; idf and SIF weights are included),
    and the value :math:`f(x) = w \cdot x + b`; scalers, PCA, `StackedMetaClassifier`
    with linear models and ``tfidf=False``, and other affine steps are part of w and b.
    If a stack scales vectors to unit length, :math:`a_k` includes the scale.
    With a reference vector r, the contribution of word k is, in each source,

    .. math:: a_k\, w \cdot v_k - \frac{|a_k|}{\sum_j |a_j|}\, w \cdot r

    with :math:`|a_k| = 1` for all words if a source knows none. The value is the sum of
    the base :math:`f(r)` and the contributions; the effect of an indicator of missing
    texts (``Pooling(add_indicator=True)``) is part of the base. r is the mean of
    `background` if it is passed; otherwise the training mean, if the step after the
    pooling stores it as ``mean_``, as `StandardScaler` does; otherwise zero, a text
    without known words. A contribution is relative to r: if it is positive, the word
    supports the target more than an average word. These are the Shapley values of the
    game in which missing words have the vector r, and their sum by source equals the
    sum of `shap.LinearExplainer` over its dimensions [1]_. If the vectors are
    contextual, a word's contribution is the contribution of the vector at its position,
    which also depends on the other words; use ``method="occlusion"`` for the effect of
    the word itself.

    *Occlusion.* The contribution of a word is the value of the text minus the value
    without the word [2]_, and of a source the value minus the value with all its
    vectors unknown. They measure the effect of a single word or source, and do not sum
    to the value: if two words have the same meaning, each contributes little. Without a
    word, the next words move, which changes the output of models that use positions.
    The base value is the mean prediction of `background`, or the value of the text
    without any word.

    The contribution of a column of a frame is the value minus the mean value with the
    column's entry replaced by the entries of the `background` rows. It requires
    `background`, because a column of numbers has no value that means "absent".

    A source is one of an `EmbeddingUnion`, or a block of vectors if there is no union.
    Contributions of sources are exact, also for sources of whole texts, if the union,
    the pooling and a linear model are steps of the pipeline itself, and no step between
    them mixes their dimensions. Otherwise sources are left out in turn, as in a
    pipeline of `make_text_pipeline`, whose union is inside its `TextMetaEncoder`.
    Without a union, contributions of sources are then not available.

    References
    ----------
    .. [1] S. Lundberg, S.-I. Lee. "A Unified Approach to Interpreting Model
       Predictions". NeurIPS 2017.
    .. [2] J. Li, W. Monroe, D. Jurafsky. "Understanding Neural Networks through
       Representation Erasure". arXiv:1612.08220, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import FunctionEmbedding, Pooling, Tokenizer
    >>> from sk_metaembed.inspection import explain
    >>> vectors = {"good": [1, 0], "bad": [-1, 0], "film": [0, 1]}
    >>> def look_up(words):
    ...     return [vectors.get(word) for word in words]
    >>> pipe = make_pipeline(
    ...     Tokenizer(), FunctionEmbedding(look_up), Pooling(), LogisticRegression()
    ... )
    >>> _ = pipe.fit(["good film", "bad film", "good", "bad"], [1, 0, 1, 0])
    >>> explanation = explain(pipe, ["A good film"], target=1)
    >>> explanation.tokens[0], explanation.words.round(2).tolist()
    (['a', 'good', 'film'], [0.0, 0.47, 0.0])
    >>> total = explanation.base[0] + explanation.words.sum()
    >>> bool(np.isclose(total, pipe.decision_function(["A good film"])[0]))
    True
    """
    check_choice(method, ("auto", "exact", "occlusion"), "method")
    if isinstance(background, Sized) and not len(background):
        raise ValueError(
            "background has no rows. Pass some, such as a hundred training rows, or "
            "leave it out."
        )
    unwrap_fitted(estimator)  # raises if a search has not refitted
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    check_is_fitted(estimator)
    outputs = Outputs(estimator)
    choose = partial(outputs.choose, target=target)
    # Columns of Arrow tables cannot be replaced.
    X, background = (
        rows.to_pandas() if hasattr(rows, "column_names") else rows
        for rows in (X, background)
    )
    texts = read_texts(estimator, X, column)
    if not len(texts.tokens):
        raise ValueError("Found array with 0 sample(s): X has no texts.")
    exact = None
    if method != "occlusion" and column is None:
        exact = exact_contributions(estimator, texts.X, choose, background)
    if method == "exact" and (exact is None or exact.words is None):
        raise ValueError(
            "method='exact' requires a Pipeline on texts in which vectors of "
            "words are averaged by Pooling or a StackedMeta* with tfidf=False, "
            "followed by linear steps and a linear model with coef_. Pass "
            "method='occlusion'."
        )
    if exact is None:
        exact = _values_only(texts, outputs, choose, background)
    return _explanation(estimator, outputs, texts, exact, background)


def _values_only(texts, outputs, choose, background):
    """Return Contributions with values only; the base is the mean of the background."""
    values = outputs(texts.X)
    targets = choose(values)
    base = None
    if background is not None:
        base = outputs(background).mean(axis=0)[targets]
    chosen = values[np.arange(len(values)), targets]
    return Contributions(texts.tokens, chosen, targets, base, None, None)


def _explanation(estimator, outputs, texts, exact, background):
    """Return the Explanation, by occlusion where contributions are not exact."""
    tokens, values, targets, base, words, sources = exact
    rows, token_rows = np.arange(len(values)), tokens.segment_ids()
    word_method = source_method = "exact"
    if words is None:
        without, empty = _without_words(texts, outputs)
        without = without[np.arange(tokens.n_tokens), targets[token_rows]]
        words, word_method = values[token_rows] - without, "occlusion"
        base = empty[rows, targets] if base is None else base
    if sources is None:
        hidden = _without_sources(estimator, texts.X)
        sources = {name: values - out[rows, targets] for name, out in hidden.items()}
        source_method = "occlusion" if sources else None
    columns = {}
    if texts.column is not None and background is not None:
        means = _without_columns(texts, background, outputs)
        columns = {name: values - out[rows, targets] for name, out in means.items()}
    return Explanation(
        tokens=tokens,
        values=values,
        base=base,
        words=words,
        sources=sources,
        columns=columns,
        targets=None if outputs.classes is None else outputs.classes[targets],
        output=outputs.method,
        word_method=word_method,
        source_method=source_method,
    )


def _without_words(texts, outputs):
    """Return the values of each text without each of its words, and without all words.

    Shapes are (n_tokens, n_columns) and (n_texts, n_columns).
    """
    batches = _batches_of_variants(texts)
    values = [outputs(texts.join(variants))[index] for variants, index in batches]
    values = np.concatenate(values)
    # The last variant of each text has no words.
    last = np.cumsum(texts.tokens.lengths + 1) - 1
    return np.delete(values, last, axis=0), values[last]


def _batches_of_variants(texts):
    """Yield lists of distinct variants, and the position of each variant in its list.

    The size of a list is limited, because the total length of the variants of a text is
    quadratic in its length.
    """
    variants, index, places, size = [], [], {}, 0
    for i, length in enumerate(sizes_of(texts.tokens).tolist()):
        for key, variant in texts.without(i):
            if key not in places:
                if variants and size + length > _TOKENS_AT_ONCE:
                    yield variants, index
                    variants, index, places, size = [], [], {}, 0
                places[key] = len(variants)
                variants.append(variant)
                size += length
            index.append(places[key])
    yield variants, index


class _HidingUnion(BaseEstimator):
    """A fitted EmbeddingUnion that embeds once and can hide one of its sources."""

    def __init__(self, union):
        self.union, self._embedded = union, None
        self.names, self.hidden = list(union.named_sources_), None

    def fit(self, X, y=None):
        """Do nothing: the union is fitted."""
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        """Return the vectors of the sources; a hidden source knows no word."""
        if self._embedded is None:
            self._embedded = self.union.transform(X)
        return _hide(self._embedded, self.hidden, self.names)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the union."""
        return self.union.get_feature_names_out(input_features)


def _hide(embedded, source, sources):
    """Return embedded sequences in which no vector of a source is known."""
    blocks = [
        Block(b.name, np.zeros((b.n_rows, b.dim)), b.level, np.zeros(b.n_rows))
        if source is not None and source_of(b.name, sources) == source
        else b
        for b in embedded.blocks
    ]
    return embedded.with_blocks(blocks)


def _without_sources(estimator, X):
    """Return the values without each source of the estimator's unions, by name."""
    if isinstance(X, EmbeddedSequences):
        outputs = Outputs(estimator)
        return {name: outputs(_hide(X, name, X.names)) for name in X.names}
    unions = []

    def replace(step):
        if not hasattr(step, "named_sources_"):
            return step
        unions.append(_HidingUnion(step))
        return unions[-1]

    outputs = Outputs(replace_steps(estimator, replace))
    values = {}
    for name in dict.fromkeys(name for union in unions for name in union.names):
        for union in unions:
            union.hidden = name
        values[name] = outputs(X)
    return values


def _without_columns(texts, background, outputs):
    """Return mean values with each column replaced by background entries, by name."""
    X, names = texts.X, list(texts.X.columns)
    rows = np.repeat(np.arange(len(X)), len(background))
    others = np.tile(np.arange(len(background)), len(X))
    batches = np.cumsum(sizes_of(texts.tokens)[rows]) // _TOKENS_AT_ONCE
    starts = np.flatnonzero(np.diff(batches)) + 1
    values = {name: [] for name in names}
    for batch in np.split(np.arange(len(rows)), starts):
        repeated = safe_indexing(X, rows[batch])
        for name in names:
            column = safe_indexing(background[name], others[batch])
            values[name].append(outputs(with_column(repeated, name, column)))
    shape = len(X), len(background), -1
    return {
        name: np.concatenate(parts).reshape(shape).mean(axis=1)
        for name, parts in values.items()
    }
