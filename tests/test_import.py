"""What importing loads: nothing heavy before a step is fitted."""

import zipfile
from pathlib import Path

import pytest

import sk_metaembed

from .processes import run_script

HEAVY = {"torch", "skorch", "gensim", "transformers", "matplotlib", "numba"}
PACKAGE = "sk_metaembed"
FRAMES = {"pandas", "polars", "pyarrow"}  # scikit-learn loads those that it finds
MAKE = ["DynamicMetaClassifier", "Pooling", "Tokenizer", "Word2VecEmbedding"]


def loaded_by(code, before=""):
    """Return the modules that running code afresh loads, without those of `before`."""
    start = f"{before}\nimport sys; before = {{*sys.modules}}" if before else ""
    end = f"import sys; print(*{{*sys.modules}}{' - before' * bool(before)})"
    return set(run_script(f"{start}\n{code}\n{end}").split())


def top_level(names):
    return {name.partition(".")[0] for name in names}


def test_the_package_loads_next_to_nothing():
    loaded = top_level(loaded_by("import sk_metaembed; dir(sk_metaembed)"))
    assert not loaded & {*HEAVY, *FRAMES, "sklearn", "scipy", "numpy"}


def test_star_import_loads_little_more_than_the_base_of_scikit_learn():
    # pandas and its like come with scikit-learn's own base, where they are installed.
    with_callbacks = "contextlib.suppress(ImportError): import sklearn.callback"
    base = f"import contextlib, sklearn.base\nwith {with_callbacks}"
    more = loaded_by("from sk_metaembed import *", base)
    more = {name for name in more if not name.startswith(PACKAGE)}
    assert not top_level(more) & {*HEAVY, *FRAMES, "scipy"}
    parts = {".".join(name.split(".")[:2]) for name in more if name[:8] == "sklearn."}
    assert parts <= {"sklearn.utils"}


def test_making_and_cloning_estimators_and_the_check_suite_load_nothing_heavy():
    # In one process: one that loads nothing heavy is none that does.
    made = "\n".join(f"repr(clone({name}()))" for name in MAKE)
    loaded = loaded_by(
        f"from sklearn.base import clone\nfrom sk_metaembed import {', '.join(MAKE)}\n"
        f"{made}\nfrom sk_metaembed.utils import estimator_checks\n"
        "from sk_metaembed.inspection import SourceWeightsDisplay"
    )
    assert not top_level(loaded) & HEAVY


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Word3Vec'"):
        sk_metaembed.Word3Vec  # noqa: B018


def test_the_package_can_be_imported_from_a_zip(tmp_path):
    package = Path(sk_metaembed.__file__).parent
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for source in package.rglob("*"):
            if "__pycache__" not in source.parts:
                file.write(source, source.relative_to(package.parent))
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import sk_metaembed as sk
        assert sk.__file__.startswith(sys.argv[1])
        assert sk.Tokenizer().fit_transform(["To be"]).n_tokens == 2
        assert {"Pooling", "datasets"} <= {*dir(sk)}
    """
    run_script(code, archive)
