"""
From a table with texts to the best pipeline
============================================

A table contains 19,302 reports of aircraft that hit birds: height, speed, species, and
remarks in free text. This example predicts from a report whether the strike had an
effect on the flight. It builds a pipeline for the table, shows how each column is
encoded, measures the gain of each source, and explains predictions by their words.
"""

# %%
# 2,400 reports are drawn, so that the page runs in a minute or two; a quarter of them
# is held out until the end. One strike in ten had an effect. Remarks are written after
# the event and may mention the effect, so the task is to classify reports, not to
# predict events.
from sklearn.model_selection import train_test_split

from sk_metaembed.datasets import load_birds

birds = load_birds()
X, _, y, _ = train_test_split(
    birds.data, birds.target, train_size=2400, stratify=birds.target, random_state=1
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=1)
columns = ["height", "speed", "phase_of_flt", "species", "remarks"]
print(X[columns].head(6).to_string(max_colwidth=60))

# %%
# The pipeline
# ------------
# `make_table_pipeline` encodes each column by what it contains, and predicts by a sum
# of gradient boosting, extremely randomized trees and a linear model. Strings with many
# values are encoded by their n-grams. Two sources are passed in addition, GloVe vectors
# and MiniLM, a transformer. MiniLM reads each string once: `cache` stores the vectors
# for all folds and candidates.
import tempfile

import pandas as pd

from sk_metaembed import PretrainedEmbedding, TransformerEmbedding, make_table_pipeline
from sk_metaembed.datasets import encoder_path, load_glove_6b_50d

folder = tempfile.TemporaryDirectory()
minilm = TransformerEmbedding(encoder_path("minilm"), output="mean", cache=folder.name)
glove = PretrainedEmbedding(load_glove_6b_50d())
pipe = make_table_pipeline(
    "classifier", [("glove", glove), ("minilm", minilm)], n_jobs=2, random_state=0
)
best = pipe.fit(X, y)
decided = pd.DataFrame(best["table"].columns_).drop(columns=["n_missing"])
print(decided.round(2).to_string(index=False))

# %%
# The learners have these weights in the sum, and these accuracies on reports that were
# not used for fitting. Nine reports in ten have no effect, so that the accuracy is at
# least .9.
learners = pd.DataFrame({"weight": best[-1].weights_, "score": best[-1].scores_})
print(learners.to_string(float_format="{:.3f}".format))

# %%
# The gain of each source
# -----------------------
# `compare_sources` scores the table without the strings that are encoded by sources,
# with one source for them, and with all. The figure shows the area under the ROC curve
# with 95 % intervals, and the table the gain of all sources over each row in the same
# folds.
import matplotlib.pyplot as plt

from sk_metaembed.inspection import compare_sources

comparison = compare_sources(pipe, X, y, cv=3, random_state=0)
comparison.plot()
print(comparison.frame().to_string(float_format="{:.3f}".format))

# %%
# The decrease of the score when the values of one column are shuffled.
comparison.plot(part="columns")
plt.show()

# %%
# Evaluate the pipeline, and the same pipeline without remarks, on the held-out reports,
# with 95 % intervals over 1,000 bootstrap samples.
import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

without = clone(pipe).fit(X.drop(columns="remarks"), y)
truth, rng = y_test.to_numpy(), np.random.default_rng(0)
samples = rng.integers(len(truth), size=(1000, len(truth)))
for name, model in {"all columns": best, "without remarks": without}.items():
    p = model.predict_proba(X_test)[:, 1]
    low, high = np.quantile(
        [roc_auc_score(truth[rows], p[rows]) for rows in samples], [0.025, 0.975]
    )
    print(f"{name:<16}{roc_auc_score(truth, p):.3f} ({low:.3f} to {high:.3f})")

# %%
# The words behind a prediction
# -----------------------------
# Explain three held-out reports of 8 to 14 words: the most confident correct prediction
# of an effect, the most confident correct prediction of no effect, and the most
# confident error. `explain` leaves out one word at a time. With background rows, it
# also replaces the value of each column by theirs.
from sk_metaembed.inspection import explain

p = pd.Series(best.predict_proba(X_test)[:, 1], index=X_test.index)
p = p[X_test["remarks"].str.split().str.len().between(8, 14)]
error = (p - y_test[p.index]).abs()
chosen = [error[y_test == 1].idxmin(), error[y_test == 0].idxmin(), error.idxmax()]
reports = X_test.loc[chosen]
explanation = explain(best, reports, column="remarks", background=X[:100], target=1)
explanation  # noqa: B018

# %%
# The contributions of the columns to the same predictions.
labels = [
    f"predicted {p[row]:.0%}, {'an' if y_test[row] else 'no'} effect" for row in chosen
]
columns = explanation.frame("columns").set_axis(labels)
columns = columns.drop(columns=["sequence", "target"]).T
print(columns.round(2).to_string())
folder.cleanup()
