"""Rows of pyarrow: Parquet files and folders, datasets, tables and readers."""

from ._columns import all_names


def open_dataset(path, kind):
    """Return a Dataset of a file or folder, of the kind "parquet" or "ipc".

    Folders such as ``year=2024`` are columns. Only a part of one row group of Parquet
    is in memory.
    """
    from pyarrow import dataset

    if kind == "parquet":
        kind = dataset.ParquetFileFormat(
            default_fragment_scan_options=dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, pre_buffer=False
            )
        )
    return dataset.dataset(path, format=kind, partitioning="hive")


def as_arrow(source, names):
    """Return columns of a frame or a source of pyarrow, None for anything else.

    A frame is converted to a Dataset. A Dataset or RecordBatchReader is returned as is.
    """
    is_polars = hasattr(source, "to_arrow") and hasattr(source, "columns")
    is_pandas = hasattr(source, "iloc") and source.ndim == 2
    is_arrow = type(source).__module__.startswith("pyarrow")
    if not (is_polars or is_pandas or is_arrow and hasattr(source, "schema")):
        return None
    import pyarrow as pa
    from pyarrow import dataset

    if is_pandas and set(names) - set(source.columns):  # its index may be among them
        source = source.reset_index()
    if (is_pandas or is_polars) and set(names) <= set(source.columns):
        source = source[names]
    if is_pandas:
        source = pa.Table.from_pandas(source, preserve_index=False)
    elif is_polars:
        source = source.to_arrow()
    if isinstance(source, pa.Table | pa.RecordBatch):
        return dataset.dataset(source)
    return source


def read_arrow(data, column, keep, size):
    """Yield the texts or token lists and the copied columns of `size` rows at a time.

    The rows of a list of columns are a DataFrame.
    """
    from pyarrow import dataset

    names = all_names(column, keep)
    if hasattr(data, "scanner"):
        scanner = data.scanner(
            columns=names, batch_size=size, batch_readahead=1, fragment_readahead=1
        )
    else:
        scanner = dataset.Scanner.from_batches(data, columns=names)
    for table in rebatch(scanner.to_batches(), scanner.projected_schema, size):
        if isinstance(column, list):
            rows = table.select(column).to_pandas()
        else:
            rows = table.column(column).to_pylist()
        yield rows, {name: table.column(name) for name in keep}


def rebatch(batches, schema, size):
    """Yield tables of exactly `size` rows, except the last, from record batches.

    Without rows, it yields an empty table.

    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"n": range(3)}), pa.record_batch({"n": range(4)})]
    >>> tables = rebatch(batches, batches[0].schema, 5)
    >>> [table.column("n").to_pylist() for table in tables]
    [[0, 1, 2, 0, 1], [2, 3]]
    """
    import pyarrow as pa

    pending, n_rows, is_empty = [], 0, True
    for batch in batches:
        pending.append(batch)
        n_rows += batch.num_rows
        while n_rows >= size:
            table = pa.Table.from_batches(pending, schema)
            yield table.slice(0, size)
            pending = table.slice(size).to_batches()
            n_rows -= size
            is_empty = False
    if n_rows or is_empty:
        yield pa.Table.from_batches(pending, schema)
