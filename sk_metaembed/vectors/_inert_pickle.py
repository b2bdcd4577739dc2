"""Read the data of a pickle without running code.

No class or function is imported and none is called: what a pickle names becomes an
`Inert` record of its name, its arguments and its state. Numbers, texts, lists, dicts
and arrays of numbers are read as they are.
"""

from __future__ import annotations

import pickletools
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
        return _read(data)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        reason = f"it is truncated or corrupt, or needs code ({error!r:.80})"
        raise ValueError(reason) from error


def _read(data):
    """Run the machine of the pickle with a stack, marks on it and a memo."""
    stack, marks, memo = [], [], {}
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in _VALUES:
            stack.append(argument)
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "MARK":
            marks.append(len(stack))
        elif name in _MARKED:
            start = marks.pop()
            items = stack[start:]
            del stack[start:]
            _MARKED[name](stack, items)
        elif name in _CONVERTED:
            stack.append(_CONVERTED[name](argument))
        elif name not in ("PROTO", "FRAME", "STOP"):
            _OTHERS[name](stack)
    return stack.pop()


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


def _put_dict(stack, items):
    stack.append({})
    _set_items(stack[-1], items)


def _build(stack):
    state = stack.pop()
    if isinstance(stack[-1], Inert):
        stack[-1].state = state


def _call(stack):
    function, args = _pop(stack, 2)
    stack.append(Inert(function.name, args))


# Names of opcodes, as in the module pickletools.
_VALUES = {
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINFLOAT", "LONG1", "LONG4"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BININT", "BININT1", "BININT2"),
}
_CONVERTED = {
    "GLOBAL": lambda names: Inert(names.replace(" ", ".", 1)),
    "BINSTRING": lambda text: text.encode("latin1"),
    "SHORT_BINSTRING": lambda text: text.encode("latin1"),
    "BYTEARRAY8": bytes,
}
_MARKED = {
    "APPENDS": lambda stack, items: _extend(stack[-1], items),
    "SETITEMS": lambda stack, items: _set_items(stack[-1], items),
    "TUPLE": lambda stack, items: stack.append(tuple(items)),
    "LIST": lambda stack, items: stack.append(items),
    "DICT": _put_dict,
    "POP_MARK": lambda stack, items: None,
    "ADDITEMS": lambda stack, items: _extend(stack[-1], items),  # a set is a list here
    "FROZENSET": lambda stack, items: stack.append(items),
}
_OTHERS = {
    "NONE": lambda stack: stack.append(None),
    "NEWTRUE": lambda stack: stack.append(True),
    "NEWFALSE": lambda stack: stack.append(False),
    "EMPTY_TUPLE": lambda stack: stack.append(()),
    "EMPTY_LIST": lambda stack: stack.append([]),
    "EMPTY_SET": lambda stack: stack.append([]),
    "EMPTY_DICT": lambda stack: stack.append({}),
    "TUPLE1": lambda stack: stack.append(tuple(_pop(stack, 1))),
    "TUPLE2": lambda stack: stack.append(tuple(_pop(stack, 2))),
    "TUPLE3": lambda stack: stack.append(tuple(_pop(stack, 3))),
    "APPEND": lambda stack: _extend(stack[-2], _pop(stack, 1)),
    "SETITEM": lambda stack: _set_items(stack[-3], _pop(stack, 2)),
    "POP": lambda stack: stack.pop(),
    "DUP": lambda stack: stack.append(stack[-1]),
    "STACK_GLOBAL": lambda stack: stack.append(Inert("{}.{}".format(*_pop(stack, 2)))),
    "NEWOBJ": _call,
    "REDUCE": _call,
    "BUILD": _build,
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
