"""Loading imports only what the estimator needs, and holds arrays once."""

import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    EmbeddingUnion,
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    load,
    save,
)

from ..test_estimators import vectors
from ..test_import import loaded_by, top_level

HEAVY = {"torch", "gensim", "numba", "transformers", "matplotlib", "dask"}
HEAVY |= {"safetensors", "skops"}
TEXTS = ["a good film", "a bad film", "good plot", "bad plot, so bad", "Ünseen", ""] * 2
# A long text has more words than are looked up at once in a few titles.
SERVED = [*TEXTS, " ".join(f"good{i} film" for i in range(3000))]
TRAINED = {"vector_size": 8, "min_count": 1, "epochs": 1, "random_state": 0}

# scikit-learn itself imports the DataFrame libraries that are installed.
SERVE = """
import json, sys
import sklearn.pipeline, sklearn.linear_model
before = set(sys.modules)
from sk_metaembed import load
pipe = load(sys.argv[1])
given = [pipe.predict_proba([text])[0].tolist() for text in json.loads(sys.argv[2])]
added = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps([sorted(added), given]))
"""


def sources():
    """Return steps between words and pooling, by name."""
    table = PretrainedEmbedding(vectors())
    union = EmbeddingUnion([("file", table), ("w2v", Word2VecEmbedding(**TRAINED))])
    return {
        "pretrained": [table],
        "fastText": [FastTextEmbedding(**TRAINED, bucket=1000)],
        "union": [union, SVDMetaEmbedding(4)],
    }


def served(pipe, folder):
    """Return the modules that a process imports to predict, and the predictions."""
    path = save(pipe, folder / "pipe.skm")
    run = [sys.executable, "-c", SERVE, str(path), json.dumps(SERVED)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# The union has a pretrained source too.
@pytest.mark.parametrize(
    "name",
    ["TF-IDF", pytest.param("pretrained", marks=pytest.mark.slow), "fastText", "union"],
)
def test_a_pipeline_is_served_without_heavy_libraries(name, tmp_path):
    if name == "TF-IDF":
        steps = [TfidfVectorizer()]
    else:
        modes = "mean", "max", "power-means", "dct", "hierarchical"
        pooling = Pooling(modes, weights="idf", powers=(2, 3))
        steps = [Tokenizer(), *sources()[name], pooling]
    pipe = make_pipeline(*steps, LogisticRegression())
    pipe.fit(TEXTS, np.arange(len(TEXTS)) % 2)
    added, given = served(pipe, tmp_path)
    assert not HEAVY & {*added}
    np.testing.assert_allclose(given, pipe.predict_proba(SERVED), atol=1e-6)


FIT = """
from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors
store = WordVectors.open({path!r})
steps = Tokenizer(), PretrainedEmbedding(store), Pooling()
pipe = sklearn.pipeline.make_pipeline(*steps, sklearn.linear_model.LogisticRegression())
pipe.fit(["a good film", "a bad film"] * 20, [0, 1] * 20).predict(["good"] * 40)
"""


def test_a_small_fit_loads_no_more_than_scikit_learn():
    code = FIT.format(path=str(vectors().path))
    loaded = loaded_by(code, "import sklearn.pipeline, sklearn.linear_model")
    assert not {*HEAVY, "pandas", "pyarrow", "polars"} & top_level(loaded)


def test_arrays_are_in_memory_once(tmp_path):
    scaler = StandardScaler()
    scaler.mean_ = np.arange(1 << 20, dtype=float)
    path = save(scaler, tmp_path / "scaler.skm")
    tracemalloc.start()
    loaded = load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(loaded.mean_, scaler.mean_)
    assert peak < 1.5 * scaler.mean_.nbytes
