"""What importing loads: nothing heavy before a step is fitted."""

import subprocess
import sys

import pytest

import sk_metaembed

HEAVY = {"torch", "skorch", "gensim", "transformers", "matplotlib", "numba"}
PACKAGE = "sk_metaembed"
FRAMES = {"pandas", "polars", "pyarrow"}  # scikit-learn loads those that it finds
MAKE = ["DynamicMetaClassifier", "Pooling", "Tokenizer", "Word2VecEmbedding"]


def modules_after(code):
    """Return the names of all modules that are loaded after running code afresh."""
    code += "\nimport sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def loaded_by(code):
    """Return the top-level modules that are loaded after running code afresh."""
    return {name.partition(".")[0] for name in modules_after(code)}


def test_the_package_loads_next_to_nothing():
    loaded = loaded_by("import sk_metaembed; dir(sk_metaembed)")
    assert not loaded & {*HEAVY, *FRAMES, "sklearn", "scipy", "numpy"}


def test_star_import_loads_little_more_than_the_base_of_scikit_learn():
    loaded = modules_after("from sk_metaembed import *")
    with_callbacks = "contextlib.suppress(ImportError): import sklearn.callback"
    base = modules_after(f"import contextlib, sklearn.base\nwith {with_callbacks}")
    # pandas and its like come with scikit-learn's own base, where they are installed.
    more = {name for name in loaded - base if not name.startswith(PACKAGE)}
    assert not {name.partition(".")[0] for name in more} & {*HEAVY, *FRAMES, "scipy"}
    parts = {".".join(name.split(".")[:2]) for name in more if name[:8] == "sklearn."}
    assert parts <= {"sklearn.utils"}


def test_making_and_cloning_estimators_and_the_check_suite_load_nothing_heavy():
    # In one process: one that loads nothing heavy is none that does.
    made = "\n".join(f"repr(clone({name}()))" for name in MAKE)
    loaded = loaded_by(
        f"from sklearn.base import clone\nfrom sk_metaembed import {', '.join(MAKE)}\n"
        f"{made}\nfrom sk_metaembed.utils import estimator_checks"
    )
    assert not loaded & HEAVY


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Word3Vec'"):
        sk_metaembed.Word3Vec  # noqa: B018
