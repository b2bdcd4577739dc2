"""NpyOutput: rows one behind the other in a .npy file.

ParquetOutput: a row group a batch, made on its own and put behind the others.

Thrift's compact protocol, as far as the footers of Parquet files need it.

pyarrow writes a footer only when a file is closed, and so cannot go on with a file that
a killed process left. A footer is a tree of numbered fields; read here, a row group's
can be put behind those of others.
"""

import base64
import io

import numpy as np


class NpyOutput:
    """What a .npy file holds: a head with the shape, and the rows.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        self._path = path

    release = "numpy"  # the format has not changed in years

    def check(self, keep):
        """Refuse columns that are to be carried along."""
        if keep:
            raise ValueError(
                f"transform_in_batches: {self._path.name} is one array, and has no "
                f"place for the columns {keep!r}. Write .parquet, or leave keep out."
            )

    def spec(self, result, kept, schema=None):
        """Return what all rows have in common, as JSON has it, from the first ones."""
        dtype = result.values.dtype
        if dtype.hasobject:
            raise ValueError(
                f"transform_in_batches: {self._path.name} cannot hold {result.name}s "
                "of Python objects. Write .parquet, or fit on labels that are a numpy "
                "array of str or of numbers."
            )
        return {"dtype": dtype.str, "shape": list(result.values.shape[1:])}

    def encode(self, spec, result, kept):
        """Return the bytes of some rows, and None."""
        values, dtype = result.values, np.dtype(spec["dtype"])
        if list(values.shape[1:]) != spec["shape"] or values.dtype != dtype:
            raise ValueError(
                f"the pipeline gave {values.dtype} of shape {values.shape} after "
                f"{dtype} with rows of shape {tuple(spec['shape'])}. All batches must "
                "be alike; labels of any length fit into .parquet."
            )
        return memoryview(np.ascontiguousarray(values)).cast("B"), None

    def head(self, spec, n_rows=0):
        """Return the head; it is as long for any number of rows."""
        file = io.BytesIO()
        told = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(spec["dtype"])),
            "fortran_order": False,
            "shape": (n_rows, *spec["shape"]),
        }
        np.lib.format.write_array_header_1_0(file, told)
        return file.getvalue()

    def tail(self, spec, pieces, n_rows):
        """Return what stands behind the last row: nothing."""
        return b""


_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    1,
    2,
    3,
    7,
    8,
    9,
    10,
    11,
    12,
)
_INTEGERS = (4, 5, 6)  # of 16, 32 and 64 bits


def read_struct(data, at=0):
    """Return the fields of a struct, ``{number: (type, value)}``, and where it ends.

    Parameters
    ----------
    data : bytes
    at : int, default=0

    Returns
    -------
    fields : dict
        Lists are ``(type, [values])``, structs dicts such as this one.
    end : int

    Examples
    --------
    >>> fields = {1: (6, -3), 20: (8, b"tea"), 21: (9, (5, [1, 2]))}
    >>> read_struct(write_struct(fields))[0] == fields
    True
    """
    fields, number = {}, 0
    while data[at]:
        head, at = data[at], at + 1
        kind, step = head & 15, head >> 4
        if step:
            number += step
        else:
            number, at = _read_integer(data, at)
        value, at = _read(kind, data, at)
        fields[number] = kind, value
    return fields, at + 1


def _read(kind, data, at):
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind in _INTEGERS:
        return _read_integer(data, at)
    if kind == _BINARY:
        size, at = _read_varint(data, at)
        return bytes(data[at : at + size]), at + size
    if kind in (_LIST, _SET):
        return _read_list(data, at)
    if kind == _STRUCT:
        return read_struct(data, at)
    size = {_BYTE: 1, _DOUBLE: 8}.get(kind)
    if size is None:
        raise ValueError(f"Type {kind} does not occur in the footer of a Parquet file.")
    return bytes(data[at : at + size]), at + size


def _read_list(data, at):
    head, at = data[at], at + 1
    kind, size = head & 15, head >> 4
    if size == 15:
        size, at = _read_varint(data, at)
    values = []
    for _ in range(size):
        if kind in (_TRUE, _FALSE):  # in a list, one byte each
            value, at = data[at] == _TRUE, at + 1
        else:
            value, at = _read(kind, data, at)
        values.append(value)
    return (kind, values), at


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _read_integer(data, at):
    value, at = _read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def write_struct(fields):
    """Return the bytes of a struct.

    Parameters
    ----------
    fields : dict
        As `read_struct` gives it.

    Returns
    -------
    bytes
    """
    out, last = bytearray(), 0
    for number, (kind, value) in sorted(fields.items()):
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value else _FALSE
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            out += _integer(number)
        if kind not in (_TRUE, _FALSE):
            out += _bytes_of(kind, value)
        last = number
    out.append(0)
    return bytes(out)


def _bytes_of(kind, value):
    if kind in _INTEGERS:
        return _integer(value)
    if kind == _BINARY:
        return _varint(len(value)) + value
    if kind == _STRUCT:
        return write_struct(value)
    if kind not in (_LIST, _SET):
        return value
    inner, values = value
    short = min(len(values), 15)
    head = bytes([short << 4 | inner])
    if short == 15:
        head += _varint(len(values))
    if inner in (_TRUE, _FALSE):
        return head + bytes(_TRUE if item else _FALSE for item in values)
    return head + b"".join(_bytes_of(inner, item) for item in values)


def _varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(value):
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


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
