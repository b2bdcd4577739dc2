"""Accuracy against the number of labels, on many sets, with default settings.

Rows: TF-IDF of words and pairs of words; each source alone; the source that inner folds
choose ("best source"); all sources side by side ("concat"); the stack; and the one line
without sources. All but the last two are LogisticRegression (Ridge for numbers) on
vectors of unit length, with C = 10 below 500 rows and the best of 1, 10 and 100 in
inner folds from there. Sources: ``static`` is GloVe 100, word2vec 300 and neuralcoref
50, ``minilm`` these and MiniLM, ``mpnet`` these and both sentence encoders. ``--nets``
adds the networks with default settings, on the static sources.

Rows of training data are drawn by class up to 128 per class, and at random above; test
rows are the same for all. Sets and their parts are those of `_text_sets`. Results are
written line by line, and an interrupted run resumes. The tables show the mean over
draws for each set, and the mean over sets; the difference of the stack from each row
has a 95 % interval and a p-value over sets (Student's t on the means of sets, paired).

Needs ``SK_METAEMBED_DATA`` and the packages that `_text_sets` names.
Run: python benchmarks/labels.py [--sets sst2] [--sources static] [--draws 5] [--nets]
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import _text_sets as text_sets
import numpy as np
import pandas as pd
from scipy.stats import pearsonr, t
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from sk_metaembed import (
    DynamicMetaClassifier,
    EmbeddingUnion,
    StackedMetaClassifier,
    StackedMetaRegressor,
    make_text_pipeline,
)
from sk_metaembed._core._arrays import pair_features

STATIC = text_sets.STATIC
GROUPS = {
    "static": STATIC,
    "minilm": (*STATIC, "minilm"),
    "mpnet": (*STATIC, "minilm", "mpnet"),
}
SIZES = (4, 8, 16, 32, 64, 128, 500, 2000, 0)  # 0 is all rows
PER_CLASS = 128
MANY = 500
N_TEST = 800
NETS = {"DME": "word", "CDME": "context", "unweighted": "uniform"}


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
    if not data.pairs:
        texts = np.array(data.texts, dtype=object)
        begin = time.process_time()
        model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2)), linear(data, len(train))
        )
        model.fit(texts[train], data.y[train])
        yield "TF-IDF", model.predict(texts[test]), time.process_time() - begin
    inputs = {name: features(data, values) for name, values in vectors.items()}
    inputs["concat"] = np.hstack([*inputs.values()])
    found, scores = {}, {}
    y = data.y[train].astype(float) if data.continuous else data.y[train]
    for name, X in inputs.items():
        begin = time.process_time()
        model = linear(data, len(train)).fit(X[train], y)
        found[name] = model.predict(X[test])
        yield name, found[name], time.process_time() - begin
        if name != "concat":
            scores[name] = inner_score(data, X[train], y)
    yield "best source", found[max(scores, key=scores.get)], 0.0


def inner_score(data, X, y):
    """Return the mean score on inner folds."""
    n_folds = 5
    if not data.continuous:
        n_folds = int(np.clip(np.unique(y, return_counts=True)[1].max(), 2, 5))
    model = Ridge(0.1) if data.continuous else LogisticRegression(C=10, max_iter=1000)
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


def nets(name, data, train, test, seed):
    """Yield the rows of the networks with default settings, on static sources."""
    union = EmbeddingUnion([(s, text_sets.embedding(s)) for s in STATIC])
    X = union.fit_transform(text_sets.tokens(data))
    for label, attention in NETS.items():
        begin = time.process_time()
        model = DynamicMetaClassifier(attention, random_state=seed)
        model.fit(X[train], data.y[train])
        yield label, model.predict(X[test]), time.process_time() - begin


def runs(options, name, group, size, seed):
    """Return the result of each row of one draw."""
    data = text_sets.load(name)
    train, test = rows_of(data, size, seed), data.test[:N_TEST]
    if not data.continuous:
        test = test[np.isin(data.y[test], data.y[train])]
    found = []
    if options.nets:
        found = nets(name, data, train, test, seed)
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


def measure(options):
    """Compute what is missing, and return all results."""
    path = options.results
    done = []
    if path.exists():
        done = [json.loads(line) for line in path.read_text().splitlines()]
    keys = {
        (r["set"], r["sources"], r["size"], r["draw"], r["row"] in NETS) for r in done
    }
    for draw in range(options.draws):
        for size in options.sizes:
            for name in options.sets:
                if is_too_large(name, size) or (
                    draw >= 3 and (size == 0 or size > 500)
                ):
                    continue
                if options.nets and text_sets.load(name).pairs:
                    continue
                for group in ["static"] if options.nets else options.sources:
                    if (name, group, size, draw, options.nets) in keys:
                        continue
                    place = {"set": name, "sources": group, "size": size, "draw": draw}
                    with path.open("a") as file:
                        for result in runs(options, name, group, size, draw):
                            done.append(place | result)
                            file.write(json.dumps(done[-1]) + "\n")
    return pd.DataFrame(done)


def summary(results, group):
    """Print the mean over sets of each row by size, and the difference of the stack."""
    own = results[results.sources == group]
    means = own.groupby(["row", "size", "set"]).score.mean().unstack("set")
    sizes = [s for s in SIZES if s in means.index.get_level_values("size")]
    labels = ["all" if s == 0 else f"{s:,}" for s in sizes]
    print(f"\n{group}: mean over sets; stack minus the row, 95 % interval, p\n")
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
                    error = gap.std(ddof=1) / np.sqrt(len(gap))
                    half = error * t.ppf(0.975, len(gap) - 1)
                    p = 2 * t.sf(abs(gap.mean() / max(error, 1e-9)), len(gap) - 1)
                    cell += f" ({gap.mean():+.1f} ± {half:.1f}, {p:.3f})"
            cells.append(cell)
        print(f"| {row} | " + " | ".join(cells) + " |")


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
        own = results[(results.sources == group) & results["size"].isin(SIZES[:6])]
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
    parser.add_argument("--nets", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("text_sets"))
    parser.add_argument("--results", type=Path, default=Path("labels.jsonl"))
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with few rows
        results = measure(options)
    for group in GROUPS:
        if group in set(results.sources):
            summary(results, group)
            by_set(results, group)
    if options.picture:
        plot(results, options.picture)


if __name__ == "__main__":
    main()
