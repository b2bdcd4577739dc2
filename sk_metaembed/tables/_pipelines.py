"""Pipelines for texts and for tables, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import is_regressor

from ._text_meta_encoder import TextMetaEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from sklearn.pipeline import Pipeline

_CV = 5


def make_text_pipeline(
    estimator: Any = "classifier",
    sources: Sequence[Any] | None = None,
    *,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Pipeline:
    """Make a pipeline from texts to predictions, without a choice to make.

    The texts are encoded by a `TextMetaEncoder` with out-of-fold predictions, on words,
    character n-grams and the given sources.

    Parameters
    ----------
    estimator : "classifier", "regressor" or estimator, default="classifier"
        The last step. The names stand for `LogisticRegression` and `Ridge`.
    sources : list of sources or of (str, source) pairs, default=None
        Sources besides "words" and "chars", as for `TextMetaEncoder`.
    n_jobs : int, default=None
        Number of sources and models that are fitted in parallel.
    random_state : int, RandomState instance or None, default=None
        As for `TextMetaEncoder`; an `estimator` of your own has its own.

    Returns
    -------
    Pipeline
        With the steps "encoder" and "model", unfitted.

    Raises
    ------
    TypeError, ValueError
        If `estimator` is none of them.

    See Also
    --------
    make_table_pipeline : For tables with columns of other kinds.
    search_space : What to search over.

    Examples
    --------
    >>> from sk_metaembed import make_text_pipeline
    >>> texts = ["a warm film", "fine music", "a dull plot", "poor and cold"] * 10
    >>> model = make_text_pipeline(random_state=0).fit(texts, [1, 1, 0, 0] * 10)
    >>> model.predict(["warm music", "dull and cold"]).tolist()
    [1, 0]
    """
    from sklearn.pipeline import Pipeline

    _check_estimator(estimator, "make_text_pipeline")
    if isinstance(estimator, str):
        estimator = _linear_model(estimator)
    encoder = _encoder(estimator, sources, n_jobs, random_state)
    return Pipeline([("encoder", encoder), ("model", estimator)])


def make_table_pipeline(
    estimator: Any = "classifier",
    sources: Sequence[Any] | None = None,
    *,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Pipeline:
    """Make a pipeline from tables to predictions: texts, categories, dates, numbers.

    It is skrub's `tabular_pipeline` with a `TextMetaEncoder` for the columns of strings
    with many values: the other columns, missing values and scales are treated as the
    model needs it.

    Parameters
    ----------
    estimator : "classifier", "regressor" or estimator, default="classifier"
        The last step. The names stand for `HistGradientBoostingClassifier` and
        `HistGradientBoostingRegressor`.
    sources : list of sources or of (str, source) pairs, default=None
        Sources besides "words" and "chars", as for `TextMetaEncoder`.
    n_jobs : int, default=None
        Number of columns that are encoded in parallel.
    random_state : int, RandomState instance or None, default=None
        As for `TextMetaEncoder`; an `estimator` of your own has its own.

    Returns
    -------
    Pipeline
        Unfitted. The first step, "table", is a `skrub.TableVectorizer`, whose
        parameter `high_cardinality` is the `TextMetaEncoder`; the last one is "model".

    Raises
    ------
    ModuleNotFoundError
        If skrub is not installed.
    TypeError, ValueError
        If `estimator` is none of them.

    See Also
    --------
    make_text_pipeline : For texts alone.
    search_space : What to search over.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_metaembed import make_table_pipeline
    >>> table = pd.DataFrame({
    ...     "remarks": [f"engine {i} damaged" if i % 2 else f"bird {i} seen"
    ...                 for i in range(60)],
    ...     "speed": range(60),
    ... })
    >>> model = make_table_pipeline(random_state=0).fit(table, [0, 1] * 30)
    >>> model.predict(table[:2]).tolist()
    [0, 1]
    """
    from sklearn.pipeline import Pipeline

    try:
        from skrub import tabular_pipeline
    except ImportError as error:
        raise ModuleNotFoundError(
            "make_table_pipeline uses skrub for the columns that are not texts: pip "
            "install skrub. TextMetaEncoder works without it, in a ColumnTransformer.",
            name="skrub",
        ) from error
    _check_estimator(estimator, "make_table_pipeline")
    pipeline = tabular_pipeline(estimator, n_jobs=n_jobs)
    encoder = _encoder(pipeline[-1], sources, None, random_state)
    pipeline[0].set_params(high_cardinality=encoder)
    (_, table), *others, (_, model) = pipeline.steps
    return Pipeline([("table", table), *others, ("model", model)])


def _encoder(estimator, sources, n_jobs, random_state):
    """Return the TextMetaEncoder for an estimator, with predictions of its kind."""
    return TextMetaEncoder(
        sources,
        cv=_CV,
        target_type="continuous" if is_regressor(estimator) else "auto",
        n_jobs=n_jobs,
        random_state=random_state,
    )


def _check_estimator(estimator, caller):
    """Raise an error unless it is a name of one or an instance."""
    names = ("classifier", "regressor")
    if isinstance(estimator, str) and estimator not in names:
        raise ValueError(
            f'{caller}: estimator must be "classifier", "regressor" or an estimator; '
            f"got {estimator!r}."
        )
    if not isinstance(estimator, str) and (
        isinstance(estimator, type) or not hasattr(estimator, "fit")
    ):
        raise TypeError(
            f'{caller}: estimator must be "classifier", "regressor" or an instance '
            f"with fit and predict; got {estimator!r}."
        )


def _linear_model(name):
    """Return the model of a name."""
    from sklearn.linear_model import LogisticRegression, Ridge

    return LogisticRegression(max_iter=1000) if name == "classifier" else Ridge()
