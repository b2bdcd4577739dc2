"""Serving and small fits import only what they need; loading holds arrays once."""

import json
import tracemalloc

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    EmbeddingUnion,
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    load,
    save,
)

from ..processes import run_script
from ..test_estimators import vectors

HEAVY = {"torch", "gensim", "numba", "transformers", "matplotlib", "dask"}
HEAVY |= {"safetensors", "skops", "pandas", "polars", "pyarrow"}
TEXTS = ["a good film", "a bad film", "good plot", "bad plot, so bad", "Ünseen", ""] * 2
# A long text has more words than are looked up at once in a few titles.
SERVED = [*TEXTS, " ".join(f"good{i} film" for i in range(3000))]
TRAINED = {"vector_size": 8, "min_count": 1, "epochs": 1, "random_state": 0}

# scikit-learn itself imports the DataFrame libraries that are installed.
SERVE_AND_FIT = """
import json, sys
import sklearn.pipeline, sklearn.linear_model
before = set(sys.modules)
from sk_metaembed import load
texts, store = json.loads(sys.argv[1]), sys.argv[2]
pipes = map(load, sys.argv[3:])
given = [[pipe.predict_proba([text])[0].tolist() for text in texts] for pipe in pipes]
from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors
source = PretrainedEmbedding(WordVectors.open(store))
steps = Tokenizer(punctuation=True), source, Pooling()
pipe = sklearn.pipeline.make_pipeline(*steps, sklearn.linear_model.LogisticRegression())
pipe.fit(["a good film", "é, a bad film"] * 20, [0, 1] * 20).predict(["good"] * 40)
added = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps([sorted(added), given]))
"""


def pipelines():
    """Return fitted pipelines of all kinds that are served without torch."""
    modes = "mean", "max", "power-means", "dct", "hierarchical"
    pooling = {"mode": modes, "weights": "idf", "powers": (2, 3)}
    table, trained = PretrainedEmbedding(vectors()), Word2VecEmbedding(**TRAINED)
    union = EmbeddingUnion([("file", table), ("w2v", trained)])
    autoencoder = AutoencodedMetaEmbedding(n_components=4, max_iter=3)
    beginnings = [
        [TfidfVectorizer()],
        [Tokenizer(), FastTextEmbedding(**TRAINED, bucket=1000), Pooling(**pooling)],
        [Tokenizer(), union, autoencoder, Pooling(**pooling)],
    ]
    y = np.arange(len(TEXTS)) % 2
    pipes = [make_pipeline(*steps, LogisticRegression()) for steps in beginnings]
    return [pipe.fit(TEXTS, y) for pipe in pipes]


def test_pipelines_are_served_and_fitted_without_heavy_libraries(tmp_path):
    pipes = pipelines()
    files = [save(pipe, tmp_path / f"{i}.skm") for i, pipe in enumerate(pipes)]
    shown = run_script(SERVE_AND_FIT, json.dumps(SERVED), vectors().path, *files)
    added, given = json.loads(shown.splitlines()[-1])
    assert not HEAVY & {*added}
    expected = [pipe.predict_proba(SERVED) for pipe in pipes]
    np.testing.assert_allclose(given, expected, atol=1e-6)


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
