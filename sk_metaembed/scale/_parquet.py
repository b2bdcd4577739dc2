"""ParquetOutput: a row group a batch, made on its own and put behind the others."""

import base64

import numpy as np

from ._thrift import read_struct, write_struct

_MAGIC = b"PAR1"
# Numbers of fields in Parquet's format: offsets from the beginning of the file.
_OF_GROUP, _OF_CHUNK, _OF_COLUMN = (5,), (2, 4, 6), (9, 10, 11, 14)
_ROWS, _GROUPS, _COLUMNS, _META, _ORDINAL = 3, 4, 1, 3, 7
_MOST_ORDINALS = 2**15


class ParquetOutput:
    """What a Parquet file holds: row groups, and a footer that says where they are.

    Parameters
    ----------
    path : Path
    layout : {"vector", "columns"}
        One column of lists of equal length, or one column a dimension.
    """

    def __init__(self, path, layout):
        self._path, self._layout = path, layout

    @property
    def release(self):
        """What writes the file: another release might write other bytes."""
        from pyarrow import __version__

        return f"pyarrow {__version__}"

    def check(self, keep):
        """Say that pyarrow is needed, if it is not there."""
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"transform_in_batches needs pyarrow to write {self._path.name}: pip "
                "install pyarrow. A .npy file needs nothing."
            ) from error

    def spec(self, result, kept, schema=None):
        """Return what all rows have in common, as JSON has it, from the first ones."""
        table = self._table(result, kept, schema)
        table = table.replace_schema_metadata(None)
        _, footer = _written(table.slice(0, 0))
        head = {number: field for number, field in footer.items() if number != _GROUPS}
        return {
            "schema": _text(table.schema.serialize().to_pybytes()),
            "footer": _text(write_struct(head)),
        }

    def encode(self, spec, result, kept):
        """Return the bytes of some rows, and the entry of the footer for them."""
        import pyarrow as pa

        schema = pa.ipc.read_schema(pa.py_buffer(_bytes(spec["schema"])))
        data, footer = _written(self._table(result, kept, schema))
        _, (_, (group,)) = footer[_GROUPS]
        return data, _text(write_struct(group))

    def head(self, spec, n_rows=0):
        """Return what a file begins with."""
        return _MAGIC

    def tail(self, spec, pieces, n_rows):
        """Return the footer.

        Parameters
        ----------
        spec : dict
        pieces : iterable of (str, int)
            The entry of each row group, and where it begins.
        n_rows : int

        Returns
        -------
        bytes
        """
        footer, _ = read_struct(_bytes(spec["footer"]))
        groups = []
        for ordinal, (entry, start) in enumerate(pieces):
            group, _ = read_struct(_bytes(entry))
            _move(group, start - len(_MAGIC))
            if ordinal < _MOST_ORDINALS:
                group[_ORDINAL] = 4, ordinal
            else:
                group.pop(_ORDINAL, None)
            groups.append(group)
        footer[_ROWS] = 6, n_rows
        footer[_GROUPS] = 9, (12, groups)
        data = write_struct(footer)
        return data + len(data).to_bytes(4, "little") + _MAGIC

    def _table(self, result, kept, schema):
        import pyarrow as pa

        columns = _kept_columns(kept)
        values = result.values
        as_columns = values.ndim == 2 and (
            self._layout == "columns" or values.dtype.kind not in "fiu"
        )
        if as_columns:
            columns += zip(result.columns, _columns_of(values), strict=True)
        elif values.ndim == 2:
            columns.append((result.name, _vectors(values)))
        else:
            columns.append((result.name, pa.array(values)))
        names = [name for name, _ in columns]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(
                f"{self._path.name} would have several columns {sorted(repeated)}. "
                "Rename what keep= carries along."
            )
        table = pa.table(dict(columns))
        if schema is None:
            n_kept = len(_kept_columns(kept))
            return pa.table(table.columns, schema=_without_nulls(table.schema, n_kept))
        return _cast(table, schema)


def _vectors(values):
    import pyarrow as pa

    dim = values.shape[1]
    kind = pa.from_numpy_dtype(values.dtype)
    listed = pa.list_(pa.field("element", kind, nullable=False), dim)
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, type=listed)


def _columns_of(values):
    # Each column of its own: one that strides through the rows is copied anyway.
    return [np.ascontiguousarray(column) for column in values.T]


def _kept_columns(kept):
    if kept is None:
        return []
    if isinstance(kept, dict):
        return list(kept.items())
    return list(zip(kept.column_names, kept.columns, strict=True))


def _without_nulls(schema, n_kept):
    """Return the schema where what the pipeline gives is never missing."""
    import pyarrow as pa

    return pa.schema(
        [field.with_nullable(i < n_kept) for i, field in enumerate(schema)]
    )


def _cast(table, schema):
    import pyarrow as pa

    try:
        if table.column_names == schema.names:
            return table.cast(schema)
        told = f"columns {table.column_names} after {schema.names}"
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        told = f"{table.schema.types} after {schema.types} ({error})"
    raise ValueError(f"the batch has {told}. All batches must be alike.")


def _written(table):
    """Return the row group of a table as bytes, and the fields of its footer."""
    import pyarrow as pa
    from pyarrow import parquet

    told = {
        field.name: pa.types.is_floating(field.type)
        or pa.types.is_fixed_size_list(field.type)
        for field in table.schema
    }
    others = [name for name, is_vector in told.items() if not is_vector]
    sink = pa.BufferOutputStream()
    with parquet.ParquetWriter(
        sink,
        table.schema,
        # Vectors hardly shrink, and have no values that come again.
        compression={
            n: "NONE" if is_vector else "SNAPPY" for n, is_vector in told.items()
        },
        use_dictionary=others or False,
        write_statistics=others or False,
        write_page_index=False,
        store_schema=True,
        version="2.6",
    ) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=table.num_rows)
    data = memoryview(sink.getvalue())
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return data[len(_MAGIC) : end], read_struct(bytes(data[end:-8]))[0]


def _move(group, by):
    """Move all offsets of a row group."""
    _shift(group, _OF_GROUP, by)
    for chunk in group[_COLUMNS][1][1]:
        _shift(chunk, _OF_CHUNK, by)
        _shift(chunk[_META][1], _OF_COLUMN, by)


def _shift(fields, numbers, by):
    for number in numbers:
        kind, value = fields.get(number, (6, 0))
        if value:  # zero stands for none
            fields[number] = kind, value + by


def _text(data):
    return base64.b64encode(data).decode()


def _bytes(text):
    return base64.b64decode(text)
