"""search_space: what to search over in a pipeline of texts or tables."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..sources import source_subsets
from ._text_meta_encoder import TextMetaEncoder

_N_COMPONENTS = [10, 30, 100]
_FOLDS = 5


def search_space(
    pipeline: BaseEstimator, *, max_sources: int | None = None
) -> dict[str, list[Any]]:
    """Return the parameters of a pipeline's text encoders that are worth a search.

    Of each `TextMetaEncoder`: the sources, their number of dimensions, and whether
    predictions are added. Add the parameters of the model yourself, since they depend
    on it.

    Parameters
    ----------
    pipeline : estimator
        Contains a `TextMetaEncoder`, such as the result of `make_text_pipeline` or
        `make_table_pipeline`, or a Pipeline of your own.
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
        If no parameter of the pipeline is a `TextMetaEncoder`.

    See Also
    --------
    source_subsets : The subsets of sources.

    Examples
    --------
    >>> from sk_metaembed import make_text_pipeline, search_space
    >>> space = search_space(make_text_pipeline())
    >>> for name, values in space.items():
    ...     print(name, values)
    encoder__active [('words',), ('chars',), ('words', 'chars')]
    encoder__n_components [10, 30, 100]
    encoder__cv [None, 5]

    Searches that sample numbers and strings, such as Optuna's, choose a position:

    >>> def suggest(trial, space):
    ...     return {
    ...         name: values[trial.suggest_int(name, 0, len(values) - 1)]
    ...         for name, values in space.items()
    ...     }
    """
    encoders = {
        name: value
        for name, value in pipeline.get_params().items()
        if isinstance(value, TextMetaEncoder)
    }
    if isinstance(pipeline, TextMetaEncoder):
        encoders = {"": pipeline}
    if not encoders:
        raise ValueError(
            f"search_space: {type(pipeline).__name__} has no TextMetaEncoder among its "
            "parameters. Pass the result of make_text_pipeline or make_table_pipeline, "
            "or a Pipeline with a TextMetaEncoder."
        )
    space: dict[str, list[Any]] = {}
    for name, encoder in encoders.items():
        prefix = f"{name}__" if name else ""
        names = encoder.source_names
        largest = None if max_sources is None else min(max_sources, len(names))
        space[f"{prefix}active"] = source_subsets(names, max_size=largest)
        space[f"{prefix}n_components"] = list(_N_COMPONENTS)
        space[f"{prefix}cv"] = [None, _FOLDS if encoder.cv is None else encoder.cv]
    return space
