"""Write one saved file per subpackage, for test_fixtures.py to load.

Run it from the root of the repository before a release, after the version is set::

    python -m tests.persistence.write_fixtures

It replaces the files of that version in ``tests/persistence/data``. Those of released
versions stay as they are.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from sk_metaembed import (
    AutoencodedMetaEmbedding,
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
    TrainableCharacters,
    Word2VecEmbedding,
    WordVectors,
    __version__,
    make_table_pipeline,
    save,
)

DATA = Path(__file__).with_name("data")
TEXTS = ["a cup of tea", "tea with milk", "a pot of honey", "milk and honey", "rain"]
ROWS = [text.split() for text in TEXTS]
LABELS = ["drink", "drink", "food", "food", "weather"]
SPLIT = np.random.default_rng(0).normal(size=(20, 2))
PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))
TABLE = pd.DataFrame(
    {
        "note": [f"{text}, {i} oz" for i, text in enumerate(TEXTS * 6)],
        "price": [f"${i}.50" for i in range(30)],
        "kind": ["hot", "cold", None, "hot", "hot"] * 6,
        "sold": pd.date_range("2020-01-01", periods=30),
    }
)
YES_NO = ["yes", "no", "yes", "no", "no", "yes"] * 5
GENSIM = {
    "vector_size": 4,
    "min_count": 1,
    "epochs": 1,
    "n_jobs": 1,
    "random_state": 0,
    "sample": 1e-3,
}
NET = {"projection_dim": 4, "encoder_dim": 2, "hidden_dims": (4,), "max_epochs": 1}
ARCHITECTURE = {"projection_dim": 4, "cell_dim": 4, "char_dim": 2, "filters": ((1, 4),)}
LANGUAGE_MODEL = {"architecture": ARCHITECTURE, "max_epochs": 1}


def union():
    """Return two sources, both trained on the texts."""
    word2vec, fast_text = Word2VecEmbedding(**GENSIM), FastTextEmbedding(**GENSIM)
    return EmbeddingUnion([("w2v", word2vec), ("ft", fast_text.set_params(bucket=50))])


def words():
    """Return a source of the subpackage vectors."""
    known = sorted({word for row in ROWS[1:] for word in row})
    matrix = np.random.default_rng(0).normal(size=(len(known), 3))
    store = WordVectors.from_arrays(known, matrix, path=Path(tempfile.mkdtemp()) / "s")
    return PretrainedEmbedding(store, oov="mean").fit(ROWS)


def estimators():
    """Return a fitted estimator per subpackage, or two, each with an input."""
    embedded = union().fit_transform(ROWS)
    characters = TrainableCharacters(char_dim=2, filters=((1, 2),))
    net = DynamicMetaClassifier(**NET, trainable=characters, random_state=0)
    autoencoded = AutoencodedMetaEmbedding(n_components=2, random_state=0)
    model = ElmoLanguageModel(**LANGUAGE_MODEL, random_state=0)
    word2vec = Word2VecEmbedding(**GENSIM)
    pairs = PairEncoder(make_pipeline(Tokenizer(), word2vec, Pooling()))
    encoder = TextMetaEncoder(active="words", cv=2, random_state=0)
    forest = RandomForestClassifier(n_estimators=1, max_depth=2, random_state=0)
    boosting = HistGradientBoostingClassifier(max_iter=1, random_state=0)
    trees = make_pipeline(
        SplineTransformer(2, degree=1),
        VotingClassifier([("f", forest), ("b", boosting)]),
    )
    tagger = TokenClassifier(GaussianNB(), window=1)
    # Boosting, which has more trees in five models, would be a file of a megabyte.
    pipeline = make_table_pipeline(learners=["trees", "linear"], random_state=0)
    return {
        "sequences": (Tokenizer(lowercase=False).fit(TEXTS), TEXTS),
        "vectors": (words(), ROWS),
        "sources": (union().fit(ROWS), ROWS),
        "meta": (ProcrustesMetaEmbedding().fit(embedded), embedded),
        "meta-autoencoded": (autoencoded.fit(embedded), embedded),
        "dynamic": (net.fit(embedded, LABELS), embedded),
        "pooling": (Pooling(("mean", "max"), weights="sif").fit(embedded), embedded),
        "sources-elmo": (model.fit(ROWS), ROWS),
        "adapters-pairs": (pairs.fit(PAIRS), PAIRS),
        "tables": (encoder.fit(TEXTS * 4, LABELS * 4), TEXTS),
        "tables-pipeline": (pipeline.fit(TABLE, YES_NO), TABLE),
        "trees": (trees.fit(SPLIT, LABELS * 4), SPLIT),
        "adapters-tokens": (tagger.fit(embedded, ROWS), embedded),
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


def main():
    """Replace the files of this version."""
    fitted = estimators()
    folder = DATA / __version__
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, (estimator, X) in fitted.items():
        save(estimator, folder / f"{name}.skm", bundle=True)
        np.savez_compressed(folder / f"{name}.npz", **results(estimator, X))


if __name__ == "__main__":
    main()
