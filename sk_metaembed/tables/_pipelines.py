"""Pipelines for texts and for tables, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sklearn.base import is_regressor

from .._core._errors import prefix_errors
from ..dynamic import DynamicMetaClassifier, DynamicMetaRegressor
from ..meta import StackedMetaClassifier, StackedMetaRegressor
from ..pooling import Pooling
from ..sequences import Tokenizer
from ..sources import (
    ContrastiveEmbedding,
    EmbeddingUnion,
    TrainableTransformer,
    TransformerEmbedding,
)
from ._learners import DenseScaler, accepts_missing
from ._table_encoder import TableEncoder
from ._table_model import TableClassifier, TableRegressor
from ._text_meta_encoder import TextMetaEncoder, named_sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from sklearn.pipeline import Pipeline

EFFORTS = ("low", "medium", "high")
# Parameters of a source that are copied to its trained models.
_PARAMETERS = (
    *("model", "prompt", "prompt_name", "revision", "trust_remote_code", "trusted"),
    "device",
)


def trained_models(estimator, sources, effort, random_state):
    """Return the `models` of a stack as (name, estimator) pairs, or None.

    Each `TransformerEmbedding` among the (name, source) pairs is trained. If there is
    none, a network is trained on the vectors of all sources, or on learned token
    vectors.
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {EFFORTS}; got {effort!r}.")
    if effort == "low":
        return None
    if not isinstance(estimator, str):
        raise ValueError(
            f"effort={effort!r} adds trained networks to the stack, the model of "
            f'"classifier" and "regressor"; got estimator={estimator!r} too. Use '
            'effort="low", or one of these names.'
        )
    encoders = [(n, s) for n, s in sources if isinstance(s, TransformerEmbedding)]
    is_number = estimator == "regressor"
    if not encoders:
        return [("net", _network(is_number, random_state))]
    models = []
    for name, source in encoders:
        if not is_number:
            pairs = _trained_on_pairs(source, random_state)
            models.append((f"{name}-pairs", pairs))
        if is_number or effort == "high":
            tuned = _trained_whole(source, is_number, random_state)
            models.append((f"{name}-tuned", tuned))
    return models


def _network(is_number, random_state):
    """Return a network that reads the order of tokens, unlike the linear models."""
    kind = DynamicMetaRegressor if is_number else DynamicMetaClassifier
    options = {"linear_share": 0}  # the stack has linear models of its own
    return kind(train_options=options, random_state=random_state)


