"""Outputs of `transform_in_batches`: a .npy file, or a Parquet file.

An output encodes each batch as bytes, which are appended to one file, after a header,
and `finish` makes the output of that file.
"""

import base64
from io import BytesIO

import numpy as np


class NpyOutput:
    """A .npy file: a header with the shape, and the rows."""

    version = "numpy"  # every release writes the same bytes

    def __init__(self, path):
        self._path = path

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

    def header(self, spec, n_rows=0):
        """Return the bytes before those of the batches.

        NumPy pads a header, so its size does not depend on the number of rows.
        """
        file = BytesIO()
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(spec["dtype"])),
            "fortran_order": False,
            "shape": (n_rows, *spec["shape"]),
        }
        np.lib.format.write_array_header_1_0(file, header)
        return file.getvalue()

    def finish(self, spec, data, sizes, n_rows):
        """Write the number of rows to the file of all batches; return its path."""
        with open(data, "r+b") as file:
            file.write(self.header(spec, n_rows))
        return data


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

    def header(self, spec):
        """Return the bytes before those of the batches: none."""
        return b""

    def finish(self, spec, data, sizes, n_rows):
        """Write each batch of a file as a row group; return the path of the output."""
        import pyarrow as pa

        whole = data.with_name("whole")
        with (
            open(data, "rb") as batches,
            open(whole, "wb") as file,
            _parquet_writer(file, _schema_of(spec)) as writer,
        ):
            for size in sizes:
                table = pa.ipc.open_stream(batches.read(size)).read_all()
                writer.write_table(table, row_group_size=max(1, table.num_rows))
        return whole

    def _table(self, result, copied, schema):
        """Return a table of a schema, None for the first batch."""
        import pyarrow as pa

        columns = _copied_columns(copied)
        n_copied, values = len(columns), result.values
        if values.ndim == 1:
            columns.append((result.name, pa.array(values)))
        elif self._layout == "columns" or values.dtype.kind not in "fiu":
            # pyarrow would copy each strided column as well.
            arrays = [np.ascontiguousarray(column) for column in values.T]
            columns += zip(result.columns, arrays, strict=True)
        else:
            columns.append((result.name, _vector_array(values)))
        names = [name for name, _ in columns]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(
                f"{self._path.name} would have duplicate columns {sorted(repeated)}. "
                "Rename the columns passed as keep."
            )
        table = pa.table(dict(columns))
        if schema is not None:
            return _cast(table, schema)
        fields = enumerate(table.schema)  # the pipeline's columns are never null
        schema = pa.schema([field.with_nullable(i < n_copied) for i, field in fields])
        return pa.table(table.columns, schema=schema)


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
