"""Sources of pyarrow: Parquet files and folders, datasets, tables and readers."""

from ._batches import Batch, check_rows
from ._file_sources import file_identity

_LIST = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")


class ArrowRows:
    """Rows of a pyarrow Dataset, Table or RecordBatchReader.

    `columns` names the columns of texts or token lists, `keep` those to be copied;
    `missing` allows missing rows.
    """

    def __init__(self, data, columns, keep, missing=False):
        self._data, self._columns, self._keep = data, columns, keep
        self._missing = missing
        self.files = list(getattr(data, "files", ()))
        self.in_files = bool(self.files)
        self._check_columns()

    @property
    def name(self):
        """Name in messages."""
        if len(self.files) == 1:
            return self.files[0]
        return f"the {type(self._data).__name__}"

    @property
    def n_rows(self):
        """Number of rows, None if it is unknown."""
        if hasattr(self._data, "count_rows"):
            return self._data.count_rows()
        return getattr(self._data, "num_rows", None)

    def identity(self):
        """Return what identifies the source, for JSON."""
        names = [*self._columns, "", *self._keep]
        if self.files:
            return [*names, *(file_identity(file) for file in self.files)]
        return [*names, "rows", str(self._data.schema)]

    def batches(self, size, skip=0):
        """Yield a Batch per `size` rows, without the first `skip` rows.

        `skip` is a multiple of `size`, or the number of all rows.
        """
        start = 0
        for table in rebatch(self._record_batches(size), size):
            if start >= skip:
                yield self._batch(table, start)
            start += table.num_rows

    def _batch(self, table, start):
        rows = self._rows(table, start)
        copied = table.select(self._keep) if self._keep else None
        where = f"{self.name}, rows {start:,} to {start + len(rows) - 1:,}"
        return Batch(start, rows, copied, where)

    def no_rows(self):
        """Return the columns to be copied, without rows; None if there are none."""
        if not self._keep:
            return None
        import pyarrow as pa

        schema = self._data.schema
        fields = [schema.field(name) for name in self._keep]
        return pa.schema(fields).empty_table()

    def _rows(self, table, start):
        if len(self._columns) > 1:
            return table.select(self._columns).to_pandas()
        column = table.column(self._columns[0])
        if str(column.type).startswith("dictionary"):
            column = column.cast(column.type.value_type)
        if _kind(column.type) in _LIST:
            rows = column.to_pylist()
        else:
            rows = column.to_numpy().tolist()
        where = f"{self.name}, column {self._columns[0]!r}"
        check_rows(rows, lambda i: f"{where}: row {start + i:,}", self._missing)
        return rows

    def _record_batches(self, size):
        """Yield record batches of the columns."""
        from pyarrow import Table, dataset

        names = list(dict.fromkeys([*self._columns, *self._keep]))
        if hasattr(self._data, "read_next_batch"):
            for batch in self._data:
                yield batch.select(names)
            return
        data = self._data
        if isinstance(data, Table):
            data = dataset.dataset(data)
        scanner = data.scanner(columns=names, batch_size=size, **_memory_options(data))
        yield from scanner.to_batches()

    def _check_columns(self):
        import pyarrow as pa

        schema = self._data.schema
        for name in (*self._columns, *self._keep):
            if name not in schema.names:
                raise ValueError(
                    f"{self.name} has no column {name!r}; it has {schema.names}."
                )
        for name in self._columns:
            kind = schema.field(name).type
            if pa.types.is_dictionary(kind) or _kind(kind) in _LIST:
                kind = kind.value_type
            # A column without a value has the type null.
            if _kind(kind) not in ("string", "large_string", "string_view", "null"):
                raise TypeError(
                    f"Column {name!r} of {self.name} has type {kind}. It must contain "
                    "texts or lists of texts."
                )


def compact(table):
    """Return a table with its own rows only.

    A slice of a larger table is pickled with all of that table's rows.
    """
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _kind(data_type):
    return str(data_type).partition("<")[0].partition("[")[0]


def _memory_options(data):
    """Return options of a scanner that keep only part of one row group in memory."""
    from pyarrow import dataset

    options = {"batch_readahead": 1, "fragment_readahead": 1}
    formats = getattr(dataset, "ParquetFileFormat", ())
    if isinstance(getattr(data, "format", None), formats):
        options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
            use_buffered_stream=True, pre_buffer=False
        )
    return options


def rebatch(batches, size):
    """Yield tables of exactly `size` rows, except the last, from record batches.

    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"n": range(3)}), pa.record_batch({"n": range(4)})]
    >>> [table.column("n").to_pylist() for table in rebatch(batches, 5)]
    [[0, 1, 2, 0, 1], [2, 3]]
    """
    import pyarrow as pa

    pending, count = [], 0
    for batch in batches:
        while count + batch.num_rows >= size:
            taken = size - count
            yield pa.Table.from_batches([*pending, batch.slice(0, taken)])
            batch, pending, count = batch.slice(taken), [], 0
        if batch.num_rows:
            pending.append(batch)
            count += batch.num_rows
    if pending:
        yield pa.Table.from_batches(pending)
