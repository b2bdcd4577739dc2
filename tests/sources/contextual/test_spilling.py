"""Token-level vectors beyond memory_limit are in files, with equal values."""

import gc
import os
import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest

from sk_metaembed import ElmoEmbedding, Pooling, TransformerEmbedding

from ... import tiny_bert, tiny_elmo

TEXTS = ["the cat sat", "", "a dog and a cat", "rain", "the cat sat"] * 6


def make(kind, **options):
    if kind == "elmo":
        return ElmoEmbedding(*tiny_elmo.files(), **options)
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    return TransformerEmbedding(pair, layers=(1, 2), **options)


def open_spills():
    """Return how many files without a name this process has open or mapped."""
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            count += "(deleted)" in os.readlink(link)
        except FileNotFoundError:
            continue
    return count + Path("/proc/self/maps").read_text(encoding="utf-8").count(
        "(deleted)"
    )


def mapped(block):
    """Return the memory map of which the values of a block are a view, or None."""
    values = block.values
    while values is not None and not isinstance(values, np.memmap):
        values = getattr(values, "base", None)
    return values


needs_proc = pytest.mark.skipif(
    not os.path.isdir(f"/proc/{os.getpid()}/fd"), reason="needs Linux's /proc"
)


@pytest.mark.parametrize(
    ("kind", "preprocess", "cached"),
    [("elmo", None, True), ("bert", "unit-center-unit", False), ("bert", None, True)],
)
def test_vectors_in_files_are_equal(kind, preprocess, cached, tmp_path):
    options = {"preprocess": preprocess, "cache": tmp_path if cached else None}
    whole = make(kind, **options).fit_transform(TEXTS)
    spilled = make(kind, **options, memory_limit=100).fit_transform(TEXTS)
    assert spilled == whole
    of_tokens = [block for block in spilled.blocks if block.level == "token"]
    assert of_tokens
    assert all(mapped(block) is not None for block in of_tokens)
    assert all(mapped(block) is None for block in whole.blocks)
    rows = [5, 0, 1, 2]
    assert spilled[rows] == whole[rows]
    assert spilled[3:9] == whole[3:9]
    assert Pooling().fit_transform(spilled).tolist() == (
        Pooling().fit_transform(whole).tolist()
    )
    enough = make(kind, **options, memory_limit=10**6).fit_transform(TEXTS)
    assert all(mapped(block) is None for block in enough.blocks)


@pytest.fixture
def pair():
    return [
        make("bert", memory_limit=limit).fit_transform(TEXTS) for limit in (None, 0)
    ]


def _seen(X):
    values = mapped(X.blocks[0])
    name = "" if values is None else str(values.filename)
    return name, [block.values.sum() for block in X.blocks]


@pytest.mark.slow  # starts processes
def test_copies_and_workers_have_the_same_values(pair, tmp_path):
    whole, spilled = pair
    assert pickle.loads(pickle.dumps(spilled)) == whole
    joblib.dump(spilled, tmp_path / "x")
    assert joblib.load(tmp_path / "x") == whole
    # Large enough for joblib to pass arrays by their files.
    X = make("bert", memory_limit=0).fit_transform(TEXTS * 700)
    assert X.blocks[0].values.nbytes > 2**20
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(_seen)(X) for _ in range(2))
    for name, sums in results:
        np.testing.assert_array_equal(sums, _seen(X)[1])
        if os.path.isdir("/proc/self/fd"):
            assert name.startswith(f"/proc/{os.getpid()}/fd/")


@needs_proc
def test_files_are_deleted_with_the_vectors():
    gc.collect()
    before = open_spills()
    X = make("elmo", memory_limit=0).fit_transform(TEXTS)
    assert open_spills() > before
    rows = X[[2, 3]]
    del X
    gc.collect()
    assert open_spills() > before  # a subset reads from it
    del rows
    gc.collect()
    assert open_spills() == before


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs POSIX")
def test_a_full_disk_raises_with_a_remedy(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="memory_limit is exceeded.* Set TMPDIR"):
        make("bert", memory_limit=0).fit_transform(TEXTS)
