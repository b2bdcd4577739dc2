"""Accuracy and calibration of classifiers behind DynamicMetaEmbedding, with cv or not.

Without `cv`, the classifier is fitted on vectors that the net adapted to their labels;
with ``cv=5`` on out-of-fold vectors. In both cases it predicts from the vectors of the
same net, the one fitted on all training rows, so the difference is due to the training
vectors alone. Three sources with rows of unit length (GloVe 100 d, word2vec 300 d,
neuralcoref 50 d), projection to 128 dimensions, one net per seed and setting:

- "early stopping": at most 30 epochs
- "30 epochs": no early stopping, learning rate 3e-3
- "random labels": the latter with permuted training labels; nothing can be learned

SST-2: 2,000 random training sentences per seed (``--rows``), the official test set.
BBC: headlines only, a random half to train on, the other half to test on. Figures are
means over seeds; differences are paired by seed, with 95% intervals (Student's t).

Needs ``SK_METAEMBED_DATA``.
Run: python benchmarks/cross_fitting.py [--seeds 5] [--data sst2 bbc]
"""

import argparse
import time

import numpy as np
from scipy.stats import t as student
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    DynamicMetaEmbedding,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
)
from sk_metaembed.datasets import load_bbc_news, load_sst2, load_vectors

SOURCES = ("glove-100", "word2vec-300", "neuralcoref-50")
LONG = {"early_stopping": False, "max_epochs": 30, "lr": 3e-3}
STOPPED = {"early_stopping": True, "max_epochs": 30}
SETTINGS = {"early stopping": STOPPED, "30 epochs": LONG, "random labels": LONG}
METRICS = ("accuracy, %", "log loss", "Brier score", "ECE, %")


def classifiers(seed):
    """Return the classifiers behind the net."""
    linear = LogisticRegression(C=0.1, max_iter=1000)
    return {
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=seed),
        "LogisticRegression": make_pipeline(StandardScaler(), linear),
    }


def load(name):
    """Return tokens, integer labels, and whether each row is of the official test."""
    if name == "sst2":
        parts = [load_sst2(part) for part in ("train", "test")]
        rows = [row for part in parts for row in part.data]
        y = np.concatenate([part.target for part in parts])
        is_test = np.repeat([False, True], [len(part.data) for part in parts])
    else:
        bunch = load_bbc_news()
        rows = [text.split("\n", 1)[0] for text in bunch.data]
        y, is_test = np.asarray(bunch.target), None
    tokens = Tokenizer(lowercase=True).fit_transform(rows)
    return tokens, np.unique(y, return_inverse=True)[1], is_test


def embed(tokens):
    """Return the tokens with the blocks of all sources."""
    pairs = [
        (name, PretrainedEmbedding(load_vectors(name), preprocess="unit"))
        for name in SOURCES
    ]
    return EmbeddingUnion(pairs).fit_transform(tokens)


def split(y, is_test, n_rows, rng):
    """Return the rows to train on and those to test on."""
    if is_test is None:
        return np.array_split(rng.permutation(len(y)), 2)
    return rng.permutation(np.flatnonzero(~is_test))[:n_rows], np.flatnonzero(is_test)


def calibration_error(probabilities, y, n_bins=15):
    """Return the expected calibration error of the most probable class."""
    confidence = probabilities.max(axis=1)
    hits = probabilities.argmax(axis=1) == y
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, confidence - hits, minlength=n_bins)
    return np.abs(gaps).sum() / len(y)


def scores(classifier, train, y_train, test, y_test):
    """Return the values of `METRICS` on the test rows."""
    probabilities = classifier.fit(train, y_train).predict_proba(test)
    truth = np.eye(probabilities.shape[1])[y_test]
    return [
        100 * (probabilities.argmax(axis=1) == y_test).mean(),
        log_loss(y_test, probabilities),
        ((probabilities - truth) ** 2).sum(axis=1).mean(),
        100 * calibration_error(probabilities, y_test),
    ]


def run(X, y, is_test, setting, seed, options):
    """Return scores by classifier and cv, and the CPU seconds of each fit."""
    rng = np.random.default_rng(seed)
    train, test = split(y, is_test, options.rows, rng)
    y_train = rng.permutation(y[train]) if setting == "random labels" else y[train]
    results, seconds = {}, []
    for cv in (None, options.cv):
        net = DynamicMetaEmbedding(
            projection_dim=128,
            mixer_options="published",
            batch_size=64,
            cv=cv,
            random_state=seed,
            **SETTINGS[setting],
        )
        begin = time.process_time()
        mixed = net.fit_transform(X[train], y_train)
        seconds.append(time.process_time() - begin)
        vectors = [Pooling().fit_transform(Z) for Z in (mixed, net.transform(X[test]))]
        for name, classifier in classifiers(seed).items():
            results[name, cv] = scores(
                classifier, vectors[0], y_train, vectors[1], y[test]
            )
    return results, seconds


def interval(differences):
    """Return the mean of paired differences and half of its 95% interval."""
    n = len(differences)
    half = student.ppf(0.975, n - 1) * np.std(differences, ddof=1) / np.sqrt(n)
    return np.mean(differences), half


def table(data, setting, runs, cv):
    """Print the rows of a data set and setting."""
    seconds = np.mean([times for _, times in runs], axis=0)
    for name in classifiers(0):
        cells = []
        for i, metric in enumerate(METRICS):
            without, crossed = (
                np.array([results[name, key][i] for results, _ in runs])
                for key in (None, cv)
            )
            digits = 1 if "%" in metric else 3
            change, half = interval(crossed - without)
            cells.append(
                f"{without.mean():.{digits}f} | {crossed.mean():.{digits}f} | "
                f"{change:+.{digits}f} ± {half:.{digits}f}"
            )
        print(f"| {data}, {setting} | {name} | {' | '.join(cells)} |", flush=True)
    print(f"{data}, {setting}: CPU s of fit_transform {seconds.round(1)}", flush=True)


def main():
    """Measure all settings and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cv", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--data", nargs="*", default=["sst2", "bbc"])
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    options = parser.parse_args()
    names = " | ".join(f"{m}: cv=None | cv={options.cv} | change" for m in METRICS)
    print(f"| data, training | classifier | {names} |")
    print("|---" * (2 + 3 * len(METRICS)) + "|", flush=True)
    for data in options.data:
        tokens, y, is_test = load(data)
        X = embed(tokens)
        for setting in options.settings:
            runs = [
                run(X, y, is_test, setting, seed, options)
                for seed in range(options.seeds)
            ]
            table(data, setting, runs, options.cv)


if __name__ == "__main__":
    main()
