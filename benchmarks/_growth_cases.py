"""Operations whose time and memory grow, by what grows: see growth.py.

A case is a function of a size and a folder. It returns the call to be measured, so that
its data are made before. `CASES` has their names, axes and sizes.
"""

import os
import time
from itertools import chain, islice, repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

DIM = 50
TOKENS = 20  # per document
N_WORDS = 20_000  # of the stores in the sweep over documents
CASES = {}


class Case(NamedTuple):
    """An operation, the sizes of the default run, and those of ``--large``."""

    axis: str
    make: object
    sizes: tuple
    large: tuple


def case(name, axis, sizes, large=()):
    """Register a function as a case."""

    def register(make):
        CASES[name] = Case(axis, make, sizes, large)
        return make

    return register


def many_words(n):
    """Return n distinct words."""
    return [f"w{i}" for i in range(n)]


def documents(n, n_words=N_WORDS, tokens=TOKENS, seed=0):
    """Return n documents of words with probability 1 / rank."""
    rng = np.random.default_rng(seed)
    share = np.cumsum(1 / np.arange(1, n_words + 1))
    words, texts = np.array(many_words(n_words), object), []
    for start in range(0, n, 50_000):
        shape = min(50_000, n - start), tokens
        rows = np.searchsorted(share, rng.random(shape) * share[-1])
        texts += [" ".join(row) for row in words[rows].tolist()]
    return texts


def store(n=N_WORDS, dim=DIM, seed=0):
    """Return a store of n words in memory."""
    from sk_metaembed import WordVectors

    matrix = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    return WordVectors.from_arrays(many_words(n), matrix)


def pipeline(*more):
    """Return a fitted pipeline from texts to mean vectors."""
    from sklearn.pipeline import make_pipeline

    from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer

    steps = Tokenizer(), PretrainedEmbedding(store()), Pooling("mean")
    return make_pipeline(*steps, *more)


def fitted():
    return pipeline().fit(documents(100))


@case("strings to mean vectors", "documents", (10**3, 10**4, 10**5, 10**6))
def transform(n, folder):
    pipe, texts = fitted(), documents(n)
    return lambda: pipe.transform(texts)


def streaming(n, folder, batch_size):
    """Stream a generator of n documents: 20,000 different ones, again and again."""
    from sk_metaembed import transform_in_batches

    pipe, texts = fitted(), documents(min(n, 20_000))

    def run():
        rows = islice(chain.from_iterable(repeat(texts)), n)
        out = folder / "out.npy"
        transform_in_batches(pipe, rows, out, batch_size=batch_size, resume=False)
        out.unlink()

    return run


@case("transform_in_batches", "documents", (10**4, 10**5, 10**6), large=(10**7,))
def stream(n, folder):
    return streaming(n, folder, 10_000)


@case(
    "transform_in_batches, 100 per batch",
    "documents",
    (10**3, 10**4, 10**5),
    large=(10**6,),
)
def stream_small(n, folder):
    return streaming(n, folder, 100)


@case("Word2Vec, fit", "documents", (10**3, 10**4, 5 * 10**4), large=(5 * 10**5,))
def word2vec(n, folder):
    from sk_metaembed import Tokenizer, Word2VecEmbedding

    tokens = Tokenizer().fit_transform(documents(n))
    return lambda: Word2VecEmbedding(DIM, random_state=0).fit(tokens)


@case("fastText, fit", "documents", (10**3, 10**4), large=(10**5,))
def fasttext(n, folder):
    from sk_metaembed import FastTextEmbedding, Tokenizer

    tokens = Tokenizer().fit_transform(documents(n))
    return lambda: FastTextEmbedding(DIM, epochs=2, random_state=0).fit(tokens)


def embedded(texts, n_sources=1, dim=DIM):
    """Return documents with a block per source."""
    from sk_metaembed import Tokenizer

    return union(n_sources, dim).fit_transform(Tokenizer().fit_transform(texts))


def union(n_sources, dim=DIM):
    from sk_metaembed import EmbeddingUnion, PretrainedEmbedding

    return EmbeddingUnion(
        [
            (f"s{i}", PretrainedEmbedding(store(dim=dim, seed=i)))
            for i in range(n_sources)
        ]
    )


def network(X):
    """Return the training of a small network for one epoch."""
    from sk_metaembed import DynamicMetaClassifier

    net = DynamicMetaClassifier.published(
        projection_dim=32,
        encoder_dim=32,
        hidden_dims=(32,),
        max_epochs=1,
        early_stopping=False,
        device="cpu",
        random_state=0,
    )
    y = np.arange(len(X)) % 2
    return lambda: net.fit(X, y)


