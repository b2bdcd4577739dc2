"""Columns of tables by name: pandas, polars, Arrow, arrays and lists of rows."""

import numpy as np

from .._core._errors import plural, short_repr
from .._core._frames import plain_container
from .._core._optional import pandas as pd
from ..sequences._api import refuse_other_rows, rows_of_cells
from ._cells import read_cells
from ._column_format import choose_column_format, find_duplicates

_ALLOWED = (
    "Allowed are a pandas or polars DataFrame, an Arrow table, an array of shape "
    "(n_rows, n_columns) or a list of rows"
)


class Table:
    """The columns of a table.

    Parameters
    ----------
    X : DataFrame, Arrow table, array of shape (n_rows, n_columns) or list of rows

    Attributes
    ----------
    names : list of str
        Names of the columns; their numbers if there are no names.
    is_named : bool
    """

    def __init__(self, X):
        self._frame, self.is_named = _as_frame(X)
        # Arrow's `columns` are data.
        names = getattr(self._frame, "column_names", self._frame.columns)
        self.names = [str(name) for name in names]

    def __len__(self):
        return self._frame.shape[0]

    def check_names(self):
        """Raise a ValueError if two columns have the same name."""
        repeated = [name for name in self.names if self.names.count(name) > 1]
        if repeated:
            raise ValueError(
                f"{plural(len(repeated), 'column')} of the table have the same name, "
                f"{repeated[0]!r}. Rename them: X.columns = [...]."
            )

    def columns(self, names=None):
        """Return the `Cells` of columns, of all if `names` is None.

        `names` are the names in fit. The columns can be in any order; without names,
        they are in the order of fit.
        """
        order = range(len(self.names)) if names is None else self._places(names)
        frame = self._frame
        if hasattr(frame, "iloc") and len(frame) == 1 and _is_mixed(frame):
            # Reading two columns takes as long as reading the whole row.
            cells = frame.iloc[0].tolist()
            return [read_cells(cells[j : j + 1], self.names[j]) for j in order]
        return [read_cells(_series(frame, j), self.names[j]) for j in order]

    def _places(self, names):
        if not self.is_named:
            if len(self.names) != len(names):
                raise ValueError(
                    f"X has {len(self.names)} features, but it is expecting "
                    f"{len(names)} features as input, the columns in fit: "
                    f"{short_repr(names)}."
                )
            return range(len(names))
        missing = [name for name in names if name not in self.names]
        levels = getattr(getattr(self._frame, "index", None), "names", ())
        if missing and set(missing) <= set(levels):
            # pandas restores these columns as the index with which it wrote the table.
            self.__init__(self._frame.reset_index(missing))
            return self._places(names)
        if missing:
            raise ValueError(
                f"The table lacks the columns {short_repr(missing)}, unlike the table "
                "in fit. Columns may be in any order."
            )
        return [self.names.index(name) for name in names]


def _series(frame, j):
    """Return a column as an array or Series of pandas, polars or NumPy."""
    if hasattr(frame, "to_series"):
        return frame.to_series(j)
    if not hasattr(frame, "iloc"):
        return _arrow_values(frame.column(j))
    column = frame.iloc[:, j]
    if hasattr(column.dtype, "pyarrow_dtype"):
        import pyarrow as pa

        return _arrow_values(pa.array(column))
    return column


def _arrow_values(column):
    """Return an Arrow array as a Series, or an array of lists and other objects."""
    import pyarrow as pa
    import pyarrow.compute

    if pa.types.is_run_end_encoded(column.type):
        return _arrow_values(pyarrow.compute.run_end_decode(column))
    if pa.types.is_time64(column.type):  # datetime.time has no nanoseconds
        return column.cast(pa.time64("us"), safe=False).to_pandas()
    if pa.types.is_nested(column.type) or isinstance(column.type, pa.BaseExtensionType):
        return np.fromiter(column.to_pylist(), object, len(column))
    # pandas has no integers next to missing values, other than objects. Years before 1
    # and after 9999 are no objects.
    return column.to_pandas(integer_object_nulls=True, date_as_object=False)


def _is_mixed(frame):
    """Return whether pandas returns a row as objects, with cells as they are.

    Otherwise, integers next to categories of numbers become floats.
    """
    import pandas as pd

    kept = np.dtype | pd.StringDtype
    return any(d.kind == "O" and isinstance(d, kept) for d in frame.dtypes)


def find_kinds(X):
    """Return the kind of each column of a table by its name, as `Column.kind`."""
    table = Table(X)
    cells = table.columns()
    pairs = zip(table.names, cells, strict=True)
    kinds = {name: choose_column_format(each, name).kind for name, each in pairs}
    for position in find_duplicates(cells):
        kinds[table.names[position]] = "duplicate"
    return kinds


def _as_frame(X):
    """Return a DataFrame or Arrow table, and whether X names its columns."""
    X = plain_container(X)
    if hasattr(X, "__array__") and not hasattr(X, "shape"):
        X = np.asarray(X)
    refuse_other_rows(X, rows="tables", allowed=_ALLOWED)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        return X, True
    if hasattr(X, "to_frame"):  # a Series
        return _as_frame(X.to_frame())
    shape = getattr(X, "shape", ())
    X = X if shape else list(X)
    n_dimensions = len(shape) or 2 - any(map(np.isscalar, X))
    if n_dimensions != 2:
        raise ValueError(
            f"Expected 2D array, got {n_dimensions}D array instead: an array of shape "
            f"{np.shape(X)}. Reshape your data: a single column is "
            f"X.reshape(-1, 1). {_ALLOWED}."
        )
    if not shape:
        X = rows_of_cells(X, _ALLOWED)
    if shape and X.dtype.kind == "c":
        raise ValueError("Complex data not supported: pass real and imaginary parts.")
    # pandas would convert objects, and fails on characters that are not valid.
    is_number = bool(shape) and X.dtype.kind in "biuf"
    return pd.DataFrame(X, dtype=None if is_number else object), False
