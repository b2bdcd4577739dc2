"""The notebooks that the gallery offers work, and scripts survive jupytext."""

import ast
import json
import re
from pathlib import Path

import pytest

jupytext = pytest.importorskip("jupytext")
nbformat = pytest.importorskip("nbformat")
gallery = pytest.importorskip("sphinx_gallery.gen_gallery")

from sphinx_gallery.notebook import jupyter_notebook  # noqa: E402
from sphinx_gallery.py_source_parser import split_code_and_text_blocks  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PLOTS = sorted(EXAMPLES.rglob("plot_*.py"))
LEFT_OVER = re.compile(r":\w+:`|`_(?!\w)|^\.\. \w+::", re.MULTILINE)
by_name = pytest.mark.parametrize("path", PLOTS, ids=lambda path: path.name)


def of_the_gallery(path):
    """Return an example as the notebook that its page offers."""
    _, blocks = split_code_and_text_blocks(str(path))
    conf = {**gallery.DEFAULT_GALLERY_CONF, "src_dir": str(path.parent)}
    made = jupyter_notebook(blocks, conf, str(path.parent))
    return nbformat.reads(json.dumps(made), as_version=4)


def code_of(notebook):
    """Return the code of a notebook's cells, one below the other."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return "\n".join(cells)


def statements(code):
    """Return what Python sees of a code, but for its docstring."""
    body = ast.parse(code).body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return [ast.dump(statement) for statement in body]


@by_name
def test_the_gallerys_notebook_has_all_code_and_readable_text(path):
    notebook = of_the_gallery(path)
    nbformat.validate(notebook)
    assert statements(code_of(notebook)) == statements(path.read_text("utf-8"))
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert texts[0].lstrip().startswith("# ")
    for text in texts:
        assert not LEFT_OVER.search(text), "a mark-up that Markdown does not know"


@by_name
def test_jupytext_makes_a_notebook_and_the_script_again(path):
    script = path.read_text("utf-8")
    notebook = jupytext.reads(script, "py")
    read_as = notebook.metadata["jupytext"]["text_representation"]
    assert read_as["format_name"] == "percent"
    nbformat.validate(notebook)
    assert len(notebook.cells) > 2
    saved = jupytext.writes(notebook, "ipynb")  # what --to notebook writes
    again = jupytext.writes(jupytext.reads(saved, "ipynb"), "py:percent")
    assert without_header(again).strip() == script.strip()


def without_header(script):
    """Return a script less what jupytext writes above a first cell."""
    return re.sub(r"\A(# ---\n(#.*\n)*?# ---\n\n?)?# %%\n", "", script)