@case("DME, an epoch", "documents", (10**3, 10**4), large=(10**5,))
def dme(n, folder):
    return network(embedded(documents(n)))


@case("5 folds of embedded documents", "documents", (10**3, 10**4, 10**5, 10**6))
def folds(n, folder):
    from sklearn.model_selection import KFold

    from sk_metaembed import Pooling

    X = embedded(documents(n))

    def run():
        for train, test in KFold(5).split(np.zeros(n)):
            Pooling("mean").fit(X[train]).transform(X[test])

    return run


def cache_of(n, folder, limit=None):
    """Return the reading and writing of n sentences of 10 tokens and 16 dimensions."""
    from sk_metaembed.sources.cache._sentence_cache import SentenceCache

    entry = np.ones((10, 16), np.float32), np.ones(10, bool)
    sentences = [(f"a{i}", "b") for i in range(n)]

    def run():
        where = folder / f"cache{time.monotonic_ns()}"
        with SentenceCache(where, "model", size_limit=limit) as cache:
            for start in range(0, n, 500):
                keys = cache.keys(sentences[start : start + 500], -1)
                cache.put_many(keys, [entry] * len(keys))
            for start in range(0, n, 500):
                cache.get_many(cache.keys(sentences[start : start + 500], -1))

    return run


@case("sentence cache", "documents", (10**3, 10**4, 10**5))
def cache(n, folder):
    return cache_of(n, folder)


@case("sentence cache at its limit", "documents", (10**3, 10**4, 10**5))
def full_cache(n, folder):
    return cache_of(n, folder, limit=max(n * 250, 10**5))


@case("explain, exact", "documents", (10**2, 10**3, 10**4))
def explain_documents(n, folder):
    from sklearn.linear_model import LogisticRegression

    from sk_metaembed.inspection import explain

    texts = documents(max(n, 100))
    pipe = pipeline(LogisticRegression()).fit(texts[:100], np.arange(100) % 2)
    return lambda: explain(pipe, texts[:n])


@case("strings to mean vectors, all words new", "words", (10**4, 10**5, 10**6))
def types(n, folder):
    from sklearn.pipeline import make_pipeline

    from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer

    steps = Tokenizer(), PretrainedEmbedding(store(n)), Pooling("mean")
    pipe = make_pipeline(*steps).fit(documents(100))
    words = many_words(n)
    texts = [" ".join(words[i : i + TOKENS]) for i in range(0, n, TOKENS)]
    return lambda: pipe.transform(texts)


def text_file(n, folder):
    """Write n words of 20 dimensions as text and return the path."""
    path = folder / f"vectors{n}.txt"
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        file.write(f"{n} 20\n")
        numbers = rng.standard_normal((1000, 20)).round(5).tolist()
        lines = [" ".join(map(str, row)) for row in numbers]
        for start in range(0, n, 1000):
            rows = zip(range(start, min(start + 1000, n)), lines, strict=False)
            file.writelines(f"w{i} {line}\n" for i, line in rows)
    return path


@case("WordVectors.convert", "words", (10**4, 10**5, 10**6), large=(3 * 10**6,))
def convert(n, folder):
    from sk_metaembed import WordVectors

    path = text_file(n, folder)
    return lambda: WordVectors.convert(path, folder / f"store{time.monotonic_ns()}")


@case("WordVectors.open", "words", (10**4, 10**5, 10**6), large=(3 * 10**6,))
def open_store(n, folder):
    from sk_metaembed import WordVectors

    matrix = np.ones((n, 4), np.float32)
    path = folder / f"opened{n}"
    WordVectors.from_arrays(many_words(n), matrix, path=path)
    return lambda: WordVectors.open(path)


@case("WordVectors.lookup", "words", (10**4, 10**5, 10**6), large=(3 * 10**6,))
def lookup(n, folder):
    vectors, words = store(n, 4), many_words(n)
    order = np.random.default_rng(0).permutation(n)
    words = np.array(words, object)[order]
    return lambda: vectors.lookup(words)


