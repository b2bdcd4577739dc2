"""Which step of a pipeline has attention weights, and what it says."""

import numpy as np

from ..sequences._steps import step_within

# Columns of the attention weights' table that are not sources.
_PLACES = ("sequence", "position", "token")


def attention_weights(estimator, X):
    """Return the weight of each source at each token, from a whole pipeline.

    The method `attention_weights` of the ``Dynamic*`` estimators expects the output of
    the steps before them. This function takes the input of the whole pipeline, such as
    raw texts, applies those steps and calls the method.

    Parameters
    ----------
    estimator : fitted estimator
        With a method `attention_weights`, or a Pipeline with such a step, a search
        (its ``best_estimator_`` is taken), or a ColumnTransformer or FeatureUnion with
        one such branch; these may be nested. Of several such steps of a Pipeline the
        first is taken.
    X : what the estimator takes
        If that is a table, the texts alone are enough: they are passed directly to the
        branch with the step, skipping the steps before the ColumnTransformer.

    Returns
    -------
    pandas.DataFrame
        As `DynamicMetaEmbedding.attention_weights` describes it.

    Raises
    ------
    TypeError
        If there is no step with `attention_weights`.
    ValueError
        If several branches have one; the message says how to pass one of them.

    See Also
    --------
    TokenWeightsDisplay : Draws the weights, word by word.
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
    step, X = attending(estimator, X, "attention_weights")
    return step.attention_weights(X)


def attending(estimator, X, whose):
    """Return the step that has attention weights, and what it is given.

    Parameters
    ----------
    estimator : fitted estimator
        As for `attention_weights`.
    X : what the estimator takes
    whose : str
        Begins the error message.

    Returns
    -------
    step : fitted estimator
    X : what the step takes
    """
    step, X = step_within(
        estimator, X, lambda step: hasattr(step, "attention_weights"), whose
    )
    if step is None:
        raise TypeError(
            f"{whose} needs an estimator with attention_weights, such as "
            "DynamicMetaEmbedding, or a Pipeline, search or ColumnTransformer with "
            f"such a step; got {type(estimator).__name__}."
        )
    return step, X


def weights_of(frame):
    """Return the sources and their weights from a table of attention weights.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    sources : list of str
    values : ndarray of shape (n_rows, n_sources)
        A row of zeros is a token that no source knows.
    """
    sources = [name for name in frame.columns if not _is_place(frame, name)]
    return sources, np.asarray(frame[sources], dtype=np.float64)


def has_sides(frame):
    """Tell whether a table of attention weights is one of pairs, with two sides."""
    # Elsewhere a source may have that name.
    return "side" in frame and set(frame["side"]) <= {"first", "second"}


def _is_place(frame, name):
    return name in _PLACES or (name == "side" and has_sides(frame))
