"""Run a fitted pipeline over the partitions of a dask collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ._batches import accepts_missing, check_rows
from ._pipeline_ref import make_reference
from ._results import check_method, compute, compute_empty, explain_rows
from ._sources import column_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core._typing import StrPath
    from ._results import Method

_ALLOWED = (
    "Allowed are a dask DataFrame with column=, a dask Series, a dask Bag of texts or "
    "token lists, and a one-dimensional dask Array of texts. "
    "dask.dataframe.from_pandas and dask.bag.from_sequence create them from data in "
    "memory; transform_in_batches reads files and streams without dask"
)


def transform_partitions(
    pipeline: Any,
    data: Any,
    *,
    column: str | Sequence[str] | None = None,
    method: Method = "transform",
    keep: str | Sequence[str] = (),
    dtype: Literal["float16", "float32", "float64"] | None = "float32",
    folder: StrPath | None = None,
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
    data : dask DataFrame, Series, Bag or Array
        The documents: texts or token lists. Arrays must have one dimension.
    column : str or list of str, default=None
        The column with the texts, for a DataFrame or a bag of dicts. With a list of
        names, the pipeline receives DataFrames of these columns.
    method : str, default="transform"
        The method of the pipeline to call: "transform", "predict", "predict_proba",
        "predict_log_proba" or "decision_function".
    keep : str or list of str, default=()
        Columns of a DataFrame to copy to the result, before those of the pipeline.
    dtype : {"float16", "float32", "float64", None}, default="float32"
        Type of floats in the result; None for the type that the pipeline returns.
        Predictions are not converted.
    folder : path-like, default=None
        Where a pipeline of more than 1 MiB is written, for workers to map into memory:
        a folder that all workers can read. Its files are not removed. None sends a
        pipeline of any size with the graph.

    Returns
    -------
    dask DataFrame, Series, Bag or Array
        For a DataFrame or a Series, a DataFrame with the columns of
        ``get_feature_names_out``, or a Series of predictions; for a Bag, a Bag of
        one-dimensional arrays or of predictions; for an Array, an Array of shape
        (n, n_features) or (n,).

    Raises
    ------
    TypeError
        If `data` is not a supported collection; when computed, if a row is neither a
        text nor a token list, or is missing and no step of the pipeline has
        ``missing="empty"``. The message gives the partition and the row's index.
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
    The pipeline is a single node of the graph. Each worker fetches it once and each
    process reads it once. Word vectors, transformers and ELMo files are sent by
    reference, so a pipeline with vectors of any size takes a few kilobytes. What the
    pipeline has learned itself, such as the matrix of a `Word2VecEmbedding`, is sent
    with the graph. With `folder`, a large pipeline is mapped from a file instead, one
    copy per machine.

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
    caller = "transform_partitions"
    check_method(pipeline, method, dtype, caller)
    build = _builder_for(data)
    if not (column is None or isinstance(column, str)):
        column = column_list(column, "column", caller)
    keep_columns = column_list(keep, "keep", caller)
    _check_columns(data, column, keep_columns)
    note = (
        "transform_partitions: names and types of the columns are determined from one "
        "empty document, which the pipeline does not accept."
    )
    documents: tuple[Any, ...] = ([""], [[]])
    if isinstance(column, list):
        documents = (data._meta_nonempty[column],)
    empty = compute_empty(pipeline, method, dtype, documents, note)
    names = empty.columns if empty.values.ndim == 2 else None
    _check_names(names or ["prediction"], keep_columns)
    task = _Task(
        reference=make_reference(pipeline, folder),
        method=method,
        dtype=dtype,
        column=column,
        keep=keep_columns,
        names=names,
        empty=empty.values,
        missing=accepts_missing(pipeline),
    )
    return build(data, task)


class _Task(NamedTuple):
    """What is computed for every partition.

    `names` are those of the columns of a frame, None for a Series; `empty` is the
    result for no rows.
    """

    reference: Any
    method: str
    dtype: str | None
    column: Any
    keep: list
    names: list | None
    empty: Any
    missing: bool

    def values(self, rows, where, index=None):
        """Return the values of the pipeline for the rows of a partition.

        `where` names the partition, `index` is that of a frame.
        """
        if not len(rows):
            return self.empty

        def place(i):
            row = f"row {i}" if index is None else f"index {index[i]!r} (row {i} of it)"
            return f"transform_partitions: {where}, {row},"

        if isinstance(rows, list):
            check_rows(rows, place, self.missing)
        if index is not None:
            where += f", index {index[0]!r} to {index[-1]!r}"
        with explain_rows("transform_partitions", where):
            pipeline = self.reference.pipeline()
            return compute(pipeline, self.method, self.dtype, rows).values

    def to_frame(self, values, frame):
        """Return values of the pipeline with the index of their rows in `frame`."""
        import pandas as pd

        if self.names is None:
            result = pd.Series(values, index=frame.index, name="prediction")
        else:
            result = pd.DataFrame(values, index=frame.index, columns=self.names)
        if not self.keep:
            return result
        return pd.concat([frame[self.keep], result], axis=1)


def transform_frame(frame, task, partition_info=None):
    """Return the DataFrame or Series for a partition (DataFrame or Series)."""
    rows = frame if task.column is None else frame[task.column]
    if not isinstance(task.column, list):
        rows = rows.tolist()
    where = f"partition {(partition_info or {}).get('number', 0)}"
    return task.to_frame(task.values(rows, where, frame.index), frame)


def transform_bag(items, task, number):
    """Return a list with a row per item (str, token list or dict with the column).

    `number` yields the number of the partition.
    """
    rows, where = list(items), f"partition {next(iter(number))}"
    if task.column is not None:
        rows = [_field(item, task.column, where, i) for i, item in enumerate(rows)]
    return list(task.values(rows, where))


def transform_block(block, task, block_id=None):
    """Return the values for a block of texts, (n,) -> (n, n_features) or (n,)."""
    return task.values(block.tolist(), f"block {block_id[0] if block_id else 0}")


def _field(item, column, where, i):
    try:
        return item[column]
    except (KeyError, TypeError, IndexError):
        has = f"keys {list(item)}" if isinstance(item, dict) else f"{item!r:.60}"
        raise ValueError(
            f"transform_partitions: {where}, row {i}, has no {column!r}; it is {has}. "
            "Omit column for a bag of texts or token lists."
        ) from None


def _builder_for(data):
    """Return the function that builds the result for a collection."""
    partitioned = hasattr(data, "map_partitions") and hasattr(data, "npartitions")
    if partitioned and hasattr(data, "divisions") and hasattr(data, "_meta"):
        if data.ndim in (1, 2):
            return _build_frame
    elif partitioned and hasattr(data, "to_delayed"):
        return _build_bag
    elif hasattr(data, "map_blocks") and getattr(data, "ndim", 0) == 1:
        return _build_array
    shape = f" with {data.ndim} dimensions" if hasattr(data, "map_blocks") else ""
    raise TypeError(
        f"transform_partitions got a {type(data).__name__}{shape}. {_ALLOWED}."
    )


def _build_frame(data, task):
    meta = task.to_frame(task.empty, data._meta.iloc[:0])
    # With enforce_metadata=True, dask sends the meta with every task.
    return data.map_partitions(
        transform_frame, _node(task), meta=meta, enforce_metadata=False
    )


def _build_bag(data, task):
    from dask.bag import from_sequence

    count = data.npartitions
    numbers = from_sequence(range(count), npartitions=count)
    return data.map_partitions(transform_bag, _node(task), numbers)


def _build_array(data, task):
    shape = {}
    if task.empty.ndim == 2:
        width = task.empty.shape[1]
        shape = {"chunks": (*data.chunks, (width,)), "new_axis": 1}
    return data.map_blocks(
        transform_block, _node(task), dtype=task.empty.dtype, meta=task.empty, **shape
    )


def _node(task):
    """Return a node of a graph, which each worker fetches once."""
    from dask import delayed
    from dask.base import tokenize

    return delayed(task, name=f"pipeline-{tokenize(task)}", traverse=False)


def _check_columns(data, column, keep):
    is_frame = hasattr(data, "divisions") and data.ndim == 2
    if is_frame:
        has = list(data.columns)
        if column is None:
            raise ValueError(
                "transform_partitions: set column to the name of the column with the "
                "texts, or to a list of names for a step that accepts DataFrames; the "
                f"DataFrame has {has}."
            )
        names = [column] if isinstance(column, str) else column
        missing = [name for name in (*names, *keep) if name not in has]
        if missing:
            raise ValueError(
                f"transform_partitions: the DataFrame has no column {missing[0]!r}; it "
                f"has {has}."
            )
        return
    is_bag = not hasattr(data, "ndim")
    if keep or not (column is None or is_bag and isinstance(column, str)):
        raise ValueError(
            f"transform_partitions: a {type(data).__name__} has no columns, but "
            f"column={column!r} and keep={keep} were passed. Omit both, pass a "
            "DataFrame, or for a bag of dicts pass one name as column."
        )


def _check_names(names, keep):
    duplicates = sorted(set(names) & set(keep))
    if duplicates:
        raise ValueError(
            f"transform_partitions: keep names columns {duplicates} that the pipeline "
            "returns as well. Rename them in the DataFrame."
        )
