"""Outputs of `transform_in_batches`: a .npy file, or a Parquet file.

An output encodes each batch as bytes, which are appended to one file, after a header,
and `finish` makes the output of that file. `spec` is what all batches have in common:
a value that is stored as JSON.
"""

from contextlib import suppress
from io import BytesIO

import numpy as np

from ._results import check_repeated


class NpyOutput:
    """A .npy file: a header with the shape, and the rows."""

    version = "numpy"  # every release writes the same bytes

    def __init__(self, path, keep):
        self._path = path
        if keep:
            raise ValueError(
                f"{path.name} is a single array and cannot hold the columns "
                f"keep={keep!r}. Write .parquet or do not pass keep."
            )

    def spec(self, values, copied):
        """Return what all batches have in common, from the first one."""
        if values.dtype.hasobject:
            raise ValueError(
                f"{self._path.name} cannot hold Python objects. Write .parquet, or fit "
                "on labels that are a NumPy array of str or numbers."
            )
        return {"dtype": values.dtype.str, "shape": list(values.shape[1:])}

    def encode(self, spec, values, copied):
        """Return the bytes of a batch."""
        if self.spec(values, copied) != spec:
            raise ValueError(
                f"The pipeline returned {values.dtype} of shape {values.shape} after "
                f"{spec['dtype']} with rows of shape {spec['shape']}. All batches must "
                "have the same type; .parquet can hold labels of any length."
            )
        return memoryview(np.ascontiguousarray(values)).cast("B")

    def header(self, spec, n_rows=0):
        """Return the bytes before the batches.

        NumPy pads a header, so its size does not depend on the number of rows.
        """
        file = BytesIO()
        shape = (n_rows, *spec["shape"])
        header = {"descr": spec["dtype"], "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        return file.getvalue()

    def finish(self, spec, data, sizes, n_rows):
        """Write the number of rows to the file of all batches; return its path."""
        with open(data, "r+b") as file:
            file.write(self.header(spec, n_rows))
        return data


class ParquetOutput:
    """A Parquet file with a row group per batch.

    Values are one column `name`, with lists of equal length if they are vectors, or a
    column per name in `class_names` if they have as many columns.
    """

    def __init__(self, path, name, class_names):
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise ImportError(
                f"pyarrow is required to write {path.name}: pip install pyarrow. "
                "Writing .npy does not require it."
            ) from error
        self.version = f"pyarrow {pyarrow.__version__}"  # which may change the bytes
        self._name, self._class_names = name, class_names

    def spec(self, values, copied):
        """Return what all batches have in common, from the first one."""
        return self._table(values, copied).schema.serialize().hex().decode()

    def encode(self, spec, values, copied):
        """Return the bytes of a batch, as a stream of Arrow."""
        import pyarrow as pa

        table = _cast(self._table(values, copied), _schema_of(spec)).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return memoryview(sink.getvalue())

    def header(self, spec):
        """Return no bytes before the batches."""
        return b""

    def finish(self, spec, data, sizes, n_rows):
        """Write each batch of a file as a row group; return the path of the output."""
        import pyarrow as pa
        from pyarrow import parquet

        whole, schema = data.with_name("whole"), _schema_of(spec)
        with (
            open(data, "rb") as batches,
            open(whole, "wb") as file,
            # The numbers of vectors do not repeat.
            parquet.ParquetWriter(file, schema, use_dictionary=False) as writer,
        ):
            for size in sizes:
                table = pa.ipc.open_stream(batches.read(size)).read_all()
                writer.write_table(table, row_group_size=table.num_rows)
        return whole

    def _table(self, values, copied):
        import pyarrow as pa

        names = [self._name]
        if values.ndim == 1:
            arrays = [pa.array(values)]
        elif values.shape[1] == len(self._class_names):
            names = self._class_names
            # pyarrow would copy each strided column as well.
            arrays = [pa.array(np.ascontiguousarray(column)) for column in values.T]
        else:
            flat = pa.array(np.ascontiguousarray(values).reshape(-1))
            arrays = [pa.FixedSizeListArray.from_arrays(flat, values.shape[1])]
        check_repeated(names, copied)
        return pa.table({**copied, **dict(zip(names, arrays, strict=True))})


def _cast(table, schema):
    """Return a table in the types of a schema, or raise if that changes a value."""
    for field in schema:
        column = table.column(field.name)
        if column.type != field.type and not _keeps_values(column, field.type):
            raise ValueError(
                f"The column {field.name!r} has values of type {column.type}, after "
                f"batches of type {field.type}. Convert them to one type in the source."
            )
    return table.cast(schema)


def _keeps_values(column, kind):
    """Return whether no value changes; Arrow reads "007" as 7, and drops fields."""
    from pyarrow import ArrowInvalid, ArrowNotImplementedError, types

    with suppress(ArrowInvalid, ArrowNotImplementedError):
        cast = column.cast(kind)
        if cast.to_pylist() == column.to_pylist():
            return True
        # Fields that a record lacks are null.
        return types.is_nested(kind) and cast.cast(column.type).equals(column)
    return False


def _schema_of(spec):
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(spec)))
