"""Few labels per class: SetFit, ContrastiveEmbedding and a frozen sentence encoder.

All use MiniLM or mpnet (`encoder_path`). ``setfit`` is SetFit with its
default settings: one epoch over pairs of texts in batches of 16, and logistic
regression; ``contrastive`` is `ContrastiveEmbedding` with default settings and
`LogisticRegression`; ``frozen`` is `TransformerEmbedding` and
``LogisticRegression(C=10)``. Training rows are drawn by class, the 500 test rows are
the same for all draws. Seconds are those of `fit`.

Results are written line by line, and an interrupted run resumes. Differences from
``contrastive`` are paired by set and draw, with a 95 % interval and p-value of
Student's t; with several sets, those of the means of sets too.

Needs ``SK_METAEMBED_DATA``, setfit 1.2 and the packages that `_text_sets` names.
Run: python benchmarks/few_labels.py [--sets sst2] [--sizes 8] [--draws 3]
     [--encoder mpnet]
"""

import argparse
import time
import warnings
from pathlib import Path

import _text_sets as text_sets
import numpy as np
import pandas as pd
from _records import append_record, read_records
from scipy.stats import t
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import ContrastiveEmbedding, Pooling, TransformerEmbedding
from sk_metaembed.datasets import encoder_path

N_TEST = 500


class SetFit:
    """SetFit as an estimator."""

    def __init__(self, path, seed):
        self.path = path
        self.seed = seed

    def fit(self, X, y):
        """Train the encoder and its logistic regression."""
        from datasets import Dataset
        from setfit import SetFitModel, Trainer, TrainingArguments

        self.model_ = SetFitModel.from_pretrained(self.path)
        self.classes_, codes = np.unique(y, return_inverse=True)
        options = TrainingArguments(
            num_epochs=1, batch_size=16, seed=self.seed, report_to="none"
        )
        data = Dataset.from_dict({"text": list(X), "label": codes.tolist()})
        Trainer(model=self.model_, args=options, train_dataset=data).train()
        return self

    def predict(self, X):
        """Return the class of each text."""
        predicted = self.model_.predict(list(X), show_progress_bar=False)
        return self.classes_[np.asarray(predicted)]


def model_of(name, path, seed):
    """Return an unfitted model that reads texts with the encoder in `path`."""
    if name == "setfit":
        return SetFit(path, seed)
    if name == "contrastive":
        source = ContrastiveEmbedding(path, random_state=seed)
        return make_pipeline(source, Pooling(), LogisticRegression())
    source = TransformerEmbedding(path, output="mean", preprocess="unit")
    return make_pipeline(source, Pooling(), LogisticRegression(C=10))


def result(name, path, data, size, seed):
    """Return accuracy in percent, and seconds of fit."""
    train = text_sets.draw(data, size, seed)
    test = np.random.default_rng(0).permutation(data.test)[:N_TEST]
    texts = np.array(data.texts, dtype=object)
    model = model_of(name, path, seed)
    start = time.perf_counter()
    model.fit(texts[train].tolist(), data.y[train])
    seconds = time.perf_counter() - start
    right = model.predict(texts[test].tolist()) == data.y[test]
    return 100 * float(np.mean(right)), seconds


def interval(differences):
    """Return the mean, half of its 95 % interval, and the p-value of Student's t."""
    n = len(differences)
    mean = np.mean(differences)
    if n < 2:
        return mean, np.nan, np.nan
    error = np.std(differences, ddof=1) / np.sqrt(n)
    p = 2 * t.sf(abs(mean / error), n - 1) if error else np.nan
    return mean, error * t.ppf(0.975, n - 1), p


def report(rows):
    """Print means by set and size, and paired differences."""
    table = rows.pivot_table(
        index=["size", "set"], columns="model", values=["accuracy", "seconds"]
    )
    print(table.round(1).to_string())
    wide = rows.pivot_table(
        index=["size", "set", "draw"], columns="model", values="accuracy"
    )
    for other in [c for c in wide.columns if c != "contrastive"]:
        pairs = (wide["contrastive"] - wide[other]).dropna()
        by_set = pairs.groupby(level=["size", "set"]).mean()
        for what, values in (("draws", pairs), ("sets", by_set)):
            mean, half, p = interval(values.to_numpy())
            print(
                f"contrastive - {other}: {mean:+.1f} ± {half:.1f}, p = {p:.3f} "
                f"over {len(values)} {what}"
            )


def main():
    """Run what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sets = ["sst2", "questions", "headlines", "devices"]
    parser.add_argument("--sets", nargs="+", default=sets)
    parser.add_argument("--sizes", nargs="+", type=int, default=[8])
    parser.add_argument("--draws", type=int, default=3)
    models = ["frozen", "contrastive", "setfit"]
    parser.add_argument("--models", nargs="+", default=models)
    parser.add_argument("--encoder", choices=["minilm", "mpnet"], default="minilm")
    parser.add_argument("--results", type=Path, default=Path("few_labels.jsonl"))
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    path = encoder_path(args.encoder)
    rows = read_records(args.results)
    done = {(r["set"], r["size"], r["draw"], r["model"]): r for r in rows}
    keys = [
        (name, size, draw, model)
        for draw in range(args.draws)
        for size in args.sizes
        for name in args.sets
        for model in args.models
    ]
    for key in keys:
        if key not in done:
            name, size, draw, model = key
            accuracy, seconds = result(model, path, text_sets.load(name), size, draw)
            row = dict(zip(("set", "size", "draw", "model"), key, strict=True))
            done[key] = {**row, "accuracy": accuracy, "seconds": seconds}
            append_record(args.results, done[key])
    report(pd.DataFrame(done.values()))


if __name__ == "__main__":
    main()
