"""Small texts and a small store that the tests of sources share."""

import numpy as np
import pytest

from sk_metaembed import WordVectors

WORDS = ["the", "cat", "dog", "runs", "Paris", "café", "東京", "sleeps"]


@pytest.fixture
def texts():
    rows = [
        ["the", "cat", "sleeps"],
        ["the", "Dog", "runs", "fast"],
        [],
        ["Paris", "café", "東京", "the"],
        ["nowhere"],
    ]
    return rows * 3


@pytest.fixture
def store(tmp_path):
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 6)) + 0.5
    return WordVectors.from_arrays(WORDS, matrix, cache_dir=tmp_path)
