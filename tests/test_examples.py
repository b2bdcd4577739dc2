"""Examples compile; the gallery's notebooks have all their code and readable text.

`make docs` runs them.
"""

import ast
import json
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))
PLOTS = [path for path in SCRIPTS if path.name.startswith("plot_")]
LEFT_OVER = re.compile(r":\w+:`|`_(?!\w)|^\.\. \w+::", re.MULTILINE)


def of_the_gallery(path):
    """Return an example as the notebook that its page offers."""
    gallery = pytest.importorskip("sphinx_gallery.gen_gallery")
    from sphinx_gallery.notebook import jupyter_notebook
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    _, blocks = split_code_and_text_blocks(str(path))
    conf = {**gallery.DEFAULT_GALLERY_CONF, "src_dir": str(path.parent)}
    made = jupyter_notebook(blocks, conf, str(path.parent))
    return pytest.importorskip("nbformat").reads(json.dumps(made), as_version=4)


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


@pytest.mark.parametrize("path", PLOTS, ids=lambda path: path.name)
def test_the_gallerys_notebook_has_all_code_and_readable_text(path):
    notebook = of_the_gallery(path)
    assert statements(code_of(notebook)) == statements(path.read_text("utf-8"))
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert texts[0].lstrip().startswith("# ")
    for text in texts:
        assert not LEFT_OVER.search(text), "a mark-up that Markdown does not know"


def test_examples_compile_and_begin_with_a_title():
    for path in SCRIPTS:
        source = path.read_text("utf-8")
        compile(source, path.name, "exec")
        first, title, line = source.split("\n")[:3]
        assert first in ('"""', 'r"""'), path
        assert line == "=" * len(title), path
