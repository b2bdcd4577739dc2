"""What importing loads: nothing heavy before a step is fitted."""

import subprocess
import sys

import pytest

import sk_metaembed

HEAVY = {"torch", "skorch", "gensim", "transformers", "matplotlib", "numba"}
FRAMES = {"pandas", "polars", "pyarrow"}  # scikit-learn loads those that it finds
MAKE = ["DynamicMetaClassifier", "Pooling", "Tokenizer", "Word2VecEmbedding"]


def loaded_by(code):
    """Return the top-level modules that are loaded after running code afresh."""
    code += "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_the_package_loads_next_to_nothing():
    loaded = loaded_by("import sk_metaembed; dir(sk_metaembed)")
    assert not loaded & {*HEAVY, *FRAMES, "sklearn", "scipy", "numpy"}


def test_star_import_brings_every_public_name_and_loads_nothing_heavy():
    code = "from sk_metaembed import *\nfor n in {}: globals()[n]"
    loaded = loaded_by(code.format(sk_metaembed.__all__))
    assert not loaded & HEAVY
    assert "sklearn" in loaded


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
