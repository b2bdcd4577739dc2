"""Accuracy against the number of labels, on many sets, with default settings.

Rows: TF-IDF of words and pairs of words; each source alone; the source that inner folds
choose ("best source"); all sources side by side ("concat"); which of TF-IDF, the best
source and concat inner folds choose ("best of three"); the stack; and the one line
without sources. All but the last two are LogisticRegression (Ridge for numbers) on
vectors of unit length, with C = 10 below 500 rows and the best of 1, 10 and 100 in
inner folds from there. Sources: ``static`` is GloVe 100, word2vec 300 and neuralcoref
50, ``minilm`` these and MiniLM, ``mpnet`` these and both sentence encoders.
``--model2vec`` adds the classifier of model2vec, which trains the table of a static
model; its table is distilled from MiniLM, and may be in a folder.

Rows of training data are drawn by class up to 128 per class, and at random above; test
rows are the same for all. Sets and their parts are those of `_text_sets`. Results are
written line by line, and an interrupted run resumes. The tables show the mean over
draws for each set, and the mean over sets; the difference of the stack from each row
has a 95 % interval and a p-value over sets (Student's t on the means of sets, paired).

Needs ``SK_METAEMBED_DATA`` and the packages that `_text_sets` names; ``--model2vec``
needs ``model2vec[distill,train]``.
Run: python benchmarks/labels.py [--sets sst2] [--sources static] [--draws 5]
"""

import argparse
import time
import warnings
from functools import cache
from pathlib import Path

import _text_sets as text_sets
import numpy as np
import pandas as pd
from _records import append_record, interval, read_records
from scipy.stats import pearsonr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from sk_metaembed import (
    StackedMetaClassifier,
    StackedMetaRegressor,
    make_text_pipeline,
)
from sk_metaembed._core._arrays import pair_features
from sk_metaembed.datasets import encoder_path

STATIC = text_sets.STATIC
GROUPS = {
    "static": STATIC,
    "minilm": (*STATIC, "minilm"),
    "mpnet": (*STATIC, "minilm", "mpnet"),
}
SIZES = (4, 8, 16, 32, 64, 128, 500, 2000, 0)  # 0 is all rows
PER_CLASS = 128
FEW = SIZES[:6]
PAIRS = ("sick", "stsb")
MANY = 500
N_TEST = 800
MODEL2VEC = "model2vec classifier"


def rows_of(data, size, seed):
    """Return the training rows of a draw."""
    if size == 0:
        return text_sets.draw(data, None, seed)
    if size <= PER_CLASS:
        return text_sets.draw(data, size, seed)
    return text_sets.subset(data, size, seed)


def linear(data, n_rows):
    """Return the model of the plain rows."""
    model = Ridge(0.1) if data.continuous else LogisticRegression(C=10, max_iter=1000)
    if n_rows < MANY:
        return model
    grid = {"alpha": [1, 0.1, 0.01]} if data.continuous else {"C": [1, 10, 100]}
    return GridSearchCV(model, grid, cv=3)


def score(data, predicted, rows):
    """Return accuracy or Pearson's correlation, times 100."""
    if data.continuous:
        return 100 * pearsonr(predicted, data.y[rows].astype(float)).statistic
    return 100 * np.mean(predicted == data.y[rows])


def features(data, values):
    """Return vectors of unit length, or the features of pairs of them."""
    values = normalize(values)
    return pair_features(*np.split(values, 2)) if data.pairs else values


def plain(data, vectors, train, test):
    """Yield the name, prediction and seconds of each row without a stack."""
    y = data.y[train].astype(float) if data.continuous else data.y[train]
    found, scores = {}, {}
    if not data.pairs:
        texts = np.array(data.texts, dtype=object)
        begin = time.process_time()
        words = TfidfVectorizer(ngram_range=(1, 2))
        model = linear(data, len(train)).fit(words.fit_transform(texts[train]), y)
        found["TF-IDF"] = model.predict(words.transform(texts[test]))
        yield "TF-IDF", found["TF-IDF"], time.process_time() - begin
        scores["TF-IDF"] = inner_score(
            data, model, make_pipeline(words, linear(data, 0)), texts[train], y
        )
    inputs = {name: features(data, values) for name, values in vectors.items()}
    inputs["concat"] = np.hstack([*inputs.values()])
    for name, X in inputs.items():
        begin = time.process_time()
        model = linear(data, len(train)).fit(X[train], y)
        found[name] = model.predict(X[test])
        yield name, found[name], time.process_time() - begin
        scores[name] = inner_score(data, model, linear(data, 0), X[train], y)
    best = max(vectors, key=scores.get)
    yield "best source", found[best], 0.0
    best = max([best, "concat", *{"TF-IDF"} & {*found}], key=scores.get)
    yield "best of three", found[best], 0.0


