"""What importing loads: nothing heavy before a step is fitted."""

import subprocess
import sys

import pytest

import sk_metaembed

HEAVY = {"torch", "skorch", "gensim", "transformers", "matplotlib", "numba"}
PACKAGE = "sk_metaembed"
FRAMES = {"pandas", "polars", "pyarrow"}  # scikit-learn loads those that it finds
MAKE = ["DynamicMetaClassifier", "Pooling", "Tokenizer", "Word2VecEmbedding"]


def loaded_by(code, before=""):
    """Return the modules that running code afresh loads, without those of `before`."""
    start = f"{before}\nimport sys; before = {{*sys.modules}}" if before else ""
    end = f"import sys; print(*{{*sys.modules}}{' - before' * bool(before)})"
    run = [sys.executable, "-c", f"{start}\n{code}\n{end}"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


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
        "from sk_metaembed.inspection import SimilarityDisplay"
    )
    assert not top_level(loaded) & HEAVY


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Word3Vec'"):
        sk_metaembed.Word3Vec  # noqa: B018
