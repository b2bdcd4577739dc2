"""Compare what an encoder makes of one column that came on several ways."""

import warnings

import numpy as np

from sk_metaembed import TableEncoder
from sk_metaembed.tables._table_reader import Table


def select(container, names):
    """Return columns of a container as the same kind of container, None if absent."""
    known = getattr(container, "column_names", getattr(container, "columns", ()))
    if not {*names} <= {*known}:
        return None
    is_arrow = hasattr(container, "column_names")
    return container.select(names) if is_arrow else container[names]


class Form:
    """A column as some ways hand it over: their cells are read alike.

    What encoders and models make of it is therefore the same for all of these ways.
    """

    def __init__(self, container, cells, y):
        self.container, self.cells, self.ways = container, cells, []
        self.encoder = TableEncoder(target_type="continuous", random_state=0)
        self.warnings, self.kind = [], ""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.encoder.fit(container, y)
                self.kind = self.encoder.columns_[0].kind
                self.features = self.encoder.transform(container)
            except ValueError as error:  # a single value: there are no features
                assert "no column of X differs" in str(error)
        self.warnings = [str(each.message) for each in caught]

    def silent_difference(self, other):
        """Return how the features of another form differ, "" if equal or warned of."""
        if not self.kind:
            return "" if not other.kind else f"has no features, but is {other.kind}"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            features = self.encoder.transform(other.container)
        same = np.isclose(self.features, features, rtol=1e-5, atol=1e-5, equal_nan=True)
        rows = np.flatnonzero(~same.all(axis=1))
        if not len(rows) or caught or self.warnings or other.warnings:
            return ""
        cells = self.cells[rows[0]], other.cells[rows[0]]
        return f"{len(rows)} rows differ, such as {cells[0]!r} and {cells[1]!r}"


def cells_key(container):
    """Return a key that is equal for tables whose cells are read alike."""
    return repr([_cells_key(cells) for cells in Table(container).columns()])


def _cells_key(cells):
    return cells.form, cells.values.dtype.str, cells.values.tolist()


def find_forms(columns, y):
    """Return the `Form` of each group of ways, a dict of containers of one column."""
    forms = {}
    for way, container in columns.items():
        key = cells_key(container)
        if key not in forms:
            (cells,) = Table(container).columns()
            forms[key] = Form(container, cells.values, y)
        forms[key].ways.append(way)
    return [*forms.values()]


def count_pairs(forms):
    """Return the number of pairs of ways, one to fit on and one to predict from."""
    n_ways = sum(len(form.ways) for form in forms)
    return n_ways * (n_ways - 1)


def silent_differences(forms):
    """Yield the ways of two forms, and how they differ, if nothing says so."""
    for fitted in forms:
        for other in forms:
            difference = "" if fitted is other else fitted.silent_difference(other)
            if difference:
                yield fitted.ways[0], other.ways[0], difference
