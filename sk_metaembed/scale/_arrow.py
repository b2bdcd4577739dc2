"""Sources of pyarrow: Parquet files and folders, datasets, tables and readers."""

from ._batches import Batch, changed_rows_error, check_rows, digest_rows
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

    def batches(self, size, cursor=None):
        """Yield a Batch per `size` rows, from a cursor on."""
        finished = list((cursor or {}).get("digests", ()))
        start = (cursor or {}).get("row", 0)
        if self.files:
            tables = rebatch(self._tables(size, start), size)
            finished = []
        else:  # finished rows are read again, to check that they are the same
            tables, start = rebatch(self._tables(size, 0), size), 0
        number = -1
        for number, table in enumerate(tables):
            batch = self._batch(table, start)
            if number >= len(finished):
                yield batch
            elif batch.digest != finished[number]:
                raise changed_rows_error(self.name, start, table.num_rows)
            start = batch.stop
        if number + 1 < len(finished):
            raise changed_rows_error(self.name, start, size)

    def _batch(self, table, start):
        rows = self._rows(table, start)
        copied = table.select(self._keep) if self._keep else None
        stop = start + table.num_rows
        digest = None if self.files else self._digest(rows)
        where = f"{self.name}, rows {start:,} to {stop - 1:,}"
        return Batch(start, rows, copied, {"row": stop}, where, digest)

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
        check_rows(rows, start, where, self._missing)
        return rows

    @staticmethod
    def _digest(rows):
        if hasattr(rows, "to_csv"):  # a frame
            return digest_rows([str(row) for row in rows.itertuples(index=False)])
        return digest_rows(rows)

    def _tables(self, size, skip):
        """Yield record batches of the columns, without the first `skip` rows."""
        names = list(dict.fromkeys([*self._columns, *self._keep]))
        for batch in self._record_batches(names, size, skip):
            yield batch.select(names)

    def _record_batches(self, names, size, skip):
        import pyarrow as pa

        if isinstance(self._data, pa.Table):
            yield from self._data.slice(skip).select(names).to_batches(size)
        elif hasattr(self._data, "get_fragments"):
            yield from _read_fragments(self._data, names, size, skip)
        else:
            yield from self._data

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


def _read_fragments(data, names, size, skip):
    """Yield record batches of a dataset, fragment by fragment, in order."""
    for fragment in data.get_fragments():
        if skip:
            count = fragment.count_rows()
            if count <= skip:
                skip -= count
                continue
        for batch in fragment.to_batches(
            schema=data.schema,
            columns=names,
            batch_size=size,
            **_memory_options(fragment),
        ):
            skipped = min(skip, batch.num_rows)
            skip -= skipped
            if skipped < batch.num_rows:
                yield batch.slice(skipped)


def _memory_options(fragment):
    """Return options that keep only part of one row group in memory."""
    import pyarrow.dataset as ds

    options = {"batch_readahead": 1, "fragment_readahead": 1}
    if isinstance(fragment, getattr(ds, "ParquetFileFragment", ())):
        options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
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