def meta_embedding(name):
    """Return an unfitted meta-embedder by the name of its case."""
    import sk_metaembed as sk

    return {
        "Concat": lambda: sk.ConcatMetaEmbedding(),
        "Average": lambda: sk.AverageMetaEmbedding(),
        "SVD": lambda: sk.SVDMetaEmbedding(DIM, random_state=0),
        "GCCA": lambda: sk.GCCAMetaEmbedding(DIM),
        "Procrustes": lambda: sk.ProcrustesMetaEmbedding(),
        "1TON": lambda: sk.OneToNMetaEmbedding(DIM, max_iter=2, tol=0, random_state=0),
        "AAEME": lambda: sk.AutoencodedMetaEmbedding(
            "averaged", n_components=DIM, max_iter=2, tol=0, random_state=0
        ),
    }[name]()


def views(n_words, n_sources, dim=DIM):
    """Return words with blocks: noisy linear views of one latent space."""
    from sk_metaembed import Block, EmbeddedSequences, TokenSequences

    rng = np.random.default_rng(0)
    latent = rng.standard_normal((n_words, 60), np.float32) / np.sqrt(1 + np.arange(60))
    tokens = TokenSequences.from_lists([many_words(n_words)])
    blocks = []
    for i in range(n_sources):
        view = latent @ rng.standard_normal((60, dim)) / np.sqrt(60)
        view += 0.1 * rng.standard_normal(view.shape)
        blocks.append(Block(f"s{i}", view.astype(np.float32), "type"))
    return EmbeddedSequences(tokens, blocks)


FITS = {
    "Concat": ((10**4, 10**5), (10**6,)),
    "Average": ((10**4, 10**5), (10**6,)),
    "SVD": ((10**4, 10**5), (10**6,)),
    "GCCA": ((10**4, 10**5), (10**6,)),
    "Procrustes": ((10**4, 10**5), (10**6,)),
    "1TON": ((10**4, 3 * 10**4), (10**5, 3 * 10**5)),
    "AAEME": ((10**4, 3 * 10**4), (10**5, 3 * 10**5)),
}
SOURCES = (1, 2, 4, 8)


def register_fits():
    """Register the fit of each meta-embedder, by words and by sources."""
    for name, (sizes, large) in FITS.items():

        def by_words(n, folder, name=name):
            X = views(n, 3)
            return lambda: meta_embedding(name).fit_transform(X)

        def by_sources(n, folder, name=name):
            X = views(10_000, n)
            return lambda: meta_embedding(name).fit_transform(X)

        CASES[f"{name}, fit"] = Case("words", by_words, sizes, large)
        at_least_2 = name in ("GCCA", "Procrustes")
        sizes = SOURCES[1:] if at_least_2 else SOURCES
        CASES[f"{name}, fit by sources"] = Case("sources", by_sources, sizes, ())


register_fits()


@case("EmbeddingUnion", "sources", SOURCES)
def union_transform(n, folder):
    from sk_metaembed import Tokenizer

    tokens = Tokenizer().fit_transform(documents(50_000))
    sources = union(n).fit(tokens)
    return lambda: sources.transform(tokens)


@case("DME, an epoch by sources", "sources", SOURCES)
def dme_sources(n, folder):
    return network(embedded(documents(2000), n))


def work(folder, texts, seconds):
    """Transform texts by the dumped pipeline; return the process that did it."""
    import joblib

    pipe = joblib.load(Path(folder, "pipe"), mmap_mode="r")
    pipe.transform(texts)
    time.sleep(seconds)
    return os.getpid()


@case("memory of all workers", "workers", (1, 2, 4, 8), large=(16,))
def workers(n, folder):
    """Start n workers and return the PSS of all, in MiB, and the cost of tasks."""
    import joblib
    import psutil

    from sk_metaembed import PretrainedEmbedding, WordVectors

    matrix = np.ones((400_000, 100), np.float32)
    saved = WordVectors.from_arrays(
        many_words(400_000), matrix, path=folder / "vectors"
    )
    joblib.dump(PretrainedEmbedding(saved).fit([["w1"]]), folder / "pipe")
    del matrix

    def run():
        texts, pids = [["w1", "w2"]] * 10, set()
        with joblib.Parallel(n_jobs=n, backend="loky") as parallel:
            while len(pids) < n:  # every worker has loaded the pipeline
                calls = [joblib.delayed(work)(folder, texts, 0.3)] * (2 * n)
                pids |= set(parallel(calls))
            pss = sum(psutil.Process(pid).memory_full_info().pss for pid in pids)
            begin = time.perf_counter()
            calls = [joblib.delayed(work)(folder, texts, 0)] * 200
            parallel(calls)
            dispatch = (time.perf_counter() - begin) / 200
        return {"mib": pss / 2**20, "ms per task": 1000 * dispatch}

    return run
