"""search_space: what to search over in a pipeline of texts or tables."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..meta import StackedMetaClassifier, StackedMetaRegressor
from ..sources import EmbeddingUnion, source_subsets
from ._text_meta_encoder import TextMetaEncoder

_N_COMPONENTS = [10, 30, 100]


def search_space(
    pipeline: BaseEstimator, *, max_sources: int | None = None
) -> dict[str, list[Any]]:
    """Return the parameters of a pipeline for texts that are worth a search.

    The sources of each `EmbeddingUnion`; whether a stack reads the words themselves; of
    each `TextMetaEncoder` the sources, their number of dimensions, and whether
    predictions are added. Add the parameters of other models yourself, since they
    depend on the model.

    Parameters
    ----------
    pipeline : estimator
        Such as the result of `make_text_pipeline` or `make_table_pipeline`, or a
        Pipeline of your own.
    max_sources : int, default=None
        Number of sources in the largest subsets, as for `source_subsets`. None searches
        over all subsets, 2 ** n - 1 of n sources.

    Returns
    -------
    dict of str to list
        For `GridSearchCV`, `RandomizedSearchCV`, `HalvingGridSearchCV` and other
        searches over lists of values.

    Raises
    ------
    ValueError
        If the pipeline has nothing to search over.

    See Also
    --------
    source_subsets : The subsets of sources.

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

    Searches that sample numbers and strings, such as Optuna's, choose a position:

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
        found = _choices(part, max_sources, any(map(_is_union, parts.values())))
        prefix = f"{name}__" if name else ""
        space |= {f"{prefix}{key}": values for key, values in found.items()}
    if not space:
        raise ValueError(
            f"search_space: {type(pipeline).__name__} has no TextMetaEncoder and no "
            "EmbeddingUnion among its parameters. Pass the result of "
            "make_text_pipeline with sources or of make_table_pipeline, or a Pipeline "
            "with one of them."
        )
    return space


def _is_union(part):
    return isinstance(part, EmbeddingUnion)


def _choices(part, max_sources, has_union):
    """Return the values to try of each parameter of one part of a pipeline."""
    if isinstance(part, TextMetaEncoder):
        return {
            "active": _subsets(part.source_names, max_sources),
            "n_components": list(_N_COMPONENTS),
            "cv": [None, "auto" if part.cv is None else part.cv],
        }
    if _is_union(part):
        names = [name for name, _ in part.sources]
        return {"active": _subsets(names, max_sources)} if len(names) > 1 else {}
    is_stack = isinstance(part, StackedMetaClassifier | StackedMetaRegressor)
    return {"tfidf": [True, False]} if is_stack and has_union else {}


def _subsets(names, max_sources):
    largest = None if max_sources is None else min(max_sources, len(names))
    return source_subsets(names, max_size=largest)
