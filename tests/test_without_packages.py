"""Without torch, in the environment of the guide "Deploying", and without gensim."""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

from sk_metaembed import (
    FastTextEmbedding,
    PretrainedEmbedding,
    Word2VecEmbedding,
    WordVectors,
    make_text_pipeline,
    save,
)

from .processes import run_script

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "deploying.rst"


def modules_of(packages):
    """Return the modules of packages and of those that they require."""
    modules, found, names = set(), set(), set(packages)
    while names:
        name = names.pop()
        found.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError:  # of another system
            continue
        modules |= {file.parts[0].removesuffix(".py") for file in package.files}
        required = [r for r in package.requires or () if "extra ==" not in r]
        names |= {re.match(r"[\w.-]+", r)[0] for r in required} - found
    return modules


def modules_of_guide():
    """Return the modules of the environment that the guide installs."""
    lines = re.findall(r"pip install (numpy[\w -]+)", GUIDE.read_text("utf-8"))
    assert lines
    return {"sk_metaembed", *modules_of(lines[0].split())}


# Other modules are missing, and so are the versions of their packages.
BLOCK = """
import importlib.machinery, importlib.metadata, json, sys
present, of_pandas = map(set, json.loads(sys.argv[1]))
find, version = importlib.machinery.PathFinder.find_spec, importlib.metadata.version
class OnlyPresent:
    def find_spec(self, name, path=None, target=None):
        spec = None if path or name in present else find(name)
        if spec is not None and "site-packages" in str(spec.origin):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, OnlyPresent())
def version_of_present(name):
    if name.replace("scikit-learn", "sklearn") not in present:
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = version_of_present
"""

EVERYTHING = """
from sk_metaembed import *
import sk_metaembed
subpackages = [getattr(sk_metaembed, name) for name in dir(sk_metaembed)]
texts = ["a fine film", "a sad film", "a fine plot", "a sad, sad plot"] * 5
y = [1, 0] * 10
words = "a fine sad film plot".split()
store = WordVectors.from_arrays(words, [[i, i % 2, 1] for i in range(5)])
source = PretrainedEmbedding(store)
steps = Tokenizer(), source, Pooling(("mean", "max"))
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
models = [
    make_pipeline(*steps, LogisticRegression()),
    make_text_pipeline("classifier", [("own", source)]),
]
for k, model in enumerate(models):
    path = save(model.fit(texts, y), f"{k}.skm", bundle=True)
    assert (load(path).predict(texts) == model.predict(texts)).all()
inspection = sk_metaembed.inspection
assert len(inspection.explain(models[0], texts[:2]).tokens) == 2
inspection.compare_sources(models[1], texts, y, cv=2, verbose=1)
transform_in_batches(models[0][:-1], texts, "out.npy", verbose=1)
errors = []
for call in (
    lambda: TableEncoder().fit([[1.0, "a"], [2.0, "b"]] * 5, [0, 1] * 5),
    lambda: DynamicMetaClassifier().fit(make_pipeline(*steps[:2]).transform(texts), y),
):
    try:
        call()
    except ImportError as error:
        errors.append(str(error))
assert errors == [
    "Tables require pandas: pip install 'sk_metaembed[tables]'.",
    "DynamicMetaClassifier requires the package 'torch', which is not installed: "
    "pip install torch.",
], errors
"""


TABLES = """
present |= of_pandas
import sk_metaembed._command_line
import numpy as np, pandas as pd
from sk_metaembed.tables import _learners
_learners._ROUNDS = _learners._TREES = 5
rng = np.random.default_rng(0)
table = pd.DataFrame({"x": rng.normal(size=60), "kind": ["tea", "milk"] * 30})
table["y"] = np.where(table["kind"] == "tea", "hot", "cold")
table.to_csv("table.csv", index=False)
pipe = make_table_pipeline("classifier").fit(table[["x", "kind"]], table["y"])
loaded = load(save(pipe, "pipe.skm"))
assert (loaded.predict(table[["x", "kind"]]) == table["y"]).all()
main = sk_metaembed._command_line.main
status = [
    main("fit table.csv --target y --output model.skm".split()),
    main("predict model.skm table.csv --output predicted.csv".split()),
    main("describe model.skm".split()),
    main("fit table.csv --target y --report report.html".split()),
]
assert status == [0, 0, 0, 2]
assert (pd.read_csv("predicted.csv")["prediction"] == table["y"]).all()
"""


def test_everything_works_but_networks_and_tables_need_pandas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    present, of_pandas = modules_of_guide(), modules_of(["pandas"])
    assert not {"torch", "pandas", "gensim", "skorch"} & present
    modules = json.dumps([[*present], [*of_pandas]])
    run_script(BLOCK + EVERYTHING + TABLES, modules)


TEXTS = ["tea with milk", "black coffee", "milk tea", "coffee beans"] * 4


@pytest.fixture
def no_gensim(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gensim.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gensim", None)


@pytest.mark.usefixtures("no_gensim")
@pytest.mark.parametrize("source", [Word2VecEmbedding(), FastTextEmbedding()])
def test_training_names_gensim(source):
    with pytest.raises(ImportError, match=f"{type(source).__name__} requires gensim"):
        source.fit(TEXTS)


@pytest.mark.usefixtures("no_gensim")
def test_a_name_is_looked_up_by_gensim():
    with pytest.raises(ImportError, match="'glove-twitter-25'.* requires gensim"):
        PretrainedEmbedding("glove-twitter-25").fit(TEXTS)


@pytest.mark.usefixtures("no_gensim")
def test_vectors_are_opened_and_pipelines_saved_without_gensim(tmp_path):
    source = tmp_path / "vectors.txt"
    source.write_text("tea 1 0\ncoffee 0 1\n", "utf-8")
    store = WordVectors.convert(source, tmp_path / "store")
    with pytest.raises(ImportError, match="to_keyed_vectors requires gensim"):
        store.to_keyed_vectors()
    y = np.arange(len(TEXTS)) % 2
    pipe = make_text_pipeline("classifier", [("own", PretrainedEmbedding(store))])
    save(pipe.fit(TEXTS, y), tmp_path / "pipe.skm")
