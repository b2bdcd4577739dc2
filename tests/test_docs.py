"""The documentation's pages: their code runs, their links lead somewhere.

The examples of a page share their names, from top to bottom, and run in an empty
folder. What begins with ``>>>`` is a doctest; a ``code-block:: python`` is run. One of
class ``other-library`` or ``not-run`` is compiled only.
"""

import doctest
import re
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.utils import Bunch

import sk_metaembed
from sk_metaembed.datasets import load_bbc_news

from .test_public import SUBPACKAGES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILT = {"_build", "_generated", "api", "gallery", "_templates"}
PAGES = sorted(
    path
    for path in [*DOCS.rglob("*.rst"), *DOCS.rglob("*.md")]
    if not BUILT & set(path.relative_to(DOCS).parts)
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(
    r"^(?P<indent> *)\.\. code-block:: python\n(?P<body>(?:(?P=indent) +.*\n|\s*\n)+)",
    re.MULTILINE,
)
HAS_CODE = re.compile(r"^ *>>> |code-block:: python", re.MULTILINE)


def relative(path):
    return str(path.relative_to(DOCS))


def blocks(text):
    """Yield (line, kind, code) of a page, in order; line numbers count from 0."""
    for match in FENCE.finditer(text):
        lines = match["body"].split("\n")
        options = [line.strip() for line in lines if line.strip().startswith(":")]
        code = [line for line in lines if line.strip() not in options]
        line = text.count("\n", 0, match.start())
        body = dedented(code)
        if ">>>" in body:
            continue
        kind = "compile" if any(is_not_run(option) for option in options) else "run"
        yield line, kind, body
    for example in doctest.DocTestParser().get_examples(text):
        yield example.lineno, "doctest", example


def is_not_run(option):
    return option.startswith(":class:") and bool(
        {"other-library", "not-run"} & set(option.split())
    )


def dedented(lines):
    return textwrap.dedent("\n".join(lines)).strip() + "\n"


def test_every_page_has_a_title_and_is_in_a_toctree():
    text = "\n".join(path.read_text("utf-8") for path in PAGES)
    named = set(re.findall(r"^ {3}(?:.*<)?([\w/]+)>?$", text, re.MULTILINE))
    for path in PAGES:
        lines = [line for line in path.read_text("utf-8").split("\n") if line.strip()]
        lines = [line for line in lines if not line.startswith((".. _", ":"))]
        underlined = set(lines[1]) <= set("=") and len(lines[1]) >= len(lines[0])
        assert lines[0].startswith(("# ", "```{include}")) or underlined, path
        page = relative(path).rpartition(".")[0]
        below = page.rpartition("/")[2]
        assert page == "index" or {page, below} & named, f"{page} is in no toctree"


@pytest.fixture
def module(monkeypatch, tmp_path):
    """Return a module for the names of a page: what it defines can be pickled."""
    page = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)
    monkeypatch.chdir(tmp_path)
    return page


# Their tests run much the same code.
SLOW_PAGES = {
    "coming_from/skrub.rst",
    "guide/combining.rst",
    "guide/command_line.rst",
    "guide/dynamic.rst",
    "guide/elmo.rst",
    "guide/multilingual.rst",
    "guide/saving.rst",
    "guide/stacking.rst",
    "guide/tables.rst",
    "guide/transformers.rst",
    "start.rst",
}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (relative(path) in SLOW_PAGES))
        for path in PAGES
        if HAS_CODE.search(path.read_text("utf-8"))
    ],
    ids=relative,
)
def test_code_of_a_page_runs(path, module):
    text = path.read_text("utf-8")
    if "Word2VecEmbedding" in text:  # a search may continue without it
        pytest.importorskip("gensim")
    names = vars(module)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for line, kind, code in sorted(blocks(text), key=lambda block: block[0]):
        if kind == "doctest":
            test = doctest.DocTest([code], names, path.name, str(path), 0, text)
            test.globs = names
            output = []
            failed = runner.run(test, out=output.append, clear_globs=False).failed
            assert not failed, "".join(output)
        else:
            compiled = compile("\n" * line + code, str(path), "exec")
            if kind == "run":
                exec(compiled, names)


def test_code_of_the_readme_runs_on_a_part_of_the_articles(module, monkeypatch, capsys):
    text = (ROOT / "README.md").read_text("utf-8")
    first, *_, last = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    news = load_bbc_news()
    part = Bunch(data=news.data[::20], target=news.target[::20])
    monkeypatch.setattr(sk_metaembed.datasets, "load_bbc_news", lambda: part)

    assert sum(bool(line.strip()) for line in first.splitlines()) <= 12
    exec(first, vars(module))
    accuracies = [float(line) for line in capsys.readouterr().out.split()]
    assert len(accuracies) == 4
    assert accuracies[-1] > accuracies[0]

    exec(last, vars(module))
    assert vars(module)["search"].best_score_ > 0.7
    assert "{'embeddingunion__active': (" in capsys.readouterr().out


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("api_reference")


def test_reference_has_every_public_name_and_no_other(reference):
    public = {
        home: import_module(f"sk_metaembed.{home}").__all__ for home in SUBPACKAGES
    }
    entries = [reference.path(home, n) for home in public for n in public[home]]
    assert {*reference.entries()} == {*entries}
    for subpackage, (_, sections) in reference.SUBPACKAGES.items():
        names = [name for section in sections.values() for name in section]
        assert len(names) == len(set(names))
        assert set(names) <= set(public[subpackage])
    page = reference.page()
    for dotted in entries:
        assert re.search(rf"{re.escape(dotted)}$", page, re.MULTILINE), dotted


def test_experimental_names_are_public_and_marked(reference):
    assert len(reference.EXPERIMENTAL) > 3
    assert {*reference.EXPERIMENTAL} <= {*reference.entries()}
    for name in ("sk_metaembed.ContrastiveEmbedding", "sk_metaembed.Pooling"):
        lines = ["One line.", "", "More."]
        reference.mark_experimental(None, "class", name, None, None, lines)
        note = ".. note:: Experimental, see :doc:`/stability`."
        assert (note in lines) == (name != "sk_metaembed.Pooling")
        assert lines[0] == "One line." and lines[-2:] == ["", "More."]


def test_a_page_of_figures_is_named_after_its_script():
    pages = sorted((DOCS / "benchmarks").glob("*.md"))
    assert pages
    for page in pages:
        assert (ROOT / "benchmarks" / f"{page.stem}.py").is_file(), page.name