def inner_score(data, fitted, model, X, y):
    """Return the mean score of a model on inner folds."""
    if hasattr(fitted, "best_score_"):
        return fitted.best_score_
    n_folds = 5
    if not data.continuous:
        n_folds = int(np.clip(np.unique(y, return_counts=True)[1].max(), 2, 5))
    return cross_val_score(model, X, y, cv=n_folds).mean()


def stacks(data, X, train, test):
    """Yield the rows of the stack and of the one line."""
    kind = StackedMetaRegressor if data.continuous else StackedMetaClassifier
    y = data.y[train].astype(float) if data.continuous else data.y[train]
    begin = time.process_time()
    model = kind(random_state=0).fit(X[train], y)
    yield "stack", model.predict(X[test]), time.process_time() - begin


def one_line(data, train, test):
    """Yield the row of the pipeline without sources."""
    begin = time.process_time()
    model = make_text_pipeline("classifier", random_state=0)
    model.fit([data.texts[i] for i in train], data.y[train])
    predicted = model.predict([data.texts[i] for i in test])
    yield "one line", predicted, time.process_time() - begin


@cache
def static_table(folder):
    """Return a model2vec model distilled from MiniLM, stored in a folder."""
    from model2vec import StaticModel
    from model2vec.distill import distill

    path = Path(folder) / "model2vec-minilm"
    if not path.exists():
        minilm = distill(encoder_path("minilm"), pca_dims=256, device="cpu")
        minilm.save_pretrained(path)
    return StaticModel.from_pretrained(path)


def trained_table(data, folder, train, test):
    """Yield the row of model2vec's classifier."""
    from model2vec.train import StaticModelForClassification

    begin = time.process_time()
    model = StaticModelForClassification.from_static_model(model=static_table(folder))
    labels = data.y[train].astype(str)
    model.fit([data.texts[i] for i in train], labels.tolist(), device="cpu")
    found = np.asarray(model.predict([data.texts[i] for i in test]))
    of_labels = dict(zip(labels.tolist(), data.y[train], strict=True))
    predicted = np.array([of_labels[label] for label in found.tolist()])
    yield MODEL2VEC, predicted, time.process_time() - begin


def runs(options, name, group, size, seed):
    """Return the result of each row of one draw."""
    data = text_sets.load(name)
    train, test = rows_of(data, size, seed), data.test[:N_TEST]
    if not data.continuous:
        test = test[np.isin(data.y[test], data.y[train])]
    found = []
    if options.model2vec:
        found = trained_table(data, options.folder, train, test)
    else:
        vectors = text_sets.vectors(name, GROUPS[group], options.folder)
        X = text_sets.embedded(name, GROUPS[group], options.folder)
        found = [*plain(data, vectors, train, test), *stacks(data, X, train, test)]
        if group == "static" and not data.pairs:
            found += one_line(data, train, test)
    return [
        {"row": row, "score": score(data, predicted, test), "seconds": seconds}
        for row, predicted, seconds in found
    ]


def is_too_large(name, size):
    """Return whether a set has not that many rows for a size."""
    data = text_sets.load(name)
    if size == 0:
        return False
    if size > PER_CLASS:
        return size > 0.8 * len(data.train)
    return size * len(np.unique(data.y)) > 0.8 * len(data.train) and not data.continuous


def kind(row):
    """Return which of the two kinds of rows a row belongs to."""
    return row if row == MODEL2VEC else "linear"


def measure(options):
    """Compute what is missing, and return all results."""
    done = read_records(options.results)
    keys = {
        (r["set"], r["sources"], r["size"], r["draw"], kind(r["row"])) for r in done
    }
    own = MODEL2VEC if options.model2vec else "linear"
    for draw in range(options.draws):
        for size in options.sizes:
            for name in options.sets:
                if is_too_large(name, size) or (draw >= 3 and size not in FEW):
                    continue
                if own != "linear" and text_sets.load(name).pairs:
                    continue
                for group in options.sources if own == "linear" else ["static"]:
                    if (name, group, size, draw, own) in keys:
                        continue
                    place = {"set": name, "sources": group, "size": size, "draw": draw}
                    for result in runs(options, name, group, size, draw):
                        done.append(place | result)
                        append_record(options.results, done[-1])
    return pd.DataFrame(done)


