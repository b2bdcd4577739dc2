"""Measure accuracy on BBC news: the protocol of the Keras article, and five folds.

The sources and pipelines are those of examples/demo.py; the network is that of
examples/reproductions/plot_keras_bbc.py, trained for longer. Prints Markdown tables.

    python benchmarks/bbc.py                      # 25 minutes on two cores
    python benchmarks/bbc.py --folds 0            # the article's protocol only
    python benchmarks/bbc.py --seeds 0 --quick    # folds, without trained combinations
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold

from sk_metaembed import (
    DynamicMetaClassifier,
    StackedMetaClassifier,
    Tokenizer,
    TokenSequences,
)
from sk_metaembed.datasets import load_bbc_news

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import demo

LENGTH = 200  # words that the network reads
NET = DynamicMetaClassifier(
    projection_dim=64,
    encoder="gru",
    encoder_dim=(128, 32),
    hidden_dims=(),
    embedding_dropout=0.4,
    lr=5e-3,
    max_epochs=12,
    **demo.TRAINING
    | {"network_options": {"mixer": "published", "encoder_dropout": 0.2}},
)


def net_accuracy(attention, seed, embedded, y, train, tests):
    """Train one network; return its accuracy on each set of test rows."""
    net = clone(NET).set_params(attention=attention, random_state=seed)
    net.fit(embedded[train], y[train])
    right = net.predict(embedded) == y
    return [right[test].mean() for test in tests]


def article_protocol(news, tokens, seeds):
    """Print the accuracy of the article's networks over seeds."""
    train, *tests = demo.split(news)
    short = TokenSequences.from_lists(words[:LENGTH] for words in tokens)
    embedded = demo.make_sources().fit(tokens[train]).transform(short)
    print(f"\n| network, {seeds} seeds | 445 test articles | new ones only |")
    print("|---|---|---|")
    for name, attention in {"DME": "word", "CDME": "context"}.items():
        data = embedded, news.target, train, tests
        results = Parallel(n_jobs=2)(
            delayed(net_accuracy)(attention, seed, *data) for seed in range(seeds)
        )
        cells = [spread(values) for values in np.transpose(results)]
        print(f"| {name} + GRU | {' | '.join(cells)} |", flush=True)


def cross_validation(news, tokens, n_folds, quick):
    """Print the accuracy of each pipeline over folds; each fold trains its sources."""
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    splits = list(folds.split(news.data, news.target, news.groups))[:n_folds]
    accuracies = {}
    for train, test in splits:
        sources = demo.make_sources().fit(tokens[train])
        X, X_test = sources.transform(tokens[train]), sources.transform(tokens[test])
        data = X, news.target[train], X_test, news.target[test]
        rows = dict(demo.make_rows(X.names))
        rows["stack"] = StackedMetaClassifier(tfidf=False, random_state=0)
        if quick:
            rows = {name: row for name, row in rows.items() if "DME" not in name}
        jobs = (delayed(demo.score)(features, *data) for features in rows.values())
        for name, (_, accuracy, _) in zip(rows, Parallel(n_jobs=2)(jobs), strict=True):
            accuracies.setdefault(name, []).append(accuracy)
    print(f"\n| features or classifier | {n_folds} folds, duplicates together |")
    print("|---|---|")
    for name, values in accuracies.items():
        print(f"| {name} | {spread(values)} |")


def spread(values):
    """Return mean and standard deviation as text."""
    return f"{np.mean(values):.4f} +- {np.std(values):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    news = load_bbc_news()
    tokens = Tokenizer().fit_transform(news.data)
    if options.seeds:
        article_protocol(news, tokens, options.seeds)
    if options.folds:
        cross_validation(news, tokens, options.folds, options.quick)


if __name__ == "__main__":
    main()
