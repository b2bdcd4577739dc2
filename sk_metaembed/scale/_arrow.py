"""Rows of pyarrow: Parquet files and folders, datasets, tables and readers."""


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

    names = list(dict.fromkeys(names))
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


def read_arrow(data, columns, keep, size):
    """Yield the texts or token lists and the copied columns of `size` rows at a time.

    The rows of several columns are a DataFrame.
    """
    from pyarrow import dataset

    names = list(dict.fromkeys([*columns, *keep]))
    if hasattr(data, "scanner"):
        scanner = data.scanner(
            columns=names, batch_size=size, batch_readahead=1, fragment_readahead=1
        )
    else:
        scanner = dataset.Scanner.from_batches(data, columns=names)
    for table in rebatch(scanner.to_batches(), scanner.projected_schema, size):
        yield _rows(table, columns), {name: table.column(name) for name in keep}


def _rows(table, columns):
    from pyarrow.types import is_dictionary

    if len(columns) > 1:
        return table.select(columns).to_pandas()
    column = table.column(columns[0])
    if is_dictionary(column.type):  # to_numpy would replace null by the first value
        column = column.cast(column.type.value_type)
    return column.to_numpy().tolist()


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

    pending, count, is_empty = [], 0, True
    for batch in batches:
        while count + batch.num_rows >= size:
            taken = size - count
            yield pa.Table.from_batches([*pending, batch.slice(0, taken)], schema)
            batch, pending, count, is_empty = batch.slice(taken), [], 0, False
        if batch.num_rows:
            pending.append(batch)
            count += batch.num_rows
    if pending or is_empty:
        yield pa.Table.from_batches(pending, schema)
