"""Sets of many labels: time and accuracy of the stack next to one-vs-rest TF-IDF.

Descriptions of films and series, with their genres, countries and, from 200 labels on,
their longer words as labels: 1,000 rows to fit, and 1,000 others to score. One-vs-rest
is a logistic regression per label with C = 10. Seconds are of the processor, with one
thread.

Needs ``SK_METAEMBED_DATA``. Run: OMP_NUM_THREADS=1 python benchmarks/many_labels.py
"""

import time
import warnings

import numpy as np
import pandas as pd
from _data import data_path
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from sk_metaembed import make_text_pipeline

N_ROWS = 1000


def load(n_labels):
    """Return texts, and indicators of the most frequent labels of the first half."""
    data = pd.read_csv(data_path("tables", "netflix.csv.gz"))
    data = data.dropna(subset=["description"]).drop_duplicates("description")
    data = data.sample(2 * N_ROWS, random_state=0)
    names = data["listed_in"] + ", " + data["country"].fillna("")
    rows = [{*each.split(", ")} - {""} for each in names]
    if n_labels >= 200:
        for row, text in zip(rows, data["description"], strict=True):
            row |= {f"word {word}" for word in text.lower().split() if len(word) > 5}
    counts = pd.Series([label for row in rows[:N_ROWS] for label in row]).value_counts()
    labels = sorted(counts.index[:n_labels])
    rows = [row & {*labels} for row in rows]
    Y = MultiLabelBinarizer(classes=labels).fit_transform(rows)
    return data["description"].tolist(), Y


def main():
    """Print the seconds and the scores."""
    warnings.simplefilter("ignore")
    linear = OneVsRestClassifier(LogisticRegression(C=10, max_iter=300))
    models = {
        "one-vs-rest TF-IDF": make_pipeline(TfidfVectorizer(sublinear_tf=True), linear),
        "make_text_pipeline": make_text_pipeline(random_state=0),
    }
    for n_labels in (100, 300):
        texts, Y = load(n_labels)
        for name, model in models.items():
            start = time.process_time()
            model.fit(texts[:N_ROWS], Y[:N_ROWS])
            seconds = time.process_time() - start
            p = model.predict_proba(texts[N_ROWS:])
            truth = Y[N_ROWS:]
            f1 = f1_score(truth, p > 0.5, average="micro", zero_division=0.0)
            precision = label_ranking_average_precision_score(truth, p)
            p = np.clip(p, 1e-7, 1 - 1e-7)
            loss = -np.where(truth, np.log(p), np.log1p(-p)).sum(axis=1).mean()
            print(
                f"{n_labels} labels, {name}: {seconds:.1f} s, ranking precision "
                f"{precision:.3f}, micro F1 {f1:.3f}, log loss {loss:.2f}"
            )


if __name__ == "__main__":
    main()
