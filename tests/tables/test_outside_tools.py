"""The matrix of tools with databases, spreadsheets, statistics packages and Spark."""

import os
import shutil
import warnings
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

from . import outside_tools, tools
from .compare_ways import count_pairs, find_faults, find_forms
from .test_tool_matrix import KINDS, make_target

pytestmark = pytest.mark.slow

# What tools lose, by column: parts of the names of ways. Spreadsheets and statistics
# packages have floats for integers; an RDS file of pyreadr has local times without a
# zone. pyreadstat reads the codes of labels. polars writes decimals in Avro without the
# byte of the sign. datasets writes dates and durations in JSON as milliseconds, pyarrow
# writes durations in CSV in microseconds, spreadsheets as a share of a day. pandas
# writes lists to SQLite as the addresses of their items.
_FLOATS = ["> xlsx >", "> ods >", "> dta >", "> sav >", "> xpt >", "> rds >"]
LOST = {
    "id": _FLOATS,
    "id_gap": _FLOATS,
    "amount": ["polars > avro >"],
    "grade": ["pandas > dta > pyreadstat"],
    **dict.fromkeys(["day", "moment", "moment_gap"], ["datasets > jsonl >"]),
    "zoned": ["datasets > jsonl >", "> rds >"],
    "span": ["pyarrow > csv >", "datasets > jsonl >", "> xlsx >", "> ods >"],
}
# Cells that are refused with a sentence, because they are bytes.
BYTES = {"span": ["duckdb > parquet >"], "tags": ["pandas > sqlite >"]}


@pytest.fixture(scope="module")
def table():
    return tools.make_table()


@pytest.fixture(scope="module")
def ways(table, tmp_path_factory):
    """Return the table by way; few of the ways are left without the packages."""
    missing = [n for n in ("duckdb", "openpyxl", "fastavro") if find_spec(n) is None]
    if missing:
        pytest.skip(f"{missing} are not installed: pip install '.[nightly]'")
    folder, files = tmp_path_factory.mktemp("tools"), {**outside_tools.FILES}
    with ExitStack() as stack, warnings.catch_warnings(action="ignore"):  # of tools
        if has_postgresql():
            uri = stack.enter_context(outside_tools.postgresql_server())
            files |= outside_tools.postgresql(uri)
        containers = outside_tools.CONTAINERS
        return dict(tools.hand_over(table, folder, files, containers))


def has_postgresql():
    """Return whether a server can be started, and both drivers are installed."""
    packages = "psycopg", "adbc_driver_postgresql"
    if not all(map(find_spec, packages)) or not shutil.which("initdb"):
        return False
    import pwd

    users = {user.pw_name for user in pwd.getpwall()}
    return os.geteuid() != 0 or "postgres" in users  # the server refuses root


@pytest.mark.parametrize("name", KINDS)
def test_columns(name, table, ways):
    forms, refused = find_forms(ways, name, make_target(table))
    assert all(any(part in way for part in BYTES.get(name, ())) for way in refused)
    assert count_pairs(forms) > 20
    assert not find_faults(forms, KINDS[name], LOST.get(name, ()))


def test_the_tools_are_there(ways):
    assert len(ways) > 150