def _trained_on_pairs(source, random_state):
    """Return a pipeline of an encoder, trained on pairs of texts, and a classifier."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    params = {name: getattr(source, name) for name in _PARAMETERS}
    encoder = ContrastiveEmbedding(**params, random_state=random_state)
    return make_pipeline(encoder, Pooling(), LogisticRegression(C=10, max_iter=1000))


def _trained_whole(source, is_number, random_state):
    """Return a network that trains an encoder together with its output layer."""
    kind = DynamicMetaRegressor if is_number else DynamicMetaClassifier
    encoder = TransformerEmbedding(
        **{name: getattr(source, name) for name in _PARAMETERS},
        output=source.output if source.output in ("cls", "mean") else "sentence",
        max_length=source.max_length,
        truncate=True,
        batch_tokens=source.batch_tokens,
    )
    # As measured in `benchmarks/effort.py`: numbers have no labels to smooth.
    options = {} if is_number else {"label_smoothing": 0.0}
    return kind(
        trainable=TrainableTransformer(encoder),
        # Filters read neighboring vectors, but there is one vector per text.
        encoder="max",
        head_dropout=0.2,
        train_options=options,
        device=source.device,
        random_state=random_state,
    )


@prefix_errors
def make_text_pipeline(
    estimator: Any = "classifier",
    sources: Sequence[Any] | None = None,
    *,
    effort: Literal["low", "medium", "high"] = "low",
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Pipeline:
    """Make a pipeline from texts to predictions with default settings.

    The pipeline is a stack of linear models of words and pairs of words, of characters,
    of each source, and of the concatenated sources. If tokens have a small alphabet,
    such as amino acids, states or events, there are also models of n-grams and of
    positions. It needs no files or downloads. Words and characters of texts are read in
    lower case, so only sources that read texts as they are written distinguish "US"
    from "us". Token lists are read as they are.

    Parameters
    ----------
    estimator : "classifier", "regressor" or estimator, default="classifier"
        The last step. The strings select `StackedMetaClassifier` and
        `StackedMetaRegressor`. Any other estimator receives the columns of a
        `TextMetaEncoder`, with predictions of the stack. For an estimator of
        `sklearn.semi_supervised`, -1 in y marks a row without a label.
    sources : list of sources or of (str, source) pairs, default=None
        Sources of vectors, as for `EmbeddingUnion`. Sources without a name are named
        after their class.
    effort : {"low", "medium", "high"}, default="low"
        How much time may be spent in `fit`. "low" fits linear models of frozen sources,
        in seconds. "medium" also trains a copy of each `TransformerEmbedding` on pairs
        of texts of equal and of different classes (`ContrastiveEmbedding`): minutes on
        a CPU. "high" also trains a copy with its classifier (`TrainableTransformer`):
        minutes on a GPU, tens of minutes on a CPU. For a regressor, "medium" is the
        same as "high". Without a `TransformerEmbedding`, both train a
        `DynamicMetaClassifier` or `DynamicMetaRegressor` that reads the order of tokens
        by convolutions: a minute on a CPU. Each fold of the stack has its own trained
        network, so prediction time and file size grow with the number of folds.
    n_jobs : int, default=None
        Number of sources and models that are fitted in parallel.
    random_state : int, RandomState instance or None, default=None
        Determines the folds of the stack, and the training of networks. It is not
        passed to another `estimator`.

    Returns
    -------
    Pipeline
        An unfitted pipeline with the steps "tokens", "sources" if any are passed, and
        "model"; for another estimator, "encoder" and "model".

    Raises
    ------
    TypeError, ValueError
        If `estimator` or `effort` is invalid, or if `effort` trains networks and
        `estimator` is not a stack.

    See Also
    --------
    StackedMetaClassifier : The stack, whose parameter `models` adds trained models.
    make_table_pipeline : For tables with columns of other kinds.

    Examples
    --------
    >>> from sk_metaembed import make_text_pipeline
    >>> texts = ["a warm film", "fine music", "a dull plot", "poor and cold"] * 10
    >>> model = make_text_pipeline(random_state=0).fit(texts, [1, 1, 0, 0] * 10)
    >>> model.predict(["warm music", "dull and cold"]).tolist()
    [1, 0]
    """
    from sklearn.pipeline import Pipeline

    _check_estimator(estimator)
    models = trained_models(estimator, named_sources(sources), effort, random_state)
    if not isinstance(estimator, str):
        encoder = TextMetaEncoder(
            sources,
            cv="auto",
            target_type=_target_type(estimator),
            n_jobs=n_jobs,
            random_state=random_state,
        )
        return Pipeline([("encoder", encoder), ("model", estimator)])
    kind = StackedMetaClassifier if estimator == "classifier" else StackedMetaRegressor
    steps: list[Any] = [("tokens", Tokenizer(punctuation=True, missing="empty"))]
    if sources:
        union = EmbeddingUnion(named_sources(sources), n_jobs=n_jobs)
        steps.append(("sources", union))
    model = kind(models=models, random_state=random_state, n_jobs=n_jobs)
    return Pipeline([*steps, ("model", model)])


@prefix_errors
def make_table_pipeline(
    estimator: Any = "classifier",
    sources: Sequence[Any] | None = None,
    *,
    learners: Sequence[Any] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: int | np.random.RandomState | None = None,
) -> Pipeline:
    """Make a pipeline from tables to predictions: numbers, categories, strings, dates.

    A `TableEncoder` encodes each column by what it contains; the model is a weighted
    sum of gradient boosting, extremely randomized trees and a linear model, with
    weights learned out of fold. Columns are found by name, in any order.

    Parameters
    ----------
    estimator : "classifier", "regressor" or estimator, default="classifier"
        The last step. The strings select `TableClassifier` and `TableRegressor`. Any
        other estimator receives the encoded table; if it does not accept missing
        values, they are imputed, and numbers are scaled. For an estimator of
        `sklearn.semi_supervised`, -1 in y marks a row without a label.
    sources : list of sources or of (str, source) pairs, default=None
        Sources of vectors for strings, in addition to n-grams, as for `TableEncoder`.
    learners : list of str or (str, estimator) pairs, default=None
        The learners of `TableClassifier` or `TableRegressor`, such as ``["boosting",
        "linear", ("forest", RandomForestClassifier())]``. None uses all.
    n_jobs : int, default=None
        Number of columns and learners that are fitted in parallel.
    verbose : int, default=0
        1 shows the progress of the learners.
    random_state : int, RandomState instance or None, default=None
        Determines the folds and the learners. It is not passed to another `estimator`.

    Returns
    -------
    Pipeline
        An unfitted pipeline with the steps "table" and "model", and "scaler" between
        them if the estimator does not accept missing values.

    Raises
    ------
    TypeError, ValueError
        If `estimator` is invalid.

    See Also
    --------
    make_text_pipeline : For texts alone.

    Notes
    -----
    ``fit(X, y, model__sample_weight=w)`` weights rows in the model;
    ``table__sample_weight`` weights them in the encoder. ``table__groups`` and
    ``model__groups`` keep rows of one group in one fold.

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

    _check_estimator(estimator)
    encoder = TableEncoder(
        sources,
        target_type=_target_type(estimator),
        n_jobs=n_jobs,
        random_state=random_state,
    )
    steps: list[Any] = [("table", encoder)]
    if isinstance(estimator, str):
        kind = TableClassifier if estimator == "classifier" else TableRegressor
        model = kind(n_jobs=n_jobs, verbose=verbose, random_state=random_state)
        if learners is not None:
            model.set_params(learners=learners)
        return Pipeline([*steps, ("model", model)])
    if learners is not None:
        raise ValueError(
            'learners are parts of the models "classifier" and "regressor"; got '
            f"estimator={estimator!r} too. Add it to the learners as a pair of a name "
            "and the estimator."
        )
    if not accepts_missing(estimator):
        steps.append(("scaler", DenseScaler()))
    return Pipeline([*steps, ("model", estimator)])


def _target_type(estimator):
    """Return the `target_type` of the encoder before a last step."""
    if isinstance(estimator, str):
        return "continuous" if estimator == "regressor" else "auto"
    if type(estimator).__module__.startswith("sklearn.semi_supervised"):
        return "semi-supervised"  # -1 marks rows without a label
    return "continuous" if is_regressor(estimator) else "auto"


def _check_estimator(estimator):
    """Raise an error unless the argument is the name or an instance of an estimator."""
    names = ("classifier", "regressor")
    if isinstance(estimator, str) and estimator not in names:
        raise ValueError(
            'estimator must be "classifier", "regressor" or an estimator; '
            f"got {estimator!r}."
        )
    if not isinstance(estimator, str) and (
        isinstance(estimator, type) or not hasattr(estimator, "fit")
    ):
        raise TypeError(
            'estimator must be "classifier", "regressor" or an instance '
            f"with fit and predict; got {estimator!r}."
        )
