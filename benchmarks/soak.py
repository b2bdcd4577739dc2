"""Memory, open files and temporary files during an hour of mixed work in one process.

    python benchmarks/soak.py [--minutes 60]

Each round fits, transforms, searches, saves and loads with new random data of constant
size: static vectors (converted in each round), trained vectors, a sentence cache,
meta-embeddings, a dynamic network, a tagger, and streaming to a file. Resident memory,
open handles and files in the temporary folder are printed over time. The verdict uses
the series after the first quarter: memory is constant if a fitted line grows by less
than 5 % per hour, or by less than 30 MB over the whole run; the numbers of handles and
files must not grow.
"""

import argparse
import ctypes
import gc
import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sk_metaembed as sk
from sk_metaembed.sources._cache import SentenceCache

WORDS = [f"word{i}" for i in range(400)]
NET = {"max_epochs": 2, "device": "cpu", "random_state": 0, "projection_dim": 8}


def texts_of(rng, n=80):
    """Return texts, their labels, and one tag per word."""
    rows = [[str(w) for w in rng.choice(WORDS, 12)] for _ in range(n)]
    y = np.array([sum(int(w[4:]) % 2 for w in row) > 6 for row in rows]).astype(int)
    tags = [["A" if int(w[4:]) % 3 else "O" for w in row] for row in rows]
    return [" ".join(row) for row in rows], y, tags


def static(folder, rng, texts, y, tags):
    """Convert a file, search over two sources, save and load the result."""
    numbers = rng.normal(size=(len(WORDS), 20)).round(3)
    pairs = zip(WORDS, numbers, strict=True)
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in pairs]
    (folder / "v.txt").write_text("".join(lines))
    wv = sk.WordVectors.open(folder / "v.txt", cache_dir=folder / "stores").verify()
    other = sk.WordVectors.from_arrays(
        WORDS, numbers[:, :9], cache_dir=folder / "stores"
    )
    union = sk.make_embedding_union(
        sk.PretrainedEmbedding(wv), sk.PretrainedEmbedding(other)
    )
    pipe = make_pipeline(
        sk.Tokenizer(),
        union,
        sk.SVDMetaEmbedding(4),
        sk.Pooling(),
        LogisticRegression(),
    )
    grid = {"svdmetaembedding__n_components": [2, 4]}
    best = GridSearchCV(pipe, grid, cv=2).fit(texts, y).best_estimator_
    loaded = sk.load(sk.save(best[:-1], folder / "pipe.skm", bundle=True))
    assert np.array_equal(loaded.transform(texts), best[:-1].transform(texts))
    sk.transform_in_batches(best[:-1], texts, folder / "out.npy", batch_size=20)
    sk.export_vectors(wv, WORDS, folder / "v.bin")


def trained(folder, rng, texts, y, tags):
    """Train sources, and combine them by the other methods."""
    union = sk.make_embedding_union(
        sk.Word2VecEmbedding(vector_size=6, min_count=1, epochs=1),
        sk.FastTextEmbedding(vector_size=5, min_count=1, epochs=1, bucket=99),
        sk.EstimatorEmbedding(TfidfVectorizer(), as_text=True),
    )
    X = union.fit_transform(texts)
    words = X.select(["word2vec", "fasttext"])
    for step in (
        sk.GCCAMetaEmbedding(3),
        sk.AutoencodedMetaEmbedding(n_components=4, max_iter=2),
    ):
        sk.Pooling().fit_transform(step.fit_transform(words))


def contextual(folder, rng, texts, y, tags):
    """Compute sentences, and read them from the cache."""
    sk.EmbeddingCache(folder / "sentences").set_limit(2**22)
    with SentenceCache(folder / "sentences", "soak") as cache:
        keys = cache.keys([tuple(text.split()) for text in texts], 0)
        rows = rng.normal(size=(len(texts), 12, 16)).astype(np.float32)
        cache.put_many(keys, [(row, np.ones(12, bool)) for row in rows])
    with SentenceCache(folder / "sentences", "soak") as cache:
        assert all(entry is not None for entry in cache.get_many(keys))


