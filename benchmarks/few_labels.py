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
from functools import partial
from itertools import product
from pathlib import Path

import _text_sets as text_sets
import numpy as np
import pandas as pd
from _records import complete, interval
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


def result(name, size, seed, model, path):
    """Return accuracy in percent, and seconds of fit."""
    data = text_sets.load(name)
    train = text_sets.draw(data, size, seed)
    test = np.random.default_rng(0).permutation(data.test)[:N_TEST]
    texts = np.array(data.texts, dtype=object)
    fitted = model_of(model, path, seed)
    start = time.perf_counter()
    fitted.fit(texts[train].tolist(), data.y[train])
    seconds = time.perf_counter() - start
    right = fitted.predict(texts[test].tolist()) == data.y[test]
    return {"accuracy": 100 * float(np.mean(right)), "seconds": seconds}


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
    draws = range(args.draws)
    cases = [
        (name, size, draw, model)
        for draw, size, name, model in product(
            draws, args.sizes, args.sets, args.models
        )
    ]
    names = ("set", "size", "draw", "model")
    measure = partial(result, path=path)
    report(pd.DataFrame(complete(args.results, names, cases, measure)))


if __name__ == "__main__":
    main()
