"""Write one saved file and one pickle per room, for test_fixtures.py to load.

Run it from the root of the repository after a change of names or formats::

    python -m tests.persistence.write_fixtures

It replaces everything in ``tests/persistence/data``.
"""

import json
import pickle
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    CharEmbedding,
    ColumnsEncoder,
    DynamicMetaClassifier,
    ElmoLanguageModel,
    EmbeddingUnion,
    FastTextEmbedding,
    PairEncoder,
    Pooling,
    PretrainedEmbedding,
    ProcrustesMetaEmbedding,
    TextMetaEncoder,
    TokenClassifier,
    Tokenizer,
    Word2VecEmbedding,
    WordVectors,
    save,
)
from sk_metaembed.inspection import SimilarityDisplay
from sk_metaembed.metrics import make_unsupervised_scorer, word_similarity_score
from sk_metaembed.scale import StreamResult, TextStream

DATA = Path(__file__).with_name("data")
TEXTS = ["a cup of tea", "tea with milk", "a pot of honey", "milk and honey", "rain"]
ROWS = [text.split() for text in TEXTS]
LABELS = ["drink", "drink", "food", "food", "weather"]
RATED = [("tea", "milk"), ("tea", "rain"), ("milk", "honey")]
PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))
GENSIM = {"vector_size": 4, "min_count": 1, "epochs": 1, "n_jobs": 1, "random_state": 0}
NET = {"projection_dim": 4, "encoder_dim": 2, "hidden_dims": (4,), "max_epochs": 1}
ARCHITECTURE = {"projection_dim": 4, "cell_dim": 4, "char_dim": 2, "filters": ((1, 4),)}
LANGUAGE_MODEL = {"architecture": ARCHITECTURE, "max_epochs": 1}
# Pickles of these packages cannot be read by versions with other internals.
PACKAGES = ("numpy", "scikit-learn", "skorch", "torch")


def union():
    """Return two sources, both trained on the texts."""
    word2vec, fast_text = Word2VecEmbedding(**GENSIM), FastTextEmbedding(**GENSIM)
    return EmbeddingUnion([("w2v", word2vec), ("ft", fast_text.set_params(bucket=50))])


def words():
    """Return a source of the room vectors."""
    known = sorted({word for row in ROWS[1:] for word in row})
    matrix = np.random.default_rng(0).normal(size=(len(known), 3))
    store = WordVectors.from_arrays(known, matrix, path=Path(tempfile.mkdtemp()) / "s")
    return PretrainedEmbedding(store, oov="mean").fit(ROWS)


def estimators():
    """Return a fitted estimator per room, or two, each with an input."""
    embedded = union().fit_transform(ROWS)
    characters = CharEmbedding(char_dim=2, filters=((1, 2),))
    net = DynamicMetaClassifier(**NET, trainable=characters, random_state=0)
    autoencoded = AutoencodedMetaEmbedding(n_components=2, random_state=0)
    model = ElmoLanguageModel(**LANGUAGE_MODEL, random_state=0)
    word2vec = Word2VecEmbedding(**GENSIM)
    columns = ColumnsEncoder(clone(word2vec))
    pairs = PairEncoder(make_pipeline(Tokenizer(), word2vec, Pooling()))
    encoder = TextMetaEncoder(active="words", cv=2, random_state=0)
    tagger = TokenClassifier(GaussianNB(), window=1)
    return {
        "sequences": (Tokenizer(lowercase=False).fit(TEXTS), TEXTS),
        "vectors": (words(), ROWS),
        "sources": (union().fit(ROWS), ROWS),
        "meta": (ProcrustesMetaEmbedding().fit(embedded), embedded),
        "meta-autoencoded": (autoencoded.fit(embedded), embedded),
        "dynamic": (net.fit(embedded, LABELS), embedded),
        "pooling": (Pooling(("mean", "max"), weights="sif").fit(embedded), embedded),
        "elmo": (model.fit(ROWS), ROWS),
        "adapters-columns": (columns.fit(PAIRS), PAIRS),
        "adapters-pairs": (pairs.fit(PAIRS), PAIRS),
        "tables": (encoder.fit(TEXTS * 4, LABELS * 4), TEXTS),
        "adapters-tokens": (tagger.fit(embedded, ROWS), embedded),
    }


def objects():
    """Return objects of the rooms without estimators, which have pickles only."""
    return {
        "metrics": make_unsupervised_scorer(
            word_similarity_score, (RATED, [3.0, 1.0, 2.0])
        ),
        "inspection": SimilarityDisplay(np.eye(2), labels=["tea", "milk"]),
        "scale": TextStream(TEXTS, tokenizer="spaces"),
        "scale-result": StreamResult(rows=5, files=["out.npy"], seconds=0.5, resumed=0),
    }


def results(estimator, X):
    """Return what an estimator gives for X, as arrays by method and block."""
    methods = ("transform", "predict", "predict_proba")
    methods = [name for name in methods if hasattr(estimator, name)] or ["score"]
    arrays = {}
    for method in methods:
        given = getattr(estimator, method)(X)
        if hasattr(given, "blocks"):
            arrays |= {f"{method}-{b.name}": b.values for b in given.blocks}
        elif hasattr(given, "to_list"):
            given = given.to_list()
        if isinstance(given, list) or _is_ragged(given):
            arrays[method] = np.concatenate([np.asarray(row) for row in given])
        elif not hasattr(given, "blocks"):
            arrays[method] = np.asarray(given)
    # Labels are Python strings, which .npz files hold as pickles.
    return {k: v.astype(str) if v.dtype.kind == "O" else v for k, v in arrays.items()}


def _is_ragged(given):
    is_object = isinstance(given, np.ndarray) and given.dtype.kind == "O"
    return is_object and not isinstance(given[0], str)


def versions():
    """Return the versions that pickles depend on, without the last number."""
    return {name: version(name).rpartition(".")[0] for name in PACKAGES}


def main():
    """Replace the files in ``DATA``."""
    fitted = estimators()
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir()
    for name, (estimator, X) in fitted.items():
        save(estimator, DATA / f"{name}.skm", bundle=True)
        if name != "vectors":  # pickled as the path of a store
            (DATA / f"{name}.pkl").write_bytes(pickle.dumps(estimator, protocol=4))
        np.savez_compressed(DATA / f"{name}.npz", **results(estimator, X))
    for name, value in objects().items():
        (DATA / f"{name}.pkl").write_bytes(pickle.dumps(value, protocol=4))
    (DATA / "versions.json").write_text(json.dumps(versions(), indent=1) + "\n")


if __name__ == "__main__":
    main()
