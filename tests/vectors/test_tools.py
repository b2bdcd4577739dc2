"""Files of vectors give what the tools that wrote them return."""

from pathlib import Path

import pytest

from .tools import NIGHTLY, TOOLS, compare, row, tool_version

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "vector_files.rst"


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in NIGHTLY else ()) for n in TOOLS],
)
def test_vectors_are_those_of_the_tool(name, tmp_path):
    tool = TOOLS[name]
    if tool_version(tool) is None:
        pytest.skip(f"{tool.package} is not installed")
    outcome = compare(tool, tmp_path)
    assert all(equal == total for equal, total in outcome), outcome
    assert " ".join(row(name, outcome)) in _rows()


def _rows():
    """Return the rows of the page's tables without the versions."""
    rows = PAGE.read_text("utf-8").split("   * - ")[1:]
    cells = [[cell.split("\n")[0] for cell in text.split("\n     - ")] for text in rows]
    return [" ".join([first, *rest[1:]]) for first, *rest in cells]
