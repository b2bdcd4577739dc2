"""Accuracy with an ELMo trained by ``elmo_language_model.py``, alone and with GloVe.

The model is small and trained on half a million words of news. There are two tasks:
sentences of film reviews (SST-2), and BBC articles, their first 200 words. The BBC test
set contains the articles that the language model was not trained on, a tenth of each
class; a tenth of the rest is the development set.

LogisticRegression on mean vectors comes first, then networks that differ only in the
combination: each source projected to 256 dimensions, a ReLU on the sum, mean encoder,
one hidden layer. C is chosen on the development set, which is also used for early
stopping.

``--tune EPOCHS`` adds a second ELMo, fine-tuned on the training sentences of the task
without their labels.

Needs ``SK_METAEMBED_DATA``.
Run: python benchmarks/elmo_quality.py --model FOLDER/general [--task bbc] [--tune 3]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from _accuracy import MIXTURES, PROJECTED, RATES, logistic, measure, row, show
from elmo_language_model import split_rows

from sk_metaembed import (
    ElmoEmbedding,
    ElmoLanguageModel,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
)
from sk_metaembed.datasets import load_bbc_news, load_sst2, load_vectors

LENGTH = 200


def sst2():
    """Return tokens and labels of each part."""
    parts = {name: load_sst2(name) for name in ("train", "dev", "test")}
    return {name: (part.data.to_list(), part.target) for name, part in parts.items()}


def bbc(domain="sports"):
    """Return the same for BBC; the test set is held out of the language model."""
    news = load_bbc_news()
    held = split_rows(domain, None)
    test = np.concatenate([held[kind, "held out"] for kind in (False, True)])
    rest = np.concatenate([held[kind, "train"] for kind in (False, True)])
    rest = np.random.default_rng(0).permutation(rest)
    n_dev = len(rest) // 10
    rows = {"train": rest[n_dev:], "dev": rest[:n_dev], "test": test}
    texts = [" ".join(text.split()) for text in news.data]
    tokens = Tokenizer(punctuation=True).fit_transform(texts).to_list()
    return {
        name: ([tokens[i][:LENGTH] for i in part], news.target[part])
        for name, part in rows.items()
    }


def tuned(folder, sequences, epochs, target):
    """Fine-tune the model on sequences; return the folder of the saved model."""
    model = ElmoLanguageModel(
        initial=folder, lr=1e-3, max_epochs=epochs, random_state=0, verbose=1
    )
    model.fit(sequences)
    model.save(target)
    return target


def elmo(folder):
    return ElmoEmbedding(folder / "options.json", folder / "weights.hdf5")


def embed(parts, models):
    """Return each part's EmbeddedSequences over GloVe and all layers of the models."""
    glove = PretrainedEmbedding(load_vectors("glove-100"), preprocess="unit")
    sources = [(name, elmo(folder)) for name, folder in models.items()]
    union = EmbeddingUnion([("glove", glove), *sources])
    union.fit(parts["train"][0])
    return {name: union.transform(tokens) for name, (tokens, _) in parts.items()}


def linear_rows(X, texts, y, models):
    """Print the rows of logistic regression."""
    means = {}
    for name in X["train"].names:
        pool = Pooling().fit(X["train"].select([name]))
        means[name] = {part: pool.transform(X[part].select([name])) for part in X}

    def joined(names):
        return {part: np.hstack([means[name][part] for name in names]) for part in X}

    show("mean vectors, LogisticRegression", "accuracy %", "dev %")
    print(f"| TF-IDF | {row(*logistic(texts, y, texts=True))} |")
    for name, inputs in means.items():
        print(f"| {name} | {row(*logistic(inputs, y))} |", flush=True)
    for model in models:
        layers = [name for name in means if name.startswith(f"{model}__")]
        print(f"| {model}, all layers | {row(*logistic(joined(layers), y))} |")
        both = row(*logistic(joined(["glove", *layers]), y))
        print(f"| GloVe and {model}, concatenated | {both} |", flush=True)


def net_rows(X, y, models, seeds):
    """Print the rows of networks over word vectors."""
    columns = "accuracy %", "dev %", "lr", "epochs", "CPU s a fit", "weights"
    show(f"net over vectors of words, {seeds} seeds", *columns)

    def add(label, names, attention):
        chosen = {part: every.select(names) for part, every in X.items()}
        parameters = {"attention": attention} | PROJECTED
        measure(chosen, y, label, parameters, RATES[1:2], seeds)

    add("GloVe", ["glove"], "uniform")
    for model in models:
        layers = [name for name in X["train"].names if name.startswith(f"{model}__")]
        add(f"{model}, scalar mix", layers, "task")
        for attention in ("uniform", "word", "context"):
            label = f"GloVe and {model}, {MIXTURES[attention]}"
            add(label, ["glove", *layers], attention)


def main():
    """Embed, train all models, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--task", choices=["sst2", "bbc"], default="sst2")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tune", type=int, default=0, help="epochs on the task's text")
    options = parser.parse_args()
    parts = {"sst2": sst2, "bbc": bbc}[options.task]()
    models = {"elmo": options.model}
    with tempfile.TemporaryDirectory() as folder:
        if options.tune:
            train = parts["train"][0]
            models["tuned"] = tuned(options.model, train, options.tune, Path(folder))
        X = embed(parts, models)
    y = {name: target for name, (_, target) in parts.items()}
    texts = {name: [" ".join(t) for t in tokens] for name, (tokens, _) in parts.items()}
    linear_rows(X, texts, y, models)
    net_rows(X, y, models, options.seeds)


if __name__ == "__main__":
    main()
