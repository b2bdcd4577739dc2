"""Label sets: DynamicMetaClassifier beside linear models, from 64 to 3,000 rows.

Columns of texts and of labels in tables, with words of GloVe 100, word2vec 300 and
neuralcoref 50. Labels have at least 100 rows. TF-IDF and the concatenation of mean
vectors end in a logistic regression per label with cross-validated C.

Prints the label ranking average precision and the micro-averaged F1 at probabilities of
one half, in %, and the log loss summed over labels, for each set and number of rows.

Needs ``SK_METAEMBED_DATA``. Run: python benchmarks/dynamic_label_sets.py [--rows 250]
"""

import argparse
from itertools import product

import numpy as np
import pandas as pd
from _data import data_path
from _text_sets import STATIC, embedding
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from sk_metaembed import (
    DynamicMetaClassifier,
    EmbeddingUnion,
    Pooling,
    StackedMetaClassifier,
    Tokenizer,
)

SETS = {
    "genres by description": ("netflix", "description", "listed_in", ", "),
    "countries by description": ("netflix", "description", "country", ", "),
    "genres by title": ("netflix", "title", "listed_in", ", "),
    "cuisines by address": ("michelin", "Address", "Cuisine", ", "),
    "genres of apps": ("googleplay", "App", "Genres", ";"),
}
MIN_ROWS, N_TEST = 100, 1500


def load(table, text, label, separator):
    """Return texts, and indicators of their frequent labels."""
    data = pd.read_csv(data_path("tables", f"{table}.csv.gz"))
    data = data.dropna(subset=[text, label]).drop_duplicates(text)
    labels = data[label].str.split(separator).explode().str.strip()
    counts = labels.value_counts()
    labels = labels[labels.map(counts) >= MIN_ROWS].groupby(level=0).agg(set)
    texts = data.loc[labels.index, text].astype(str).to_numpy()
    return texts, MultiLabelBinarizer().fit_transform(labels)


def log_loss(Y, probabilities):
    """Return the mean over rows of the log losses of all labels."""
    p = np.clip(probabilities, 1e-7, 1 - 1e-7)
    return -(Y * np.log(p) + (1 - Y) * np.log(1 - p)).sum(axis=1).mean()


def negative_log_loss(model, X, Y):
    """Score a model in a search."""
    return -log_loss(Y, model.predict_proba(X))


def linear():
    """Return a logistic regression per label, C chosen by cross-validation."""
    model = OneVsRestClassifier(LogisticRegression(max_iter=300, tol=1e-3))
    grid = {"estimator__C": [1, 10, 100]}
    return GridSearchCV(model, grid, cv=3, scoring=negative_log_loss)


def methods(texts, X, means, seed):
    """Return pairs of an estimator and its input by name."""
    return {
        "TF-IDF": (make_pipeline(TfidfVectorizer(sublinear_tf=True), linear()), texts),
        "concatenation": (linear(), means),
        "StackedMetaClassifier": (StackedMetaClassifier(), X),
        "DynamicMetaClassifier": (DynamicMetaClassifier(random_state=seed), X),
    }


def measure(name, sizes, n_seeds):
    """Yield a record for each number of rows, draw and method."""
    texts, Y = load(*SETS[name])
    order = np.random.default_rng(0).permutation(len(Y))
    test, pool = order[:N_TEST], order[N_TEST:]
    union = EmbeddingUnion([(source, embedding(source)) for source in STATIC])
    X = union.fit_transform(Tokenizer().transform(texts.tolist()))
    means = Pooling().fit_transform(X)
    for n_rows, seed in product(sizes, range(n_seeds)):
        train = np.random.default_rng(seed).permutation(pool)[:n_rows]
        varies = np.ptp(Y[train], axis=0) > 0
        for method, (model, data) in methods(texts, X, means, seed).items():
            p = np.zeros((len(test), Y.shape[1]))
            model.fit(data[train], Y[train][:, varies])
            p[:, varies] = model.predict_proba(data[test])
            yield {
                "set": name,
                "rows": n_rows,
                "method": method,
                "precision": 100 * label_ranking_average_precision_score(Y[test], p),
                "F1": 100 * f1_score(Y[test], p > 0.5, average="micro"),
                "log loss": log_loss(Y[test][:, varies], p[:, varies]),
            }


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--rows", type=int, nargs="+", default=[64, 250, 1000, 3000])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    parts = [measure(name, options.rows, options.seeds) for name in options.sets]
    data = pd.DataFrame([record for part in parts for record in part])
    for score in ("precision", "F1", "log loss"):
        table = data.pivot_table(score, ["rows", "set"], "method")
        print(f"\n{score}\n{table.round(2).to_string()}")
        print(data.pivot_table(score, "rows", "method").round(2).to_string())


if __name__ == "__main__":
    main()
