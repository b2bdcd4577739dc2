"""transform_partitions: a fitted pipeline over dask's collections."""

from sklearn.exceptions import NotFittedError

from ._batches import accepts_missing
from ._partitions import (
    Work,
    array_rows,
    bag_rows,
    carry,
    frame_rows,
)
from ._results import check_method, compute
from ._sources import listed

_DTYPES = ("float16", "float32", "float64", None)
_ALLOWED = (
    "Allowed are a dask DataFrame with column=, a dask Series, a dask Bag of texts or "
    "token lists, and a one-dimensional dask Array of texts. "
    "dask.dataframe.from_pandas and dask.bag.from_sequence make them of what is in "
    "memory; transform_in_batches takes files and streams without dask"
)


def transform_partitions(
    pipeline,
    data,
    *,
    column=None,
    method="transform",
    keep=(),
    dtype="float32",
    folder=None,
):
    """Run a fitted pipeline over the partitions of a dask collection, lazily.

    For documents that lie on a cluster, or come out of a computation in dask: what is
    given back is a dask collection as well, with the same partitions, order, index and
    divisions, and nothing is computed before it is asked for. Each partition goes
    through the pipeline on whatever worker it is on.

    Parameters
    ----------
    pipeline : estimator
        Fitted; gives a row a document. It is taken as it is now: fitting it again does
        not change what was made before.
    data : dask DataFrame, Series, Bag or Array
        The documents: texts or token lists. Arrays have one dimension.
    column : str or list of str, default=None
        Where the texts are, in a DataFrame or in a bag of dicts. With a list of names
        the pipeline gets DataFrames of these columns.
    method : str, default="transform"
        What of the pipeline is called: "transform", "predict", "predict_proba",
        "predict_log_proba" or "decision_function".
    keep : str or list of str, default=()
        Columns of a DataFrame that are carried along, before what the pipeline gives.
    dtype : {"float16", "float32", "float64", None}, default="float32"
        What floats are brought to; None for what the pipeline gives. Predictions stay
        as they are.
    folder : path-like, default=None
        Where a pipeline of more than 1 MiB is written, for workers to map into memory:
        a folder that all of them see, and yours to clear. None for ``pipelines`` below
        ``$SK_METAEMBED_CACHE`` or ``~/.cache/sk_metaembed``, where it is removed when
        this process ends.

    Returns
    -------
    dask DataFrame, Series, Bag or Array
        A DataFrame for a DataFrame or a Series, with the columns of
        ``get_feature_names_out``, and a Series of predictions; a Bag of one-dimensional
        arrays, or of predictions; an Array of shape (n, n_features), or (n,).

    Raises
    ------
    TypeError
        If `data` is nothing of the kind; when computed, if a row is neither text nor
        token list, or it is missing and no step of the pipeline has
        ``missing="empty"``. The message names the partition and the row's index.
    ValueError
        If a column is missing, or an option has no such value.
    sklearn.exceptions.NotFittedError
        If the pipeline is not fitted.

    See Also
    --------
    transform_in_batches : Files and streams on one machine, with resume.
    WordVectors : Goes to workers as a path and a fingerprint.

    Notes
    -----
    The pipeline is one node of the graph, which each worker fetches once, and which a
    process reads once; tasks name it. Word vectors, transformers and ELMo's files go by
    reference, so that a pipeline with vectors of any size takes some kilobytes. What it
    has learned itself, such as the matrix of a `Word2VecEmbedding`, goes along up to
    1 MiB, and above that is mapped from a file, one copy a machine.

    Names and types of the columns come from one empty document that is run here.

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
    _check_options(pipeline, method, dtype)
    run = _runner_of(data)
    if not (column is None or isinstance(column, str)):
        column = listed(column, "column", "transform_partitions")
    keep = listed(keep, "keep", "transform_partitions")
    _check_columns(data, column, keep)
    sample = _sample(pipeline, data, method, dtype, column)
    names = sample.columns if sample.values.ndim == 2 else None
    _check_names(names or ["prediction"], keep)
    carried = carry(pipeline, folder)
    empty, missing = sample.values[:0], accepts_missing(pipeline)
    work = Work(carried, method, dtype, column, keep, names, empty, missing)
    return run(data, work)


def _runner_of(data):
    """Return what builds the result for a collection."""
    partitioned = hasattr(data, "map_partitions") and hasattr(data, "npartitions")
    if partitioned and hasattr(data, "divisions") and hasattr(data, "_meta"):
        if data.ndim in (1, 2):
            return _of_frame
    elif partitioned and hasattr(data, "to_delayed"):
        return _of_bag
    elif hasattr(data, "map_blocks") and getattr(data, "ndim", 0) == 1:
        return _of_array
    shape = f" of {data.ndim} dimensions" if hasattr(data, "map_blocks") else ""
    raise TypeError(
        f"transform_partitions got a {type(data).__name__}{shape}. {_ALLOWED}."
    )


def _of_frame(data, work):
    meta = work.framed(work.empty, data._meta.iloc[:0])
    # Dask would send the meta with every task to hold what comes out to it.
    return data.map_partitions(
        frame_rows, _node(work), meta=meta, enforce_metadata=False
    )


def _of_bag(data, work):
    from dask.bag import from_sequence

    count = data.npartitions
    numbers = from_sequence(range(count), npartitions=count)
    return data.map_partitions(bag_rows, _node(work), numbers)


def _of_array(data, work):
    shape = {}
    if work.empty.ndim == 2:
        width = work.empty.shape[1]
        shape = {"chunks": (*data.chunks, (width,)), "new_axis": 1}
    return data.map_blocks(
        array_rows, _node(work), dtype=work.empty.dtype, meta=work.empty, **shape
    )


def _node(work):
    """Return one node of a graph, which each worker fetches once."""
    from dask import delayed
    from dask.base import tokenize

    return delayed(work, name=f"pipeline-{tokenize(work)}", traverse=False)


def _sample(pipeline, data, method, dtype, column):
    """Return the Result of one empty document."""
    documents = [""], [[]]
    if isinstance(column, list):
        documents = (data._meta_nonempty[column],)
    for document in documents:
        try:
            return compute(pipeline, method, dtype, document, "columns")
        except NotFittedError:
            raise
        except (TypeError, ValueError) as caught:
            error = caught
    error.add_note(
        "transform_partitions: names and types of the columns come from one empty "
        "document, which the pipeline does not take."
    )
    raise error


def _check_options(pipeline, method, dtype):
    check_method(pipeline, method, "transform_partitions")
    if dtype not in _DTYPES:
        raise ValueError(
            f"transform_partitions: dtype must be one of {_DTYPES}, got {dtype!r}."
        )


def _check_columns(data, column, keep):
    is_frame = hasattr(data, "divisions") and data.ndim == 2
    if is_frame:
        has = list(data.columns)
        if column is None:
            raise ValueError(
                "transform_partitions: a DataFrame has columns; column= must name the "
                f"one with the texts, or several for a step that takes a frame: {has}."
            )
        named = [column] if isinstance(column, str) else column
        missing = [name for name in (*named, *keep) if name not in has]
        if missing:
            raise ValueError(
                f"transform_partitions: the frame has no column {missing[0]!r}; it has "
                f"{has}."
            )
        return
    is_bag = not hasattr(data, "ndim")
    if keep or not (column is None or is_bag and isinstance(column, str)):
        raise ValueError(
            f"transform_partitions: a {type(data).__name__} has no columns, but "
            f"column={column!r} and keep={keep} name some. Leave both out, give a "
            "DataFrame, or for a bag of dicts one name as column."
        )


def _check_names(names, keep):
    twice = sorted(set(names) & set(keep))
    if twice:
        raise ValueError(
            f"transform_partitions: the columns {twice} of keep have the names of "
            "columns that the pipeline gives. Rename them in the frame."
        )
