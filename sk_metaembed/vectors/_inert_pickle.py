"""Read the data of a pickle without running code.

No class or function is imported and none is called: what a pickle names becomes an
`Inert` record of its name, its arguments and its state. Numbers, texts, lists, dicts
and arrays of numbers are read as they are.
"""

from __future__ import annotations

import struct
from math import prod
from typing import Any

import numpy as np


class Inert:
    """An object of a pickle: what was named, called and set, and nothing run."""

    def __init__(self, name: str = "", args: Any = ()) -> None:
        self.name, self.args = name, args
        self.state: Any = None

    def get(self, attribute: str, default: Any = None) -> Any:
        """Return an attribute of the object."""
        state = self.state if isinstance(self.state, dict) else {}
        return state.get(attribute, default)


def read_pickle(data: bytes) -> Any:
    """Return the object in a pickle of protocol 2 to 5; ValueError if it is corrupt."""
    try:
        return _Reader(data).read()
    except (KeyError, IndexError, TypeError, AttributeError, struct.error) as error:
        reason = f"it is truncated or corrupt, or needs code ({error!r:.80})"
        raise ValueError(reason) from error


class _Reader:
    """The stack and the memo of a pickle."""

    def __init__(self, data):
        self.data, self.at = data, 0
        self.stack, self.marks, self.memo = [], [], {}

    def read(self):
        """Return the object on the stack when the pickle stops."""
        data, stack, memo, at = self.data, self.stack, self.memo, 0
        while True:
            code = data[at]
            at += 1
            if code in _COUNTED:
                unpack, width, decode = _COUNTED[code]
                start = at + width
                at = start + unpack(data, at)[0]
                if not start <= at <= len(data):
                    raise ValueError(f"it states {at - start:,} bytes after {start:,}")
                stack.append(decode(data[start:at]))
            elif code == _MEMOIZE:
                memo[len(memo)] = stack[-1]
            elif code in _FIXED:
                unpack, width, use = _FIXED[code]
                use(self, unpack(data, at)[0])
                at += width
            elif code == _STOP:
                return stack.pop()
            else:
                self.at = at
                self._operate(code)
                at = self.at

    def _operate(self, code):
        if code == _MARK:
            self.marks.append(len(self.stack))
        elif code in _MARKED:
            start = self.marks.pop()
            items = self.stack[start:]
            del self.stack[start:]
            _MARKED[code](self.stack, items)
        elif code == _GLOBAL:
            module, name, _ = self.data[self.at : self.at + 2000].split(b"\n", 2)
            self.stack.append(Inert(f"{module.decode()}.{name.decode()}"))
            self.at += len(module) + len(name) + 2
        else:
            _OTHERS[code](self.stack)

    def push(self, value):
        """Put a value on the stack."""
        self.stack.append(value)

    def get(self, index):
        """Put a value of the memo on the stack."""
        self.stack.append(self.memo[index])

    def put(self, index):
        """Put the last value of the stack into the memo."""
        self.memo[index] = self.stack[-1]

    def skip(self, number):
        """Ignore a number."""


def _pop(stack, n):
    items = stack[-n:]
    if len(items) < n:
        raise IndexError("the stack is empty")
    del stack[-n:]
    return items


def _set_items(target, items):
    if not isinstance(target, dict):
        raise TypeError("items of something else than a dict")
    for key, value in zip(items[::2], items[1::2], strict=True):
        if isinstance(key, str | int | float | bytes | None):  # others may nest deeply
            target[key] = value


def _extend(target, items):
    if not isinstance(target, list):
        raise TypeError("items of something else than a list")
    target.extend(items)


def _build(stack):
    target, state = _pop(stack, 2)
    if isinstance(target, Inert):
        target.state = state
    stack.append(target)


def _stack_global(stack):
    module, name = _pop(stack, 2)
    stack.append(Inert(f"{module}.{name}"))


def _call(stack):
    function, args = _pop(stack, 2)
    stack.append(Inert(function.name, args))


def _put_dict(stack, items):
    stack.append({})
    _set_items(stack[-1], items)


def _text(data):
    return data.decode("utf-8", "surrogatepass")


def _long(data):
    return int.from_bytes(data, "little", signed=True)


_MARK, _STOP, _GLOBAL, _MEMOIZE = b"(.c\x94"


def _numbered(entries):
    return {
        ord(code): (struct.Struct(form).unpack_from, struct.calcsize(form), use)
        for code, (form, use) in entries.items()
    }


