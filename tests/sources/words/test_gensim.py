"""Training on streams gives the same vectors as training on lists."""

import gzip
import threading

import numpy as np
import pytest

from sk_metaembed import FastTextEmbedding, Word2VecEmbedding

TEXTS = ["The cat sat on the mat.", "", "A dog, a cat and the rain!"] * 40
TINY = {"vector_size": 6, "min_count": 2, "epochs": 2, "random_state": 3}
SOURCES = [
    Word2VecEmbedding(**TINY),
    Word2VecEmbedding(**TINY, sg=True, oov="mean", preprocess="center"),
    FastTextEmbedding(**TINY, bucket=100),
]


class Again:
    """An iterable that starts over in each pass."""

    def __init__(self, function):
        self.function = function

    def __iter__(self):
        return self.function()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    return path


def same(source, other):
    assert source.vocabulary_ == other.vocabulary_
    np.testing.assert_array_equal(source.vectors_, other.vectors_)
    assert source.coverage_ == pytest.approx(other.coverage_)
    assert source.dims_ == other.dims_
    new = [*TEXTS[:3], "unseen catty"]
    assert source.transform(new) == other.transform(new)


@pytest.mark.parametrize("source", SOURCES, ids=repr)
def test_streams_and_lists_give_equal_vectors(source, path):
    expected = type(source)(**source.get_params()).fit(TEXTS)
    compressed = path.with_name("corpus.txt.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    for stream in (path, compressed, Again(lambda: iter(TEXTS))):
        same(source.fit(stream), expected)


def test_memory_holds_a_few_thousand_rows_only():
    alive, most = [0], [0]

    class Text(str):
        def __del__(self):
            alive[0] -= 1

    def rows():
        for _ in range(30_000):
            alive[0] += 1
            most[0] = max(most[0], alive[0])
            yield Text("the cat sat")

    source = Word2VecEmbedding(**{**TINY, "epochs": 1})
    source.fit(Again(rows))
    assert most[0] < 10_000
    assert source.coverage_ == {"types": 1.0, "tokens": 1.0}


def test_exhausted_streams_are_rejected(path):
    class Once:
        def __init__(self):
            self.rows = iter(TEXTS)

        def __iter__(self):
            return self.rows

    source = Word2VecEmbedding(**TINY)
    message = "120 rows with .* in the first pass, and 0 with 0 in the last"
    with pytest.raises(ValueError, match=message):
        source.fit(Once())
    assert not hasattr(source, "vectors_")
    # A generator on its own is a collection that has to be read, as everywhere.
    same(source.fit(text for text in TEXTS), Word2VecEmbedding(**TINY).fit(TEXTS))


def test_errors_of_a_stream_are_raised_in_any_pass(tmp_path):
    n_threads = threading.active_count()
    for bad_pass in (1, 3):
        passes = [0]

        def rows(passes=passes, bad_pass=bad_pass):
            passes[0] += 1
            yield from TEXTS
            if passes[0] == bad_pass:
                raise OSError("the disk is gone")

        with pytest.raises(OSError, match="the disk is gone"):
            Word2VecEmbedding(**TINY).fit(Again(rows))
    assert threading.active_count() == n_threads
    (tmp_path / "a.txt").write_bytes(b"tea\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: byte 0xe9"):
        Word2VecEmbedding(**TINY).fit(tmp_path / "a.txt")
