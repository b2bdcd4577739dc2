"""Defaults of DynamicMetaClassifier: static sources, from 64 rows to all.

Words of GloVe 100, word2vec 300 and neuralcoref 50 at unit length, the setting of
dynamic meta-embeddings. Rows are drawn from the training part of each set; all methods
of a draw have the same rows and the same test part. TF-IDF, the concatenation of mean
vectors, and the best single source, which cross-validation chooses, end in a
LogisticRegression whose C is chosen by cross-validation too.

``--part development`` compares the candidates on whose scores the defaults were chosen;
``--part evaluation`` and ``--part tables`` compare the default with the baselines, on
columns of texts in tables the latter. ``--part decay`` and ``--part share`` compare
weight decays and shares of the linear model, which chose those of the default.
``--minilm`` adds MiniLM as a fourth source. Results are appended to a file, and not
computed again.

Needs ``SK_METAEMBED_DATA`` and the wheels of `_text_sets`.
Run: python benchmarks/dynamic_defaults.py RESULTS.jsonl --part evaluation
"""

import argparse
import time
from functools import cache

import numpy as np
import pandas as pd
from _records import complete, interval
from _text_sets import STATIC, embedding, load, subset, tokens, vectors
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from skorch.callbacks import LRScheduler

from sk_metaembed import Block, DynamicMetaClassifier, EmbeddingUnion

SETS = {
    "development": ("rated-tweets", "products", "spam", "commands", "r8"),
    "evaluation": ("sst2", "questions", "headlines", "devices", "food", "birds"),
    "tables": ("netflix", "apps", "baby-products", "beers", "noodles", "games"),
    "decay": (
        *("rated-tweets", "products", "spam", "commands", "r8", "r52", "app-ages"),
        *("netflix-types", "restaurants", "movie-snippets", "editorials", "cars"),
        *("book-formats", "cuisines", "craft-styles", "film-ratings", "cacao"),
        *("laptops", "discounts", "app-stars", "book-stars", "publishers", "brands"),
        *("countries", "noodle-countries", "film-ages", "title-genres", "addresses"),
    ),
}
BASELINES = ("TF-IDF", "best single source", "concatenation")
# An own schedule replaces the decrease of the learning rate.
CONSTANT = {"callbacks": [LRScheduler("ConstantLR", factor=1)]}
CANDIDATES = {
    "default": {},
    "maximum of words": {"encoder": "max", "head_dropout": 0.2},
    "widths 3, 4, 5": {"network_options": {"conv_widths": (3, 4, 5)}},
    "100 filters of 128": {"projection_dim": 128, "encoder_dim": 100},
    "constant rate": CONSTANT,
    "early stopping": {
        "early_stopping": True,
        "train_options": {
            "n_iter_no_change": 3,
            "monitor": "score",
            "lr_factor": 0.2,
            "lr_patience": 0,
        },
    },
    "early stopping, n_iter_no_change 6": {
        "early_stopping": True,
        "train_options": {
            "n_iter_no_change": 6,
            "monitor": "score",
            "lr_factor": 0.5,
            "lr_patience": 1,
        },
    },
    "dropout .5": {"embedding_dropout": 0.5, "head_dropout": 0.5},
    "batches of 64, rate 2e-3": {"batch_size": 64, "lr": 2e-3},
    "linear head": {"hidden_dims": ()},
    "one hidden layer": {"hidden_dims": (256,)},
    "uniform": {"attention": "uniform"},
    "published mixer": {"network_options": {"mixer": "published"}},
}
NETS = {
    "development": CANDIDATES,
    "evaluation": {"DynamicMetaClassifier": {}},
    "tables": {"DynamicMetaClassifier": {}},
}
NETS["decay"] = {
    f"weight decay {decay}": {
        "train_options": {"weight_decay": decay, "linear_share": 0}
    }
    for decay in (0, 0.003, 0.01, 0.03, 0.1, "auto")
}
NETS["share"] = {
    f"linear share {share}": {"train_options": {"linear_share": share}}
    for share in (0, 0.15, 0.3, 0.5, "auto")
}
SETS["share"] = SETS["decay"]


@cache
def words(name, minilm, folder):
    """Return the EmbeddedSequences of all rows of a set."""
    union = EmbeddingUnion([(source, embedding(source)) for source in STATIC])
    X = union.fit_transform(tokens(load(name)))
    if not minilm:
        return X
    values = vectors(name, ("minilm",), folder)["minilm"]
    return X.with_blocks([*X.blocks, Block("minilm", values, "sequence")])


def linear():
    """Return a LogisticRegression with C chosen by cross-validation."""
    model = LogisticRegression(max_iter=300, tol=1e-3)
    return GridSearchCV(model, {"C": [1, 10, 100, 1000]}, cv=3)