# Opcodes, as in the module pickle: data after its length, numbers, and others.
_COUNTED = _numbered(
    {
        "\x8c": ("<B", _text),
        "X": ("<I", _text),
        "\x8d": ("<Q", _text),
        "U": ("<B", bytes),
        "T": ("<i", bytes),
        "C": ("<B", bytes),
        "B": ("<I", bytes),
        "\x8e": ("<Q", bytes),
        "\x96": ("<Q", bytes),
        "\x8a": ("<B", _long),
        "\x8b": ("<i", _long),
    }
)
_FIXED = _numbered(
    {
        "K": ("<B", _Reader.push),
        "M": ("<H", _Reader.push),
        "J": ("<i", _Reader.push),
        "G": (">d", _Reader.push),
        "h": ("<B", _Reader.get),
        "j": ("<I", _Reader.get),
        "q": ("<B", _Reader.put),
        "r": ("<I", _Reader.put),
        "\x80": ("<B", _Reader.skip),
        "\x95": ("<Q", _Reader.skip),
    }
)
_MARKED = {
    ord("e"): lambda stack, items: _extend(stack[-1], items),
    ord("u"): lambda stack, items: _set_items(stack[-1], items),
    ord("t"): lambda stack, items: stack.append(tuple(items)),
    ord("l"): lambda stack, items: stack.append(items),
    ord("d"): _put_dict,
    ord("1"): lambda stack, items: None,
    0x90: lambda stack, items: _extend(stack[-1], items),  # of a set, here a list
    0x91: lambda stack, items: stack.append(items),  # frozenset
}
_OTHERS = {
    ord("N"): lambda stack: stack.append(None),
    0x88: lambda stack: stack.append(True),
    0x89: lambda stack: stack.append(False),
    ord(")"): lambda stack: stack.append(()),
    ord("]"): lambda stack: stack.append([]),
    0x8F: lambda stack: stack.append([]),  # set
    ord("}"): lambda stack: stack.append({}),
    0x85: lambda stack: stack.append(tuple(_pop(stack, 1))),
    0x86: lambda stack: stack.append(tuple(_pop(stack, 2))),
    0x87: lambda stack: stack.append(tuple(_pop(stack, 3))),
    ord("a"): lambda stack: _extend(stack[-2], _pop(stack, 1)),
    ord("s"): lambda stack: _set_items(stack[-3], _pop(stack, 2)),
    ord("0"): lambda stack: stack.pop(),
    ord("2"): lambda stack: stack.append(stack[-1]),
    0x93: _stack_global,
    0x81: _call,  # NEWOBJ
    ord("R"): _call,
    ord("b"): _build,
}


def as_array(value: Any) -> np.ndarray | None:
    """Return the array that a record of NumPy's describes, None for anything else."""
    if not isinstance(value, Inert) or not value.name.startswith("numpy."):
        return None
    if value.name.endswith("._frombuffer"):  # protocol 5
        data, kind, shape, order = _values_of(value.args, 4)
    elif value.name.endswith("._reconstruct"):
        _, shape, kind, is_fortran, data = _values_of(value.state, 5)
        order = "F" if is_fortran else "C"
    else:
        return None
    dtype, data = _dtype(kind), _bytes(data)
    valid = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if dtype is None or data is None or not valid or order not in ("C", "F"):
        return None
    if len(data) != prod(shape) * dtype.itemsize:
        return None
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _values_of(values, n):
    """Return the n values of a tuple, None for each if it is something else."""
    valid = isinstance(values, tuple) and len(values) == n
    return values if valid else (None,) * n


def _bytes(value):
    """Return bytes, which protocol 2 writes as text to be encoded."""
    if isinstance(value, Inert) and value.name == "_codecs.encode":
        text, encoding = _values_of(value.args, 2)
        is_text = isinstance(text, str) and encoding == "latin1"
        return text.encode("latin1") if is_text else None
    return value if isinstance(value, bytes) else None


def _dtype(record):
    """Return the dtype of numbers that a record describes, else None."""
    if not isinstance(record, Inert) or not record.name.endswith("numpy.dtype"):
        return None
    code = record.args[0] if isinstance(record.args, tuple) and record.args else None
    state = record.state if isinstance(record.state, tuple) else ()
    order = state[1] if len(state) > 1 else "="
    if code not in _CODES or order not in _ORDERS:
        return None
    return np.dtype(code).newbyteorder(order)


_CODES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
_ORDERS = ("<", ">", "=", "|")
