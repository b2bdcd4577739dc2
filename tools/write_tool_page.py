"""Write the table of the page "Tables from other tools", and print what was compared.

Run ``PYTHONPATH=. python tools/write_tool_page.py`` with the packages of ``[nightly]``.
"""

import csv
import sys
import tempfile
import warnings
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from tests.tables import outside_tools, tools
from tests.tables.compare_ways import count_pairs, find_faults, find_forms
from tests.tables.test_outside_tools import LOST, has_postgresql
from tests.tables.test_tool_matrix import KINDS, make_target

_OUTPUT = Path(__file__).parents[1] / "docs/guide/tables_from_tools.csv"
_HEADER = "format", "read by", "handed over as", "other kinds, lost"
_FORMATS = {
    "dta": "Stata",
    "sav": "SPSS",
    "xpt": "SAS transport",
    "rds": "R",
    "h5": "HDF5",
    **dict.fromkeys(["json", "jsonl"], "JSON lines"),
    "csv": "CSV",
    "orc": "ORC",
    "xlsx": "Excel",
    "ods": "OpenDocument",
    "arrow": "Arrow IPC",
    "avro": "Avro",
    "parquet": "Parquet",
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
}
_PACKAGES = {
    "odf": "odfpy",
    "calamine": "python-calamine",
    "spark": "pyspark",
    "adbc": "adbc-driver-manager",
    "arro3": "arro3-core",
    "xlsxwriter": "xlsxwriter",
}
_NO_PACKAGE = {"csv": "Python", "json": "Python", "command line": "the command line"}


def main():
    """Write the table; return what differs silently."""
    table = tools.make_table()
    y = make_target(table)
    files = {**tools.FILES, **outside_tools.FILES}
    containers = {**tools.CONTAINERS, **outside_tools.CONTAINERS}
    warnings.simplefilter("ignore")  # of tools
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if has_postgresql():
            uri = stack.enter_context(outside_tools.postgresql_server())
            files |= outside_tools.postgresql(uri)
        ways = dict(tools.hand_over(table, folder, files, containers))
        forms, refused = {}, {}
        for name in KINDS:
            forms[name], refused[name] = find_forms(ways, name, y)
    faults = {
        name: find_faults(found, KINDS[name], LOST.get(name, ()))
        for name, found in forms.items()
    }
    with _OUTPUT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER)
        writer.writerows(_rows(ways, forms, refused))
    pairs = sum(map(count_pairs, forms.values()))
    print(f"{len(ways)} ways, {len(KINDS)} columns, {pairs:,} pairs of columns")
    found = [(name, *each) for name, some in faults.items() for each in some]
    print(f"silently different: {len(found)}", *found, sep="\n")
    return found


def _rows(ways, forms, refused):
    """Yield a row per format and reader."""
    places = {}
    for way in ways:
        _, suffix, reader = way.split(" > ") if " > " in way else ("", "", way)
        places.setdefault((suffix, reader), []).append(way)
    for (suffix, reader), found in places.items():
        given, made = {}, {}
        for name in KINDS:
            for way in found:
                form = _form_of(forms[name], way)
                usual = _form_of(forms[name], "pyarrow")
                is_refused = way in refused[name]
                for group, what in _remarks(form, usual, is_refused):
                    (given if group == "given" else made).setdefault(what, set()).add(
                        name
                    )
                if any(loss in way for loss in LOST.get(name, ())):
                    made.setdefault("lost", set()).add(name)
        suffix = suffix.removeprefix("spark.")
        shown = _FORMATS.get(suffix, "in memory")
        yield shown, _named(reader), _listed(given), _listed(made)


def _remarks(form, usual, is_refused):
    """Yield what a form has in place of the usual one of a column."""
    if is_refused:
        yield "made", "refused with a sentence"
    elif form is None:
        yield "given", "not kept"
    else:
        if form.given != usual.given:
            yield "given", form.given
        if form.kind != usual.kind:
            yield "made", form.kind or "constant"


def _form_of(forms, way):
    return next((form for form in forms if way in form.ways), None)


def _listed(groups):
    """Return "text: day, span; number: code" of a dict of sets."""
    order = list(KINDS)
    parts = [
        f"{what}: {', '.join(sorted(names, key=order.index))}"
        for what, names in sorted(groups.items())
    ]
    return "; ".join(parts)


def _named(tool):
    """Return the name of a tool with the versions of its packages."""
    if tool in _NO_PACKAGE:
        return _NO_PACKAGE[tool]
    package, _, detail = tool.partition(", ")
    shown = f"{package} {version(_PACKAGES.get(package, package))}"
    engine = _PACKAGES.get(detail, detail)
    if detail in ("odf", "calamine", "openpyxl", "xlsxwriter"):
        detail = f"{detail} {version(engine)}"
    return f"{shown}, {detail}" if detail else shown


if __name__ == "__main__":
    sys.exit(bool(main()))
