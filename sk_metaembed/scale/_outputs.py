"""Outputs of `transform_in_batches`: a .npy file, or a Parquet file.

An output encodes each batch as a part of its own, and a writer adds parts to the file.
Unlike the row groups of an open ``ParquetWriter``, finished parts survive a kill, so a
call that resumes writes the same bytes as one that was never interrupted.
"""

import base64

import numpy as np


class NpyOutput:
    """A .npy file: a header with the shape, and the rows."""

    def __init__(self, path):
        self._path = path

    version = "numpy"  # every release writes the same bytes

    def check(self, keep):
        """Raise ValueError if columns are to be copied."""
        if keep:
            raise ValueError(
                f"transform_in_batches: {self._path.name} is a single array and cannot "
                f"hold the columns keep={keep!r}. Write .parquet or do not pass keep."
            )

    def spec(self, result, copied):
        """Return what all batches have in common, for JSON, from the first one."""
        dtype = result.values.dtype
        if dtype.hasobject:
            raise ValueError(
                f"transform_in_batches: {self._path.name} cannot hold {result.name}s "
                "of Python objects. Write .parquet, or fit on labels that are a NumPy "
                "array of str or numbers."
            )
        return {"dtype": dtype.str, "shape": list(result.values.shape[1:])}

    def encode(self, spec, result, copied):
        """Return the bytes of a batch."""
        values, dtype = result.values, np.dtype(spec["dtype"])
        if list(values.shape[1:]) != spec["shape"] or values.dtype != dtype:
            raise ValueError(
                f"The pipeline returned {values.dtype} of shape {values.shape} after "
                f"{dtype} with rows of shape {tuple(spec['shape'])}. All batches must "
                "have the same type; .parquet can hold labels of any length."
            )
        return memoryview(np.ascontiguousarray(values)).cast("B")

    def writer(self, spec, file):
        """Return a writer of encoded batches to a binary file."""
        return _NpyWriter(spec, file)


class _NpyWriter:
    """Writes encoded batches to a .npy file."""

    def __init__(self, spec, file):
        self._spec, self._file = spec, file
        self._write_header(0)

    def add(self, data):
        """Append the bytes of a batch."""
        self._file.write(data)

    def close(self, n_rows):
        """Write the final number of rows; numpy pads headers, so their size is same."""
        self._file.seek(0)
        self._write_header(n_rows)

    def _write_header(self, n_rows):
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(self._spec["dtype"])),
            "fortran_order": False,
            "shape": (n_rows, *self._spec["shape"]),
        }
        np.lib.format.write_array_header_1_0(self._file, header)


class ParquetOutput:
    """A Parquet file with a row group per batch.

    With the layout "vector", vectors are one column of lists of equal length; with
    "columns", each dimension is a column.
    """

    def __init__(self, path, layout):
        self._path, self._layout = path, layout

    @property
    def version(self):
        """The library that writes; another release may write other bytes."""
        from pyarrow import __version__

        return f"pyarrow {__version__}"

    def check(self, keep):
        """Raise ImportError if pyarrow is not installed."""
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"transform_in_batches requires pyarrow to write {self._path.name}: "
                "pip install pyarrow. Writing .npy does not."
            ) from error

    def spec(self, result, copied):
        """Return what all batches have in common, for JSON, from the first one."""
        schema = self._table(result, copied, None).schema.remove_metadata()
        return {"schema": base64.b64encode(schema.serialize()).decode()}

    def encode(self, spec, result, copied):
        """Return the bytes of a batch, as a stream of Arrow."""
        import pyarrow as pa

        # In one chunk: batches of a source are cut differently by workers.
        table = self._table(result, copied, _schema_of(spec)).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return memoryview(sink.getvalue())

    def writer(self, spec, file):
        """Return a writer of encoded batches to a binary file."""
        return _ParquetRowGroups(_parquet_writer(file, _schema_of(spec)))

    def _table(self, result, copied, schema):
        import pyarrow as pa

        columns = _copied_columns(copied)
        values = result.values
        as_columns = values.ndim == 2 and (
            self._layout == "columns" or values.dtype.kind not in "fiu"
        )
        if as_columns:
            # pyarrow would copy each strided column as well.
            arrays = [np.ascontiguousarray(column) for column in values.T]
            columns += zip(result.columns, arrays, strict=True)
        elif values.ndim == 2:
            columns.append((result.name, _vector_array(values)))
        else:
            columns.append((result.name, pa.array(values)))
        names = [name for name, _ in columns]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(
                f"{self._path.name} would have duplicate columns {sorted(repeated)}. "
                "Rename the columns passed as keep."
            )
        table = pa.table(dict(columns))
        if schema is None:
            n_copied = len(_copied_columns(copied))
            return pa.table(
                table.columns, schema=_without_nulls(table.schema, n_copied)
            )
        return _cast(table, schema)


class _ParquetRowGroups:
    """Writes each encoded batch as a row group."""

    def __init__(self, writer):
        self._writer = writer

    def add(self, data):
        """Append the bytes of a batch."""
        import pyarrow as pa

        table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
        self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self, n_rows):
        """Write the footer."""
        self._writer.close()


def _vector_array(values):
    """Return a pyarrow FixedSizeListArray of rows, (n, dim)."""
    import pyarrow as pa

    dim = values.shape[1]
    kind = pa.from_numpy_dtype(values.dtype)
    listed = pa.list_(pa.field("element", kind, nullable=False), dim)
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, type=listed)


def _copied_columns(copied):
    if copied is None:
        return []
    if isinstance(copied, dict):
        return list(copied.items())
    return list(zip(copied.column_names, copied.columns, strict=True))


def _without_nulls(schema, n_copied):
    """Return a schema in which the pipeline's columns are never null."""
    import pyarrow as pa

    return pa.schema(
        [field.with_nullable(i < n_copied) for i, field in enumerate(schema)]
    )


def _cast(table, schema):
    import pyarrow as pa

    try:
        if table.column_names == schema.names:
            return table.cast(schema)
        problem = f"columns {table.column_names} after {schema.names}"
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        problem = f"types {table.schema.types} after {schema.types} ({error})"
    raise ValueError(
        f"The batch has {problem}. All batches must have the same columns and types."
    )


def _schema_of(spec):
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(spec["schema"])))


def _parquet_writer(file, schema):
    import pyarrow as pa
    from pyarrow import parquet

    is_vector = {
        field.name: pa.types.is_floating(field.type)
        or pa.types.is_fixed_size_list(field.type)
        for field in schema
    }
    others = [name for name, vector in is_vector.items() if not vector]
    return parquet.ParquetWriter(
        file,
        schema,
        # Vectors hardly compress and do not repeat.
        compression={
            name: "NONE" if vector else "SNAPPY" for name, vector in is_vector.items()
        },
        use_dictionary=others or False,
        write_statistics=others or False,
        write_page_index=False,
        store_schema=True,
        version="2.6",
    )
