"""Helpers of the tests of the sentence cache, and the code of other processes."""

import multiprocessing
import os
import warnings

import numpy as np

from sk_metaembed import FunctionEmbedding, TokenSequences
from sk_metaembed.sources._cache import SentenceCache
from sk_metaembed.sources._contextual import sentence_blocks
from sk_metaembed.sources._sentences import (
    SentenceRows,
    VectorKind,
    distinct_sentences,
)

if os.name == "posix":  # each process is as clean as a spawned one, and starts at once
    CLEAN = multiprocessing.get_context("forkserver")
    CLEAN.set_forkserver_preload(["sk_metaembed.sources"])
else:
    CLEAN = multiprocessing.get_context("spawn")

KINDS = [VectorKind("0", 3), VectorKind("pooled", 2, "sequence")]


def vectors(words, dim=3):
    """Return vectors that depend on the whole sentence."""
    whole = sum(map(hash_of, words))
    return np.array(
        [[hash_of(w) + k, *[whole] * (dim - 1)] for k, w in enumerate(words)],
        dtype=np.float32,
    )


def hash_of(word):
    return sum(word.encode()) % 97


class Source:
    """Embeds sentences and records them."""

    def __init__(self):
        self.computed = []

    def __call__(self, sentences):
        self.computed += sentences
        known = np.array([word != "?" for words in sentences for word in words])
        parts = [vectors(words) for words in sentences]
        pooled = np.stack([part.sum(axis=0)[:2] for part in parts])
        whole = np.ones(len(pooled), bool)
        return [(np.concatenate(parts), known), (pooled, whole)]


SENTENCES = [["to", "be"], [], ["or", "?"], ["to", "be"], ["not"]]
TOKENS = TokenSequences.from_lists(SENTENCES)


def embed(cache, tokens, source, kinds=KINDS, slice_tokens=100):
    """Return (values, known) per kind of vector."""
    rows = SentenceRows(tokens, *distinct_sentences(tokens), kinds)
    blocks = sentence_blocks(cache, rows, source, slice_tokens=slice_tokens)
    return [(block.values, block.known) for block in blocks]


def run(cache, tokens=TOKENS, **kwargs):
    source = Source()
    return embed(cache, tokens, source, **kwargs), source.computed


def numbered(n, start=0):
    return [(f"sentence {i}",) for i in range(start, start + n)]


def entry(i, dim=300):
    return np.full((1, dim), i, np.float32), np.array([True])


def fill(cache, n, start=0, dim=300):
    keys = cache.keys(numbered(n, start), 0)
    cache.put_many(keys, [entry(start + i, dim) for i in range(n)])
    return keys


def equal(a, b):
    for (values, known), (others, others_known) in zip(a, b, strict=True):
        np.testing.assert_array_equal(values, others)
        np.testing.assert_array_equal(known, others_known)


def write_for_ever(directory, number, pipe):
    cache = SentenceCache(directory, "m")
    for i in range(10**6):
        fill(cache, 8, start=number * 10**6 + 8 * i)
        pipe.send(i)


def fit_and_record(directory, start, pipe):
    called = []

    def lengths(words):
        called.extend(words)
        return [[len(word)] for word in words]

    lengths.cache_key = "lengths"
    words = " ".join(f"w{i}" for i in range(60))
    source = FunctionEmbedding(lengths, cache=directory, batch_size=5, dim=1)
    start.wait(20)
    with warnings.catch_warnings(action="error"):
        source.fit([words])
    pipe.send(called)
