"""Accuracy on SST-2 sentences: single sources, concatenation, and DME.

Three complementary sources with rows of unit length (GloVe 100 d, word2vec 300 d,
neuralcoref 50 d), 6,920 training sentences, the official development set for early
stopping, and one network and budget for all rows; only the combination differs.
"concat" concatenates the three sources: with a projection it has the same ReLU and
width as DME, without it the encoder reads the raw concatenation.

Needs ``SK_METAEMBED_DATA``.
Run: python benchmarks/sst2_quality.py [--encoder mean] [--seeds 5]
"""

import argparse
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    ConcatMetaEmbedding,
    DynamicMetaClassifier,
    EmbeddingUnion,
    PretrainedEmbedding,
)
from sk_metaembed.datasets import load_sst2, load_vectors

SOURCES = ("glove-100", "word2vec-300", "neuralcoref-50")
NETWORKS = {
    "mean": {"encoder": "mean", "hidden_dims": (512,), "max_epochs": 30},
    "bilstm-max": {
        "encoder": "bilstm-max",
        "encoder_dim": 128,
        "hidden_dims": (512,),
        "max_epochs": 30,
    },
}


def tfidf_accuracy(parts):
    """Return TF-IDF unigrams + LogisticRegression, C tuned by cross-validation."""
    texts = {name: [" ".join(row) for row in p.data] for name, p in parts.items()}
    pipe = make_pipeline(
        TfidfVectorizer(token_pattern=r"\S+"), LogisticRegression(max_iter=1000)
    )
    search = GridSearchCV(pipe, {"logisticregression__C": [0.3, 1, 3, 10, 30]})
    search.fit(texts["train"], parts["train"].target)
    return search.score(texts["test"], parts["test"].target)


def embed(parts):
    """Return the EmbeddedSequences of each part over all sources."""
    union = EmbeddingUnion(
        [
            (name, PretrainedEmbedding(load_vectors(name), preprocess="unit"))
            for name in SOURCES
        ]
    ).fit(parts["train"].data)
    return {name: union.transform(part.data) for name, part in parts.items()}


def rows(X):
    """Yield (label, inputs of the parts, changed parameters)."""
    uniform = {"attention": "uniform"}
    for name in SOURCES:
        yield name, {k: v.select([name]) for k, v in X.items()}, uniform
    concat = ConcatMetaEmbedding(normalize=False).fit(X["train"])
    joined = {name: concat.transform(part) for name, part in X.items()}
    raw = {"projection_dim": None, "activation": None}
    yield "concat, no projection", joined, uniform | raw
    yield "concat, projected", joined, uniform
    yield "unweighted sum", X, uniform
    yield "DME (word)", X, {"attention": "word"}
    yield "CDME (context)", X, {"attention": "context"}
    yield "scalar mix (task)", X, {"attention": "task"}


def accuracy(X, parts, parameters, network, seed):
    """Return the test accuracy of one network."""
    model = DynamicMetaClassifier.published(
        embedding_dropout=0.5,
        head_dropout=0.5,
        random_state=seed,
        **{**network, **parameters},
    )
    model.fit(
        X["train"], parts["train"].target, X_val=X["dev"], y_val=parts["dev"].target
    )
    return model.score(X["test"], parts["test"].target)


def main():
    """Train all models and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", choices=list(NETWORKS), default="mean")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--rows", nargs="*", help="only rows whose name has one of these"
    )
    options = parser.parse_args()
    parts = {name: load_sst2(name) for name in ("train", "dev", "test")}
    X = embed(parts)
    print(f"Encoder {options.encoder}, {options.seeds} seeds\n")
    print("| SST-2 test | accuracy % | std | s per fit |\n|---|---|---|---|")
    print(f"| TF-IDF + LR | {100 * tfidf_accuracy(parts):.2f} | | |", flush=True)
    for label, inputs, parameters in rows(X):
        if options.rows and not any(part in label for part in options.rows):
            continue
        start = time.perf_counter()
        network = NETWORKS[options.encoder]
        scores = [
            100 * accuracy(inputs, parts, parameters, network, seed)
            for seed in range(options.seeds)
        ]
        seconds = (time.perf_counter() - start) / options.seeds
        spread = np.std(scores, ddof=1) if len(scores) > 1 else 0.0
        print(
            f"| {label} | {np.mean(scores):.2f} | {spread:.2f} | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
