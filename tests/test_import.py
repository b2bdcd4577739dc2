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


def loaded_by(*scripts):
    """Return the modules that each script loads, one after the other."""
    shown = "import sys; print(*sys.modules)"
    lines = run_script("\n".join(f"{s}\n{shown}" for s in scripts)).splitlines()
    loaded = [set(line.split()) for line in lines]
    return [own - before for before, own in zip([set(), *loaded], loaded, strict=False)]


def top_level(names):
    return {name.partition(".")[0] for name in names}


def test_the_package_loads_next_to_nothing():
    (loaded,) = loaded_by("import sk_metaembed; dir(sk_metaembed)")
    assert not top_level(loaded) & {*HEAVY, *FRAMES, "sklearn", "scipy", "numpy"}


def test_star_import_estimators_and_the_check_suite_load_nothing_heavy():
    # pandas and its like come with scikit-learn's own base, where they are installed.
    with_callbacks = "contextlib.suppress(ImportError): import sklearn.callback"
    base = f"import contextlib, sklearn.base\nwith {with_callbacks}"
    clones = "; ".join(f"repr(sklearn.clone({name}()))" for name in MAKE)
    _, more, used = loaded_by(
        base,
        "from sk_metaembed import *",
        f"{clones}\nfrom sk_metaembed.utils import estimator_checks\n"
        "from sk_metaembed.inspection import SourceWeightsDisplay",
    )
    more = {name for name in more if not name.startswith(PACKAGE)}
    assert not top_level(more) & {*HEAVY, *FRAMES, "scipy"}
    parts = {".".join(name.split(".")[:2]) for name in more if name[:8] == "sklearn."}
    assert parts <= {"sklearn.utils"}
    assert not top_level(used) & HEAVY


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