def summary(results, group, pairs):
    """Print the mean over sets of each row by size, and the difference of the stack."""
    own = results[(results.sources == group) & (results.set.isin(PAIRS) == pairs)]
    means = own.groupby(["row", "size", "set"]).score.mean().unstack("set")
    sizes = [s for s in SIZES if s in means.index.get_level_values("size")]
    labels = ["all" if s == 0 else f"{s:,}" for s in sizes]
    kind = "sets of pairs" if pairs else "sets of texts"
    print(f"\n{group}: mean over {kind}; stack minus the row, 95 % interval, p\n")
    print("| | " + " | ".join(labels) + " |\n" + "|---" * (len(sizes) + 1) + "|")
    order = [*dict.fromkeys(own.row)]
    for row in order:
        cells = []
        for size in sizes:
            if (row, size) not in means.index:
                cells.append("")
                continue
            values = means.loc[(row, size)].dropna()
            cell = f"{values.mean():.1f}"
            if row != "stack" and ("stack", size) in means.index:
                gap = (means.loc[("stack", size)] - means.loc[(row, size)]).dropna()
                if len(gap) > 1:
                    cell += " ({:+.1f} ± {:.1f}, {:.3f})".format(*interval(gap))
            cells.append(cell)
        print(f"| {row} | " + " | ".join(cells) + " |")


def worst(results, group):
    """Print the cells of a set and size where the stack is below the best of three.

    Those by more than a standard error of the paired difference over draws.
    """
    own = results[results.sources == group]
    table = own.pivot_table(
        index=["set", "size", "draw"], columns="row", values="score"
    )
    if not {"stack", "best of three"} <= {*table.columns}:
        return
    gaps = (table["stack"] - table["best of three"]).dropna().groupby(["size", "set"])
    cells = gaps.agg(["mean", "sem", "size"])
    below = cells[cells["mean"] < -cells["sem"].fillna(0)]
    print(f"\n{group}: stack below the best of three, {len(below)} of {len(cells)}\n")
    print(below.round(1).to_string())


def by_set(results, group):
    """Print the score of every set, row and size."""
    own = results[results.sources == group]
    table = own.groupby(["set", "row", "size"]).score.mean().unstack("size")
    print(table.round(1).to_string())
    seconds = own.groupby(["row", "size"]).seconds.mean().unstack("size")
    print("seconds\n", seconds.round(2).to_string())


def plot(results, path):
    """Draw the mean over sets against the number of labels."""
    import matplotlib.pyplot as plt

    groups = [g for g in GROUPS if g in set(results.sources)]
    figure, axes = plt.subplots(1, len(groups), figsize=(4.4 * len(groups), 4))
    for ax, group in zip(np.atleast_1d(axes), groups, strict=True):
        own = results[(results.sources == group) & results["size"].isin(FEW)]
        own = own[~own.set.isin(PAIRS)]
        sets = own.groupby("set")["size"].nunique()
        own = own[own.set.isin(sets.index[sets == sets.max()])]
        of_sets = own.groupby(["row", "size", "set"]).score.mean()
        means = of_sets.groupby(["row", "size"]).mean().unstack("size")
        for row, style in PICTURE.items():
            if row in means.index:
                label = "one line, no source" if row == "one line" else row
                ax.plot(means.columns, means.loc[row], label=label, **style)
        ax.set_xscale("log", base=2, subs=[])
        ax.set_xticks([*means.columns], [str(s) for s in means.columns])
        ax.set_xlabel("labels per class")
        ax.set_title(f"{TITLES[group]} ({own.set.nunique()} sets)", fontsize=10)
    np.atleast_1d(axes)[0].set_ylabel("accuracy in %, mean over sets")
    np.atleast_1d(axes)[0].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


PICTURE = {
    "stack": {"color": "C3", "linewidth": 2.5},
    "concat": {"color": "C0"},
    "best source": {"color": "C2", "linestyle": "--"},
    "one line": {"color": "C3", "linestyle": ":"},
    "TF-IDF": {"color": "0.4", "linestyle": "-."},
}
TITLES = {
    "static": "three static sources",
    "minilm": "static sources and MiniLM",
    "mpnet": "static, MiniLM and MPNet",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=list(text_sets.EVALUATION))
    parser.add_argument("--sources", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--model2vec", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("text_sets"))
    parser.add_argument("--results", type=Path, default=Path("labels.jsonl"))
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with few rows
        results = measure(options)
    for group in GROUPS:
        if group in set(results.sources):
            summary(results, group, pairs=False)
            summary(results, group, pairs=True)
            worst(results, group)
            by_set(results, group)
    if options.picture:
        plot(results, options.picture)


if __name__ == "__main__":
    main()