def baseline(method, data, y, arrays, train, test):
    """Return the predictions of a baseline for the test part."""
    if method == "TF-IDF":
        X = np.array(data.texts, dtype=object)
        model = make_pipeline(TfidfVectorizer(sublinear_tf=True), linear())
        return model.fit(X[train], y[train]).predict(X[test])
    if method == "concatenation":
        arrays = {method: np.hstack(list(arrays.values()))}
    fits = [(linear().fit(X[train], y[train]), X[test]) for X in arrays.values()]
    model, X = max(fits, key=lambda fit: fit[0].best_score_)
    return model.predict(X)


def evaluate(name, method, parameters, n, seed, options):
    """Return which rows of the test part a method predicts correctly."""
    data = load(name)
    y, train, test = np.asarray(data.y), subset(data, n, seed), data.test
    if method in BASELINES:
        sources = (*STATIC, "minilm") if options.minilm else STATIC
        arrays = vectors(name, sources, options.folder)
        return baseline(method, data, y, arrays, train, test) == y[test]
    X = words(name, options.minilm, options.folder)
    model = DynamicMetaClassifier(random_state=seed, **parameters)
    return model.fit(X[train], y[train]).predict(X[test]) == y[test]


def measure(options):
    """Append what is missing in the file of results."""
    methods = dict.fromkeys(BASELINES, {}) | NETS[options.part]
    cases = [
        (name, n, seed, method, options.minilm)
        for name in options.sets or SETS[options.part]
        for n in dict.fromkeys(min(n, len(load(name).train)) for n in options.rows)
        for seed in range(options.seeds)
        for method in methods
    ]

    def record(name, n, seed, method, minilm):
        begin = time.perf_counter()
        right = evaluate(name, method, methods[method], n, seed, options)
        return {
            "accuracy": 100 * right.mean(),
            "right": "".join(map(str, right.astype(int))),
            "seconds": round(time.perf_counter() - begin, 1),
        }

    complete(
        options.results, ("set", "rows", "seed", "method", "minilm"), cases, record
    )


def compared(data, method, reference="concatenation"):
    """Return the mean difference in points, its 95 % intervals, and p.

    The first interval is Student's t over sets, whose scores are means over draws and
    sizes. The second is a bootstrap over sets and, within them, over test rows.
    """
    differences = []
    for _, part in data.groupby("set"):
        rows = [
            np.mean([list(map(int, bits)) for bits in own.right], axis=0)
            for own in (part[part.method == m] for m in (method, reference))
        ]
        differences.append(100 * (rows[0] - rows[1]))
    means = [each.mean() for each in differences]
    mean, half, p = interval(means)
    drawn = resampled_means(differences)
    low, high = np.percentile(drawn, [2.5, 97.5])
    p_drawn = 2 * min((drawn <= 0).mean(), (drawn >= 0).mean())
    return (
        f"{method} - {reference}: {mean:+.1f}; over {len(means)} sets "
        f"{mean - half:+.1f} to {mean + half:+.1f}, p = {p:.3f}; over sets and rows "
        f"{low:+.1f} to {high:+.1f}, p = {p_drawn:.3f}"
    )


def resampled_means(differences, n_times=4000):
    """Return means over sets of resampled rows, of sets that are resampled too."""
    rng, means = np.random.default_rng(0), []
    for _ in range(n_times):
        sets = rng.integers(len(differences), size=len(differences))
        rows = (differences[i] for i in sets)
        means.append(np.mean([rng.choice(each, len(each)).mean() for each in rows]))
    return np.array(means)


def show(options):
    """Print the scores by set and the differences from the concatenation."""
    data = pd.read_json(options.results, lines=True, dtype={"right": str})
    data = data[data.minilm == options.minilm]
    labels = ["64", "250", "1,000", "3,000", "all"]
    data["size"] = pd.cut(data.rows, [0, 64, 250, 1000, 3000, np.inf], labels=labels)
    nets = [name for name in data.method.unique() if name not in BASELINES]
    for size in labels:
        part = data[data["size"] == size]
        # Sets without all methods are not complete yet.
        part = part.groupby("set").filter(lambda p: p.method.nunique() == len(nets) + 3)
        if len(part):
            table = part.pivot_table("accuracy", "set", "method")
            table.loc["mean"] = table.mean()
            print(f"\n{size} rows\n{table.round(1).to_string()}")
            for method in nets:
                print(compared(part, method))
    for method in nets:
        print("\nall sizes:", compared(data, method))


def main():
    """Measure what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--part", choices=list(SETS), default="development")
    parser.add_argument("--sets", nargs="*")
    sizes = [64, 250, 1000, 3000, 6000]
    parser.add_argument("--rows", type=int, nargs="*", default=sizes)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minilm", action="store_true")
    parser.add_argument("--folder", default="features")
    options = parser.parse_args()
    measure(options)
    show(options)


if __name__ == "__main__":
    main()
