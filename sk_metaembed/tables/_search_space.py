"""search_space: parameters to search over in pipelines of texts and tables."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from .._core._named_errors import names_errors
from ..meta import StackedMetaClassifier, StackedMetaRegressor
from ..sources import EmbeddingUnion, source_subsets
from ._table_encoder import TableEncoder
from ._text_meta_encoder import TextMetaEncoder

_N_COMPONENTS = [10, 30, 100]


@names_errors
def search_space(pipeline: BaseEstimator) -> dict[str, list[Any]]:
    """Return the parameters of a text pipeline to search over.

    These are the sources of each `EmbeddingUnion`, `tfidf` of a stack, and the sources
    and number of dimensions of each `TableEncoder` and `TextMetaEncoder`, with the
    predictions of the latter. Add the parameters of other models yourself.

    Parameters
    ----------
    pipeline : estimator
        The result of `make_text_pipeline` or `make_table_pipeline`, or another
        Pipeline.

    Returns
    -------
    dict of str to list
        Lists of values by parameter, for `GridSearchCV`, `RandomizedSearchCV`,
        `HalvingGridSearchCV` and similar searches.

    Raises
    ------
    ValueError
        If the pipeline has no such parameters.

    See Also
    --------
    source_subsets : Returns subsets of at most `max_size` sources, which can replace
        those of ``active``.

    Examples
    --------
    >>> from sk_metaembed import make_text_pipeline, search_space
    >>> from sk_metaembed import FastTextEmbedding, LSAEmbedding
    >>> pipeline = make_text_pipeline(
    ...     sources=[("fasttext", FastTextEmbedding()), ("lsa", LSAEmbedding())]
    ... )
    >>> space = search_space(pipeline)
    >>> for name, values in space.items():
    ...     print(name, values)
    sources__active [('fasttext',), ('lsa',), ('fasttext', 'lsa')]
    model__tfidf [True, False]

    For searches that sample numbers and strings, such as Optuna's, sample a position:

    >>> def suggest(trial, space):
    ...     return {
    ...         name: values[trial.suggest_int(name, 0, len(values) - 1)]
    ...         for name, values in space.items()
    ...     }
    """
    parts = pipeline.get_params()
    if not hasattr(pipeline, "steps"):
        parts[""] = pipeline
    space: dict[str, list[Any]] = {}
    for name, part in parts.items():
        found = _choices(part, any(map(_is_union, parts.values())))
        prefix = f"{name}__" if name else ""
        space |= {f"{prefix}{key}": values for key, values in found.items()}
    if not space:
        raise ValueError(
            f"{type(pipeline).__name__} has no TableEncoder, TextMetaEncoder or "
            "EmbeddingUnion among its parameters. Pass the result of "
            "make_text_pipeline with sources or of make_table_pipeline, or a Pipeline "
            "with one of them."
        )
    return space


def _is_union(part):
    return isinstance(part, EmbeddingUnion)


def _choices(part, has_union):
    """Return the values to try of each parameter of one part of a pipeline."""
    if isinstance(part, TableEncoder):
        sizes = {"n_components": list(_N_COMPONENTS)}
        names = part.source_names
        return {"active": source_subsets(names), **sizes} if len(names) > 1 else sizes
    if isinstance(part, TextMetaEncoder):
        return {
            "active": source_subsets(part.source_names),
            "n_components": list(_N_COMPONENTS),
            "cv": [None, "auto" if part.cv is None else part.cv],
        }
    if _is_union(part):
        names = [name for name, _ in part.sources]
        return {"active": source_subsets(names)} if len(names) > 1 else {}
    is_stack = isinstance(part, StackedMetaClassifier | StackedMetaRegressor)
    return {"tfidf": [True, False]} if is_stack and has_union else {}
