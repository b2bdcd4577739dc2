"""Which step of a pipeline has attention weights, and what it says.

Which source a word leans on, how strongly, and how to write that down.
"""

import numpy as np

from ..sequences._find_step import find_step

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
    step, X = find_attention_step(estimator, X, "attention_weights")
    return step.attention_weights(X)


def find_attention_step(estimator, X, caller):
    """Return the step that has attention weights, and what it is given.

    Parameters
    ----------
    estimator : fitted estimator
        As for `attention_weights`.
    X : what the estimator takes
    caller : str
        Begins the error message.

    Returns
    -------
    step : fitted estimator
    X : what the step takes
    """
    step, X = find_step(
        estimator, X, lambda step: hasattr(step, "attention_weights"), caller
    )
    if step is None:
        raise TypeError(
            f"{caller} needs an estimator with attention_weights, such as "
            "DynamicMetaEmbedding, or a Pipeline, search or ColumnTransformer with "
            f"such a step; got {type(estimator).__name__}."
        )
    return step, X


def weight_columns(frame):
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


def is_of_pairs(frame):
    """Tell whether a table of attention weights is one of pairs, with two sides."""
    # Elsewhere a source may have that name.
    return "side" in frame and set(frame["side"]) <= {"first", "second"}


def _is_place(frame, name):
    return name in _PLACES or (name == "side" and is_of_pairs(frame))


_CLOSE = 1e-6  # weights that differ by less count as equal
_PALEST, _PALER = 0.10, 0.45  # tints at the even share, and what is added at most
SYMBOLS = "●▲■◆✚▼✖"  # as the markers of `point_style`, in the same order


def dominant_source(weights):
    """Return which source each row leans on, and how strongly.

    Parameters
    ----------
    weights : ndarray of shape (n, n_sources)
        Of 0 or more; a row of zeros is a word that no source knows.

    Returns
    -------
    source : ndarray of int, shape (n,)
        -1 where several have the most, or none has any.
    strength : ndarray of shape (n,)
        The share of the weights beyond an even one, 0 to 1 for all of them; 0 where
        `source` is -1.

    Examples
    --------
    >>> dominant_source(np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]]))
    (array([ 0, -1, -1]), array([0.5, 0. , 0. ]))
    """
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
    most = shares.max(axis=1)
    several = (shares >= most[:, None] - _CLOSE).sum(axis=1) > 1
    source = np.where(several | (most == 0), -1, shares.argmax(axis=1))
    even = 1 / weights.shape[1]
    strength = (most - even) / (1 - even) if even < 1 else most
    return source, np.where(source < 0, 0.0, strength)


def blend_with_white(colour, strength):
    """Return a pale shade on which black can be read, deeper the stronger, as #rrggbb.

    Parameters
    ----------
    colour : str
        As #rrggbb.
    strength : float
        Within [0, 1].

    Examples
    --------
    >>> blend_with_white("#000000", 0.0), tint("#000000", 1.0)
    ('#e6e6e6', '#737373')
    """
    amount = _PALEST + _PALER * strength
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - amount * (255 - part)):02x}" for part in parts)


def format_weight(weight):
    """Return a weight in three characters, without the zero before the point."""
    return f"{weight:.2f}".removeprefix("0")[:3]  # a fourth would touch the symbol