def dynamic(folder, rng, texts, y, tags):
    """Train networks."""
    numbers = rng.normal(size=(len(WORDS), 7))
    stores = folder / "stores"
    wv = sk.WordVectors.from_arrays(WORDS, numbers, cache_dir=stores)
    source = sk.PretrainedEmbedding(wv)
    X = source.fit_transform(texts)
    net = sk.DynamicMetaClassifier(encoder="mean", hidden_dims=(), **NET).fit(X, y)
    path = sk.save(net, folder / "net.skm")
    assert np.array_equal(sk.load(path).predict(X), net.predict(X))
    tagger = sk.DynamicMetaTagger(encoder_dim=6, early_stopping=False, **NET)
    tagger.fit(X, tags).predict(X)
    characters = sk.TrainableCharacters(char_dim=4)
    sk.DynamicMetaClassifier(trainable=characters, encoder="mean", **NET).fit(texts, y)


WORK = (static, trained, contextual, dynamic)


def state(process, folder):
    """Return resident megabytes, open handles, and files in the temporary folder."""
    gc.collect()
    handles = process.num_fds() if hasattr(process, "num_fds") else 0
    files = sum(len(names) for _, _, names in os.walk(folder))
    return process.memory_info().rss / 2**20, handles, files


def print_trimmed(process):
    """Print the memory after the C library has released its free memory."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):  # no glibc
        return
    print(f"after malloc_trim: {process.memory_info().rss / 2**20:.0f} MB")


def verdict(series):
    """Print whether the series is constant after the warm-up; return the status."""
    begin = max(2, len(series) // 4)
    warm, rows = np.array(series[1:begin]), np.array(series[begin:])
    hours, memory = rows[:, 0] / 60, rows[:, 1]
    slope = np.polyfit(hours, memory, 1)[0] if len(rows) > 2 else 0.0
    climbed = slope * (hours[-1] - hours[0])
    flat = slope < 0.05 * memory.mean() or climbed < 30
    most = [(int(warm[:, i].max()), int(rows[:, i].max())) for i in (2, 3)]
    still = all(after <= before + 2 for before, after in most)
    print(
        f"memory: {memory.min():.0f} to {memory.max():.0f} MB after warm-up, "
        f"{slope:+.1f} MB an hour, {climbed:+.1f} MB in all: "
        f"{'flat' if flat else 'CLIMBS'}"
    )
    print(
        f"handles: at most {most[0][1]} (in the first quarter {most[0][0]}); temporary "
        f"files: at most {most[1][1]} ({most[1][0]}): "
        f"{'none is left' if still else 'LEFT'}"
    )
    return 0 if flat and still else 1


def main():
    """Run rounds for a number of minutes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    minutes = parser.parse_args().minutes
    warnings.simplefilter("ignore")
    process, rng = psutil.Process(), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as own:
        tempfile.tempdir = own  # remaining files are from the library
        series, begin, reported, n = [(0.0, *state(process, own))], time.time(), -9.0, 0
        print(" minute  round  memory MB  handles  files")
        while (passed := (time.time() - begin) / 60) < minutes or n < 8:
            for work in WORK:
                folder = Path(tempfile.mkdtemp())
                os.environ["SK_METAEMBED_CACHE"] = str(folder / "cache")
                work(folder, rng, *texts_of(rng))
                shutil.rmtree(folder)
            n += 1
            series.append((passed, *state(process, own)))
            if passed - reported > minutes / 20:
                reported = passed
                _, memory, handles, files = series[-1]
                print(f"{passed:7.1f} {n:6} {memory:10.1f} {handles:8} {files:6}")
                sys.stdout.flush()
        print(f"{n} rounds in {passed:.1f} minutes")
        print_trimmed(process)
        return verdict(series)


if __name__ == "__main__":
    sys.exit(main())
