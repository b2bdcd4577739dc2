"""Read the columns of pandas, polars and Arrow tables, arrays and lists of rows."""

from typing import NamedTuple

import numpy as np

from .._core._errors import plural, short_repr
from .._core._frames import plain_container
from .._core._optional import pandas as pd
from ..sequences._api import refuse_other_rows, rows_of_cells
from ._cells import Cells, read_cells
from ._column_format import choose_column_format, find_duplicates

_ALLOWED = (
    "Allowed are a pandas or polars DataFrame, an Arrow table, an array of shape "
    "(n_rows, n_columns) or a list of rows"
)


class Table(NamedTuple):
    """The columns of a table."""

    names: list[str]  # numbers if the columns have no names
    is_named: bool
    n_rows: int
    cells: list[Cells]


def read_table(X, names=None, *, by_name=True):
    """Return the `Table` of X, with the columns in `names`, the names in fit, if given.

    The columns of X can be in any order, unless they have no names or, with
    ``by_name=False``, had no names in fit.
    """
    frame, is_named = _as_frame(X)
    # In Arrow tables, `columns` are arrays instead of names.
    found = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    n_rows = frame.shape[0]
    if names is not None and not n_rows and not found:
        # A list without rows has no number of columns.
        return Table(names, False, 0, [Cells(np.empty(0, object)) for _ in names])
    repeated = [name for name in found if found.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{plural(len(repeated), 'column')} of the table have the same name, "
            f"{repeated[0]!r}. Rename them: X.columns = [...]."
        )
    order = range(len(found))
    if names is not None and is_named and by_name:
        missing = [name for name in names if name not in found]
        levels = getattr(getattr(frame, "index", None), "names", ())
        if missing and set(missing) <= set(levels):
            # pandas restores these columns as the index with which it wrote the table.
            return read_table(frame.reset_index(missing), names)
        if missing:
            raise ValueError(
                f"The table lacks the columns {short_repr(missing)}, unlike the table "
                "in fit. Columns may be in any order."
            )
        order = [found.index(name) for name in names]
    elif names is not None and len(found) != len(names):
        raise ValueError(
            f"X has {len(found)} features, but it is expecting {len(names)} features "
            f"as input, the columns in fit: {short_repr(names)}."
        )
    if hasattr(frame, "iloc") and n_rows == 1 and _is_mixed(frame):
        # Reading two columns takes as long as reading the whole row.
        row = frame.iloc[0].tolist()
        cells = [read_cells(row[j : j + 1], found[j]) for j in order]
    else:
        cells = [read_cells(_series(frame, j), found[j]) for j in order]
    return Table([found[j] for j in order], is_named, n_rows, cells)


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
    # pandas needs objects for integers next to missing values. As objects, dates could
    # not have years before 1 or after 9999.
    return column.to_pandas(integer_object_nulls=True, date_as_object=False)


def _is_mixed(frame):
    """Return whether pandas returns a row as objects, without converting cells.

    Otherwise, integers next to categories of numbers become floats.
    """
    import pandas as pd

    kept = np.dtype | pd.StringDtype
    return any(d.kind == "O" and isinstance(d, kept) for d in frame.dtypes)


def find_kinds(X):
    """Return the kind of each column of a table, as in `Column.kind`, by name."""
    table = read_table(X)
    pairs = zip(table.names, table.cells, strict=True)
    kinds = {name: choose_column_format(cells, name).kind for name, cells in pairs}
    for position in find_duplicates(table.cells):
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
    # Otherwise, pandas would convert objects, and fail on invalid characters.
    is_number = bool(shape) and X.dtype.kind in "biuf"
    return pd.DataFrame(X, dtype=None if is_number else object), False
