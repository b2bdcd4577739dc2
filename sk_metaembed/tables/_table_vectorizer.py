"""TableVectorizer: skrub's, for columns in any order and dates backed by Arrow."""

import skrub

from .._core._messages import short_repr


class TableVectorizer(skrub.TableVectorizer):
    """The `skrub.TableVectorizer` of `make_table_pipeline`.

    Not public. Takes columns by name, names only those that differ from the ones in
    fit, and converts dates backed by Arrow, which skrub does not read. Names are str:
    skrub reads a `DatetimeIndex` in two ways, and files cannot store dates.
    """

    def fit_transform(self, X, y=None):
        """Fit on a table and return it encoded."""
        X = _with_str_names(X)
        return super().fit_transform(_with_plain_dates(X), y)

    def transform(self, X):
        """Return a table encoded."""
        X = _with_str_names(X)
        if hasattr(X, "columns") and hasattr(self, "feature_names_in_"):
            X = _in_order(X, list(self.feature_names_in_))
        return super().transform(_with_plain_dates(X))


# Saved files and pickles name it by its room, which loads it and skrub when needed.
TableVectorizer.__module__ = "sk_metaembed.tables"


def _with_str_names(X):
    """Return a table whose columns are named by str, such as ``"2024-01-31"``."""
    if not hasattr(X, "iloc") or not hasattr(X, "columns"):
        return X
    if all(type(name) is str for name in X.columns):
        return X
    return X.set_axis([str(name) for name in X.columns], axis=1)


def _in_order(X, fitted):
    """Return a table with its columns as in fit, or raise if their names differ."""
    names = list(X.columns)
    if names == fitted or len({*names}) < len(names):
        return X
    missing = [name for name in fitted if name not in {*names}]
    additional = [name for name in names if name not in {*fitted}]
    found = []
    if missing:
        found.append(f"lacks the columns {short_repr(missing)}")
    if additional:
        found.append(f"has the additional columns {short_repr(additional)}")
    if found:
        raise ValueError(
            f"The table {' and '.join(found)}, unlike the table in fit. Columns may "
            "be in any order; select them by X[list(model.feature_names_in_)]."
        )
    order = [names.index(name) for name in fitted]
    return X.iloc[:, order] if hasattr(X, "iloc") else X[:, order]


def _with_plain_dates(X):
    """Return a table with the dates of pandas in place of those backed by Arrow."""
    dtypes = list(X.dtypes) if hasattr(X, "iloc") and hasattr(X, "columns") else []
    plain = {j: name for j, name in enumerate(map(_plain_date, dtypes)) if name}
    if plain:
        X = X.copy(deep=False)
    for j, name in plain.items():
        X.isetitem(j, X.iloc[:, j].astype(name))
    return X


def _plain_date(dtype):
    """Return the name of pandas' type for an Arrow type of dates, None for others."""
    if type(dtype).__name__ != "ArrowDtype":
        return None
    from pyarrow import types

    arrow = dtype.pyarrow_dtype
    if types.is_date(arrow):
        return "datetime64[s]"
    if not types.is_timestamp(arrow):
        return None
    return f"datetime64[{arrow.unit}{f', {arrow.tz}' if arrow.tz else ''}]"
