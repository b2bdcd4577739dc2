"""One table means the same, whatever tool hands it over, in fit and in predict."""

import warnings

import numpy as np
import pytest

from sk_metaembed import make_table_pipeline

from . import tools
from .compare_ways import count_pairs, find_forms, select, silent_differences

# The kinds of columns of `tools.make_table`, by all readers.
KINDS = {
    **dict.fromkeys(["small", "count", "count_gap", "unsigned"], {"number"}),
    **dict.fromkeys(["price", "price_gap", "single", "amount"], {"number"}),
    **dict.fromkeys(["clock", "share", "money"], {"number"}),
    # pandas reads integers beside missing ones as floats, which merge them.
    "id": {"category"},
    "id_gap": {"category", "number"},
    **dict.fromkeys(["flag", "flag_gap"], {"binary"}),
    **dict.fromkeys(["size", "size_gap", "grade", "copy"], {"category"}),
    **dict.fromkeys(["day", "moment", "moment_gap", "zoned"], {"date"}),
    # Readers of CSV files read digits as numbers, and lose zeros in front.
    "code": {"category", "number"},
    "zip": {"code", "number"},
    "name": {"code"},
    "prose": {"text"},
    "url": {"url"},
    "tags": {"list"},
    "constant": {""},
    "empty": {""},
}


@pytest.fixture(scope="module")
def table():
    return tools.make_table()


@pytest.fixture(scope="module")
def y(table):
    count = table["count"].to_numpy()
    return count + np.random.default_rng(1).normal(0, 100, len(count))


@pytest.fixture(scope="module")
def ways(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    return dict(tools.hand_over(table, folder, tools.FILES, tools.CONTAINERS))


@pytest.mark.parametrize("name", KINDS)
def test_columns(name, ways, y):
    columns = {way: select(container, [name]) for way, container in ways.items()}
    columns = {way: column for way, column in columns.items() if column is not None}
    assert len(columns) > 20
    forms = find_forms(columns, y)
    assert {form.kind for form in forms} == KINDS[name]
    assert not [*silent_differences(forms)]
