"""Predictors on few rows of noise and weak signal: none may be below chance.

A draw has 4 to 16 rows per class, two or three classes, and no signal or a weak one, in
texts of random words with two sources of random vectors, and in a table of numbers, a
category and a text. 600 new rows are scored. The score of a classifier is its accuracy
minus that of chance, in standard errors of chance; a regressor's is its R2 relative to
the mean of the training targets, 1 - error / error of that mean. A predictor that
learned the opposite of its training rows, as cross-validation on few rows can, would be
several standard errors below zero on the mean of the draws without signal.

Run: python benchmarks/chance.py RESULTS.jsonl --draws 1000 [--only stack net]
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np
import pandas as pd
from _records import complete

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    EmbeddedSequences,
    StackedMetaClassifier,
    StackedMetaRegressor,
    TokenSequences,
    make_table_pipeline,
    make_text_pipeline,
)

N_NEW = 600
STRENGTHS = (0.0, 0.1)
DIMS = {"a": 50, "b": 100}
VOCABULARY = np.array([f"word{i}" for i in range(500)], dtype=object)
PREDICTORS = {
    "stack": (StackedMetaClassifier, StackedMetaRegressor, "embedded"),
    "net": (DynamicMetaClassifier, DynamicMetaRegressor, "embedded"),
    "texts": (make_text_pipeline, None, "texts"),
    "table": (make_table_pipeline, None, "table"),
}


def draw(seed):
    """Return the rows of one draw in each form, classes, numbers, and how many train.

    The rows to train on come first.
    """
    rng = np.random.default_rng(seed)
    n_classes, strength = int(rng.integers(2, 4)), float(rng.choice(STRENGTHS))
    n_train = n_classes * int(rng.integers(4, 17))
    n_rows = n_train + N_NEW
    y = np.arange(n_rows) % n_classes
    numbers = y + rng.normal(size=n_rows)
    lean = rng.dirichlet(np.full(len(VOCABULARY), 0.1), n_classes)
    words = []
    for label in y:
        share = (1 - strength) / len(VOCABULARY) + strength * lean[label]
        words.append(rng.choice(VOCABULARY, 12, p=share).tolist())
    blocks, columns = [], {}
    for name, dim in DIMS.items():
        signal = np.eye(n_classes)[y] @ rng.normal(size=(n_classes, dim))
        values = 1 + strength * signal + rng.normal(size=(n_rows, dim))
        blocks.append(Block(name, values, "sequence"))
        columns |= {f"{name}{i}": values[:, i] for i in range(4)}
    texts = [" ".join(row) for row in words]
    kinds = np.array(["red", "green", "blue", "black"], dtype=object)
    kind = (rng.integers(4, size=n_rows) + (rng.random(n_rows) < strength) * y) % 4
    forms = {
        "embedded": EmbeddedSequences(TokenSequences.from_lists(words), blocks),
        "texts": texts,
        "table": pd.DataFrame({**columns, "kind": kinds[kind], "text": texts}),
    }
    return forms, y, numbers, n_train, n_classes, strength


def make(predictor, task):
    """Return a predictor without options, "classifier" or "regressor"."""
    classifier, regressor, form = PREDICTORS[predictor]
    if form != "embedded":
        return classifier(task)
    return (classifier if task == "classifier" else regressor)()


def score(predictor, task, seed):
    """Return the score of a predictor in one draw."""
    begin = time.process_time()
    forms, y, numbers, n_train, n_classes, strength = draw(seed)
    X = forms[PREDICTORS[predictor][2]]
    target = y if task == "classifier" else numbers
    with warnings.catch_warnings(action="ignore"):
        model = make(predictor, task).fit(X[:n_train], target[:n_train])
        predicted = model.predict(X[n_train:])
    if task == "regressor":
        new, mean = target[n_train:], target[:n_train].mean()
        errors = np.square(predicted - new).mean(), np.square(mean - new).mean()
        value = 1 - errors[0] / errors[1]
    else:
        chance = 1 / n_classes
        error = np.sqrt(chance * (1 - chance) / N_NEW)
        value = (np.mean(predicted == target[n_train:]) - chance) / error
    seconds = round(time.process_time() - begin, 2)
    return {"score": float(value), "strength": strength, "seconds": seconds}


def report(records):
    """Print mean and quantiles of the scores per predictor, task and strength."""
    frame = pd.DataFrame(records)
    keys = ["task", "predictor", "strength"]
    print("| task | predictor | signal | draws | mean ± se | 1 % | least | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for key, part in frame.groupby(keys):
        values = part["score"]
        cells = [
            *map(str, key),
            str(len(values)),
            f"{values.mean():.3f} ± {values.sem():.3f}",
            f"{values.quantile(0.01):.2f}",
            f"{values.min():.2f}",
            f"{part['seconds'].mean():.2f}",
        ]
        print("| " + " | ".join(cells) + " |")


def main():
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--only", nargs="+", choices=PREDICTORS, default=[*PREDICTORS])
    options = parser.parse_args()
    tasks = ("classifier", "regressor")
    cases = [*product(options.only, tasks, range(options.draws))]
    report(complete(options.results, ("predictor", "task", "seed"), cases, score))


if __name__ == "__main__":
    main()
