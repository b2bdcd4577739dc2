"""Attention weights from a whole pipeline, and the dominant source of each token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core._errors import prefix_errors
from .._pipelines import find_step

if TYPE_CHECKING:
    import pandas as pd

# Weights that differ by less are a tie.
_TIE_TOLERANCE = 1e-6


@prefix_errors
def attention_weights(estimator: Any, X: Any) -> pd.DataFrame:
    """Return the weight of each source at each token, from a whole pipeline.

    The method `attention_weights` of the ``Dynamic*`` estimators expects the output of
    the steps before them. This function takes the input of the whole pipeline, such as
    raw texts, applies those steps and calls the method.

    Parameters
    ----------
    estimator : fitted estimator
        With a method `attention_weights`, or a Pipeline with such a step, or a search
        (its ``best_estimator_`` is used); these may be nested. If a Pipeline has
        several such steps, the first is used.
    X : input of the estimator
        Such as texts.

    Returns
    -------
    pandas.DataFrame
        As described in `DynamicMetaEmbedding.attention_weights`.

    Raises
    ------
    TypeError
        If no step has `attention_weights`.
    ValueError
        If the step may be in a branch of a ColumnTransformer or FeatureUnion; the
        message says how to pass the branch.

    See Also
    --------
    TokenWeightsDisplay : Shows the weights, word by word.
    SourceWeightsDisplay : Draws their means, by class or frequency.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import (
    ...     DynamicMetaEmbedding, FunctionEmbedding, Pooling, Tokenizer,
    ...     make_embedding_union,
    ... )
    >>> from sk_metaembed.inspection import attention_weights
    >>> def length(words):
    ...     return [[len(word), 1] for word in words]
    >>> def capital(words):
    ...     return [[word.istitle(), 1] for word in words]
    >>> pipe = make_pipeline(
    ...     Tokenizer(),
    ...     make_embedding_union(FunctionEmbedding(length), FunctionEmbedding(capital)),
    ...     DynamicMetaEmbedding(projection_dim=2, encoder="mean", max_epochs=1),
    ...     Pooling(), LogisticRegression(),
    ... )
    >>> texts = ["good film", "bad film"] * 5
    >>> frame = attention_weights(pipe.fit(texts, [1, 0] * 5), ["A good film"])
    >>> frame["token"].tolist()
    ['a', 'good', 'film']
    >>> frame.columns.tolist()
    ['sequence', 'position', 'token', 'function-1', 'function-2']
    """
    step, inputs = find_attention_step(estimator, X)
    return step.attention_weights(inputs)


def find_attention_step(estimator, X):
    """Return the fitted step that has attention weights, and that step's input."""
    step, X = find_step(estimator, X, lambda step: hasattr(step, "attention_weights"))
    if step is None:
        raise TypeError(
            f"requires an estimator with attention_weights, such as "
            "DynamicMetaEmbedding, or a Pipeline or search with such a step; got "
            f"{type(estimator).__name__}."
        )
    return step, X


def weight_columns(frame):
    """Return names and weights (n_rows, n_sources) of the sources in a table.

    A row of zeros is a token without a vector in any source.
    """
    others = ["sequence", "position", "token", *["side"] * has_pairs(frame)]
    sources = [name for name in frame.columns if name not in others]
    return sources, np.asarray(frame[sources], dtype=np.float64)


def has_pairs(frame):
    """Return whether a table of attention weights is one of pairs, with two sides."""
    # In other tables a source may have the name "side".
    return "side" in frame and set(frame["side"]) <= {"first", "second"}


def dominant_source(weights):
    """Return the source with the largest weight per row, and its strength in [0, 1].

    The strength is 0 if all sources have equal weights, and 1 if one source has all the
    weight. The source is -1, and the strength 0, on ties and in rows of zeros.

    >>> dominant_source(np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]]))
    (array([ 0, -1, -1]), array([0.5, 0. , 0. ]))
    """
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
    largest = shares.max(axis=1)
    is_tie = (shares >= largest[:, None] - _TIE_TOLERANCE).sum(axis=1) > 1
    source = np.where(is_tie | (largest == 0), -1, shares.argmax(axis=1))
    even = 1 / weights.shape[1]
    strength = (largest - even) / (1 - even) if even < 1 else largest
    return source, np.where(source < 0, 0.0, strength)
