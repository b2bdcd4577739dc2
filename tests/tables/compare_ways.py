"""Compare what an encoder makes of one column that came on several ways."""

import warnings

import numpy as np

from sk_metaembed import TableEncoder
from sk_metaembed.tables._table_reader import read_table


def select(container, names):
    """Return columns of a container as the same kind of container, None if absent."""
    known = getattr(container, "column_names", getattr(container, "columns", ()))
    if not {*names} <= {*known}:
        return None
    for method in ("select_columns", "select"):  # of datasets and Arrow
        if hasattr(container, "column_names") and hasattr(container, method):
            return getattr(container, method)(names)
    return container[names]


class Form:
    """A column as some ways hand it over: their cells are read alike.

    What encoders and models make of it is therefore the same for all of these ways.
    """

    def __init__(self, container, y):
        (cells,) = read_table(container).cells
        self.container, self.cells, self.ways = container, cells.values, []
        self.given = cells.notation  # "date", "text", ...
        self.encoder = TableEncoder(target_type="continuous", random_state=0)
        self.warnings, self.kind = [], ""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.encoder.fit(container, y)
                self.kind = self.encoder.columns_[0].kind
                self.features = self.encoder.transform(container)
            except ValueError as error:  # a single value: there are no features
                assert "no column of X differs" in str(error), error
        self.warnings = [str(each.message) for each in caught]

    def is_lost(self, losses):
        """Return whether each way is one on which information is lost."""
        return all(any(loss in way for loss in losses) for way in self.ways)

    def silent_difference(self, other):
        """Return how the features of another form differ, "" if equal or warned of."""
        if not self.kind:
            return ""  # nothing is predicted from it
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                features = self.encoder.transform(other.container)
            except TypeError as error:  # dates where fit had numbers
                assert "Convert them as in fit" in str(error)
                return ""
        same = np.isclose(self.features, features, rtol=1e-5, atol=1e-5, equal_nan=True)
        rows = np.flatnonzero(~same.all(axis=1))
        if not len(rows) or caught or self.warnings or other.warnings:
            return ""
        cells = self.cells[rows[0]], other.cells[rows[0]]
        return f"{len(rows)} rows differ, such as {cells[0]!r} and {cells[1]!r}"


def n_rows(container):
    """Return the number of rows of a container."""
    return read_table(container).n_rows


def cells_key(container):
    """Return a key that is equal for tables whose cells are read alike."""
    return repr([_cells_key(cells) for cells in read_table(container).cells])


def _cells_key(cells):
    return cells.notation, cells.values.dtype.str, cells.values.tolist()


def find_forms(containers, name, y):
    """Return the `Form` of each group of ways, and those whose cells are refused."""
    forms, refused = {}, []
    for way, container in containers.items():
        column = select(container, [name])
        if column is None:
            continue
        try:
            key = cells_key(column)
        except TypeError as error:  # bytes, such as the intervals of Parquet files
            assert "decode bytes" in str(error)
            refused.append(way)
            continue
        if key not in forms:
            forms[key] = Form(column, y)
        forms[key].ways.append(way)
    return [*forms.values()], refused


def count_pairs(forms):
    """Return the number of pairs of ways, one to fit on and one to predict from."""
    n_ways = sum(len(form.ways) for form in forms)
    return n_ways * (n_ways - 1)


def find_faults(forms, kinds, losses=()):
    """Return forms of other kinds, and pairs that differ without an error or warning.

    Forms of which each way contains one of `losses` have lost what was written.
    """
    kept = [form for form in forms if not form.is_lost(losses)]
    faults = [
        (form.ways[0], f"is {form.kind!r}") for form in kept if form.kind not in kinds
    ]
    pairs = [(a, b) for a in kept for b in kept if a is not b]
    found = [(a.ways[0], b.ways[0], a.silent_difference(b)) for a, b in pairs]
    return faults + [each for each in found if each[-1]]
