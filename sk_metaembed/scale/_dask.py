"""Run a fitted pipeline over the partitions of a dask collection."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._core._named_errors import names_errors
from ._columns import check_columns, read_columns
from ._fingerprint import pipeline_fingerprint
from ._results import Task, check_options, check_repeated, explain_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._results import Method


@names_errors
def transform_partitions(
    pipeline: Any,
    data: Any,
    *,
    column: str | Sequence[str] | None = None,
    method: Method = "transform",
    keep: str | Sequence[str] = (),
    dtype: Literal["float16", "float32", "float64"] | None = "float32",
) -> Any:
    """Run a fitted pipeline over the partitions of a dask collection, lazily.

    Use it for documents that are stored on a cluster or computed by dask. The result is
    a dask collection with the same partitions, order, index and divisions, and nothing
    is computed until it is requested. Each partition is processed by the worker that
    holds it.

    Parameters
    ----------
    pipeline : estimator
        A fitted estimator that returns one row per document. Fitting it again does not
        change collections that were created before.
    data : dask DataFrame, Series or Bag
        The documents: texts or token lists.
    column : str or list of str, default=None
        The column with the texts, for a DataFrame. With a list of names, the pipeline
        receives DataFrames of these columns.
    method : str, default="transform"
        The method of the pipeline to call: "transform", "predict", "predict_proba",
        "predict_log_proba" or "decision_function".
    keep : str or list of str, default=()
        Columns of a DataFrame to copy to the result, before the pipeline's columns.
    dtype : {"float16", "float32", "float64", None}, default="float32"
        Type of floats in the result; None for the type that the pipeline returns.
        Predictions are not converted.

    Returns
    -------
    dask DataFrame, Series or Bag
        For a DataFrame or a Series, a DataFrame with the columns of
        ``get_feature_names_out``, or a Series of predictions; for a Bag, a Bag of
        one-dimensional arrays or of predictions.

    Raises
    ------
    TypeError
        If `data` is not a supported collection. Errors of the pipeline are raised when
        the result is computed, with a note that names the partition and its index.
    ValueError
        If a column is missing or an option is invalid.
    sklearn.exceptions.NotFittedError
        If the pipeline is not fitted.

    See Also
    --------
    transform_in_batches : Files and streams on one machine, with resume.
    WordVectors : Sent to workers as a path and a fingerprint.

    Notes
    -----
    The pipeline is a single node of the graph, which each worker fetches once. Word
    vectors, transformers and ELMo files are sent by reference, so a pipeline with
    vectors of any size takes a few kilobytes. What the pipeline has learned itself,
    such as the matrix of a `Word2VecEmbedding`, is sent with the graph; use its
    exported vectors (`export_vectors`) instead.

    Names and types of the columns are determined from one empty document, which is
    processed here.

    Examples
    --------
    >>> import tempfile
    >>> import dask.dataframe as dd
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors
    >>> from sk_metaembed.scale import transform_partitions
    >>> folder = tempfile.TemporaryDirectory()
    >>> vectors = WordVectors.from_arrays(
    ...     ["tea", "milk"], np.eye(2), cache_dir=folder.name
    ... )
    >>> pipe = make_pipeline(Tokenizer(), PretrainedEmbedding(vectors), Pooling())
    >>> pipe = pipe.fit(["tea and milk"])
    >>> texts = pd.DataFrame({"text": ["tea", "milk", "tea, milk"]}, index=[3, 5, 8])
    >>> frame = dd.from_pandas(texts, npartitions=2)
    >>> lazy = transform_partitions(pipe, frame, column="text")
    >>> lazy.divisions
    (3, 8, 8)
    >>> lazy.compute(scheduler="synchronous").loc[8].tolist()
    [0.5, 0.5]
    >>> folder.cleanup()
    """
    check_options("transform_partitions", pipeline, method=method, dtype=dtype)
    if not hasattr(data, "map_partitions"):
        raise TypeError(
            f"data is a {type(data).__name__}. Allowed are a dask DataFrame with "
            "column=, a dask Series, and a dask Bag of texts or token lists. "
            "dask.dataframe.from_pandas, dask.dataframe.from_dask_array and "
            "dask.bag.from_sequence create them; transform_in_batches reads files and "
            "streams without dask."
        )
    from dask import bag as db
    from dask import delayed
    from dask.base import tokenize

    is_bag = not hasattr(data, "_meta")
    has = None if is_bag or data.ndim == 1 else list(data.columns)
    column, kept = read_columns(column, keep)
    check_columns(f"a {type(data).__name__}", has, column, kept)
    task = Task(deepcopy(pipeline), method, dtype)  # the pipeline may be fitted again
    example = data._meta_nonempty[column] if isinstance(column, list) else None
    empty = task.compute_empty(example)
    names = None
    if empty.ndim == 2 and not is_bag:
        names = task.column_names(empty.shape[1])
    check_repeated(names or ["prediction"], kept)
    partitions = _Partitions(task, column, kept, names, empty)
    name = tokenize(pipeline_fingerprint(pipeline), method, dtype, column, kept)
    node = delayed(partitions, name=f"pipeline-{name}", traverse=False)
    if is_bag:
        n = data.npartitions
        numbers = db.from_sequence(range(n), npartitions=n)
        return data.map_partitions(transform_bag, node, numbers)
    meta = partitions.to_frame(empty, data._meta.iloc[:0])
    # With enforce_metadata=True, dask sends the meta with every task.
    return data.map_partitions(transform_frame, node, meta=meta, enforce_metadata=False)


class _Partitions(NamedTuple):
    """What is computed for every partition.

    `names` are the columns of a frame, None for a Series; `empty` is the
    result for no rows.
    """

    task: Task
    column: Any
    keep: list
    names: list | None
    empty: Any

    def compute(self, rows, where):
        """Return the array of the pipeline for the rows of a partition."""
        if not len(rows):
            return self.empty
        with explain_rows(where):
            return self.task.compute(rows)

    def to_frame(self, values, frame):
        """Return values of the pipeline with the index of their rows in `frame`."""
        import pandas as pd

        if self.names is None:
            result = pd.Series(values, index=frame.index, name="prediction")
        else:
            result = pd.DataFrame(values, index=frame.index, columns=self.names)
        return pd.concat([frame[self.keep], result], axis=1) if self.keep else result


def transform_frame(frame, partitions, partition_info=None):
    """Return the DataFrame or Series for a partition (DataFrame or Series)."""
    rows = frame if partitions.column is None else frame[partitions.column]
    if not isinstance(partitions.column, list):
        rows = rows.tolist()
    where = f"partition {(partition_info or {}).get('number', 0)}"
    if len(rows):
        where += f", index {frame.index[0]!r} to {frame.index[-1]!r}"
    return partitions.to_frame(partitions.compute(rows, where), frame)


def transform_bag(items, partitions, number):
    """Return a list with a row per item; `number` yields the partition's number."""
    return list(partitions.compute(list(items), f"partition {next(iter(number))}"))
