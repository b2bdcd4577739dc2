"""What works without gensim, which has no wheel for the newest Python."""

import sys

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

TEXTS = ["tea with milk", "black coffee", "milk tea", "coffee beans"] * 4


@pytest.fixture(autouse=True)
def no_gensim(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gensim.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gensim", None)


@pytest.mark.parametrize("source", [Word2VecEmbedding(), FastTextEmbedding()])
def test_training_names_gensim(source):
    with pytest.raises(ImportError, match=f"{type(source).__name__} requires gensim"):
        source.fit(TEXTS)


def test_a_name_is_looked_up_by_gensim():
    with pytest.raises(ImportError, match="'glove-twitter-25'.* requires gensim"):
        PretrainedEmbedding("glove-twitter-25").fit(TEXTS)


def test_vectors_are_opened_and_pipelines_saved(tmp_path):
    source = tmp_path / "vectors.txt"
    source.write_text("tea 1 0\ncoffee 0 1\n", "utf-8")
    store = WordVectors.convert(source, tmp_path / "store")
    with pytest.raises(ImportError, match="to_keyed_vectors requires gensim"):
        store.to_keyed_vectors()
    y = np.arange(len(TEXTS)) % 2
    pipe = make_text_pipeline("classifier", [("own", PretrainedEmbedding(store))])
    save(pipe.fit(TEXTS, y), tmp_path / "pipe.skm")
