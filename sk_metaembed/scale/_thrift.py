"""Thrift's compact protocol, as far as the footers of Parquet files need it.

pyarrow writes a footer only when a file is closed, and so cannot go on with a file that
a killed process left. A footer is a tree of numbered fields; read here, a row group's
can be put behind those of others.
"""

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
