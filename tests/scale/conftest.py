"""A small pipeline and documents for it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors

WORDS = ["tea", "milk", "rain", "snow", "honey"]


def make_texts(n=23, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=i % 4)) for i in range(n)]


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(len(WORDS), 3)).astype(np.float32)
    path = tmp_path_factory.mktemp("scale") / "store"
    return WordVectors.from_arrays(WORDS, matrix, path=path)


@pytest.fixture
def texts():
    return make_texts()


def steps(store):
    return Tokenizer(), PretrainedEmbedding(store), Pooling(("mean", "max"))


@pytest.fixture
def pipe(store):
    return make_pipeline(*steps(store)).fit(["tea"])


@pytest.fixture
def classifier(store, texts):
    labels = np.array(["wet", "dry", "sweet"])[[i % 3 for i in range(len(texts))]]
    return make_pipeline(*steps(store), LogisticRegression()).fit(texts, labels)
