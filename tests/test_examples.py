"""The examples, which `make docs`, `make demo` and people run, compile."""

from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))


def test_examples_compile_and_begin_with_a_title():
    for path in SCRIPTS:
        source = path.read_text("utf-8")
        compile(source, path.name, "exec")
        first, title, line = source.split("\n")[:3]
        assert first in ('"""', 'r"""'), path
        assert line == "=" * len(title), path
