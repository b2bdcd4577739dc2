"""Accuracy and CPU seconds on sequences that are not language, by model.

Rows: TF-IDF of 1 to 3-grams of tokens with logistic regression; one-hot tokens by
position with a random forest; mean word2vec vectors with logistic regression;
`make_text_pipeline()`, alone, on 3-mers, and with more effort; and
`DynamicMetaClassifier()`, on tokens and on word2vec. All have default settings; those
of the first three are in this file.

Sets and their roles are those of `_sequence_sets`. Each has five stratified folds,
which are the same for all rows; seconds are those of fit and prediction of a fold, on
one thread. Results are written line by line, and an interrupted run resumes. The table
has the mean over folds; the difference from the n-grams has a 95 % interval over folds
of a set, and one over sets (Student's t, paired).

Needs the wheels of `_sequence_sets`.
Run: OMP_NUM_THREADS=1 python benchmarks/sequences.py [--role evaluation] [--models net]
"""

import argparse
import time
from pathlib import Path

import _sequence_sets as sequence_sets
import numpy as np
import pandas as pd
from _records import complete, interval
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from sk_metaembed import (
    DynamicMetaClassifier,
    Pooling,
    Word2VecEmbedding,
    make_text_pipeline,
)

BASELINE = "n-grams"


def ngrams(row, sizes=(1, 2, 3)):
    """Return the n-grams of a row of tokens."""
    return [tuple(row[i : i + n]) for n in sizes for i in range(len(row) - n + 1)]


def kmers(rows):
    """Return rows of 3-mers; a row of fewer tokens is one of them."""
    return [[" ".join(gram) for gram in ngrams(row, (3,)) or [row]] for row in rows]


def columns(rows):
    """Return tokens by position, up to the length that 95 % of rows do not exceed."""
    n = int(np.percentile([len(row) for row in rows], 95))

    def cut(rows):
        return np.array([(row + [""] * n)[:n] for row in rows], dtype=object)

    return FunctionTransformer(cut)


def word2vec():
    """Return the source of the guide."""
    return Word2VecEmbedding(32, min_count=1, epochs=20, n_jobs=1, random_state=0)


MODELS = {
    BASELINE: lambda rows: make_pipeline(
        TfidfVectorizer(analyzer=ngrams, sublinear_tf=True),
        LogisticRegression(C=10, max_iter=1000),
    ),
    "positions": lambda rows: make_pipeline(
        columns(rows),
        OneHotEncoder(handle_unknown="ignore"),
        RandomForestClassifier(300, random_state=0),
    ),
    "word2vec": lambda rows: make_pipeline(
        word2vec(), Pooling(), LogisticRegression(max_iter=1000)
    ),
    "one line": lambda rows: make_text_pipeline(random_state=0),
    "one line, 3-mers": lambda rows: make_pipeline(
        FunctionTransformer(kmers), *unnamed(make_text_pipeline(random_state=0))
    ),
    "one line, medium": lambda rows: make_text_pipeline(
        effort="medium", random_state=0
    ),
    "net": lambda rows: DynamicMetaClassifier(random_state=0),
    "net on word2vec": lambda rows: make_pipeline(
        word2vec(), DynamicMetaClassifier(random_state=0)
    ),
}


def unnamed(pipeline):
    """Return the steps of a pipeline without their names."""
    return [step for _, step in pipeline.steps]


def result(name, model, fold):
    """Return the accuracy in percent and the CPU seconds of a model in one fold."""
    data = sequence_sets.load(name)
    train, test = data.folds[fold]
    rows = [data.rows[i] for i in train]
    start = time.process_time()
    fitted = MODELS[model](rows).fit(rows, data.y[train])
    right = fitted.predict([data.rows[i] for i in test]) == data.y[test]
    seconds = time.process_time() - start
    return {"accuracy": 100 * float(np.mean(right)), "seconds": seconds}


def measure(options):
    """Compute what is missing, and return the results of a role."""
    sets = options.sets or sequence_sets.ROLES[options.role]
    cases = [(s, m, fold) for fold in range(5) for m in options.models for s in sets]
    names = ("set", "model", "fold")
    return pd.DataFrame(complete(options.results, names, cases, result))


def report(results):
    """Print accuracy and seconds by set, and the differences from the n-grams."""
    order = [*dict.fromkeys(results["set"])], [*dict.fromkeys(results["model"])]
    for values, digits in (("accuracy", 1), ("seconds", 1)):
        table = results.pivot_table(index="model", columns="set", values=values)
        table = table.loc[order[1], order[0]]
        table["mean"] = table.mean(axis=1)
        print(f"\n{values}\n", table.round(digits).to_string())
    if BASELINE not in order[1]:
        return
    wide = results.pivot_table(
        index=["set", "fold"], columns="model", values="accuracy"
    )
    print(f"\nminus {BASELINE}: mean and 95 % interval over folds; over sets\n")
    for model in order[1]:
        gaps = (wide[model] - wide[BASELINE]).unstack("set")[order[0]]
        columns = [*(gaps[s] for s in order[0]), gaps.mean()]
        cells = ["{:+.1f} ± {:.1f}".format(*interval(each)[:2]) for each in columns]
        print(f"| {model} | " + " | ".join(cells) + " |")


def main():
    """Run what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--role", choices=sequence_sets.ROLES, default="evaluation", help="which sets"
    )
    parser.add_argument("--sets", nargs="+", help="instead of those of a role")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--results", type=Path, default=Path("sequences.jsonl"))
    report(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
