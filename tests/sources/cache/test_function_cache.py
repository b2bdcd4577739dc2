"""FunctionEmbedding with the sentence cache: each entry is computed once."""

import os
import warnings

import pytest
from sklearn.base import clone

from sk_metaembed import EmbeddingCache, FunctionEmbedding

from .test_sentence_cache import CLEAN

TEXTS = ["To be", "or not", "", "to be!", "to be", "or  not", " "]


class Lengths:
    """Vectors that depend on the entry, one per entry or per token; counts calls."""

    cache_key = "lengths"

    def __init__(self, level="sequence", unknown=()):
        self.level, self.unknown = level, unknown
        self.calls = []

    def __call__(self, entries):
        self.calls.append(list(entries))
        return [None if e in self.unknown else self.vector(e) for e in entries]

    def vector(self, entry):
        if self.level != "token":
            return [float(len(entry)), 1.0]
        words = entry.split(" ") if isinstance(entry, str) else entry
        return [[float(len(word)), float(len(words))] for word in words]

    @property
    def entries(self):
        return [entry for call in self.calls for entry in call]


@pytest.mark.parametrize(
    ("level", "as_text"), [("type", False), ("token", True), ("sequence", False)]
)
def test_results_are_those_without_a_cache(level, as_text, tmp_path):
    plain, func = Lengths(level), Lengths(level)
    expected = FunctionEmbedding(plain, level, as_text=as_text).fit_transform(TEXTS)
    source = FunctionEmbedding(func, level, as_text=as_text, cache=tmp_path)
    assert source.fit_transform(TEXTS) == expected
    assert source.transform(TEXTS) == expected
    assert clone(source).fit(TEXTS[:2]).transform(TEXTS[::-1]) == expected[::-1]
    distinct = {str(entry): entry for entry in plain.entries}
    assert sorted(map(str, func.entries)) == sorted(distinct)


def test_preprocess_coverage_and_unknown_entries(tmp_path):
    options = {"level": "sequence", "preprocess": "center"}
    plain = FunctionEmbedding(Lengths(unknown=[["or", "not"]]), **options).fit(TEXTS)
    func = Lengths(unknown=[["or", "not"]])
    source = FunctionEmbedding(func, cache=tmp_path, **options).fit(TEXTS)
    assert source.coverage_ == plain.coverage_
    assert source.transform(TEXTS) == plain.transform(TEXTS)
    assert sorted(func.entries) == [["or", "not"], ["to", "be"]]  # None is stored too
    with pytest.raises(ValueError, match="Set dim"):
        FunctionEmbedding(Lengths(unknown=["a"]), "type", cache=tmp_path / "b").fit(
            ["a"]
        )
    known = FunctionEmbedding(
        Lengths(unknown=["a"]), cache=tmp_path / "b", batch_size=1
    )
    for _ in range(2):  # the first result decides the dimension
        assert known.fit_transform(["a bc"]).blocks[0].values.tolist() == [
            [0, 0],
            [2, 1],
        ]


def test_batches_are_stored_when_they_return(tmp_path):
    func = Lengths("type")

    def failing(words):
        if len(func.calls) == 2:
            raise OSError("connection lost")
        return func(words)

    failing.cache_key = "lengths"
    source = FunctionEmbedding(failing, cache=tmp_path, batch_size=2)
    with pytest.raises(OSError, match="connection lost"):
        source.fit(["a bb ccc dddd eeeee"])
    assert EmbeddingCache(tmp_path).info().entries == len(func.entries) >= 3
    again = FunctionEmbedding(func, cache=tmp_path, batch_size=2)
    assert again.fit_transform(["a bb ccc dddd eeeee"])[0][:, 0].tolist() == [
        *range(1, 6)
    ]
    assert len(set(func.entries)) == len(func.entries) == 5


def test_key_level_and_text_are_part_of_the_key(tmp_path):
    func, other = Lengths(), Lengths()
    other.cache_key = "lengths, version 2"
    for each in (func, other):
        FunctionEmbedding(each, "sequence", cache=tmp_path).fit(["a b"])
        FunctionEmbedding(each, "sequence", as_text=True, cache=tmp_path).fit(["a b"])
        FunctionEmbedding(each, cache=tmp_path).fit(["a b"])
    assert func.entries == other.entries == [["a", "b"], "a b", "a", "b"]
    assert len(EmbeddingCache(tmp_path).info().sources) == 2
    EmbeddingCache(tmp_path).clear()
    FunctionEmbedding(func, cache=tmp_path).fit(["a"])
    assert func.entries[4:] == ["a"]


def without_key(words):
    return [[1.0] for _ in words]


@pytest.mark.parametrize("key", [None, 3])
def test_a_function_needs_a_key(key, tmp_path):
    if key is not None:
        without_key.cache_key = key
    with pytest.raises(ValueError, match=r"cache_key, a str.*func\.cache_key = "):
        FunctionEmbedding(without_key, cache=tmp_path).fit(["a"])
    assert os.listdir(tmp_path) == []


def test_entries_of_another_dimension_are_computed_again(tmp_path):
    FunctionEmbedding(Lengths(), cache=tmp_path).fit(["a b"])
    func = Lengths()
    func.vector = lambda word: [1.0, 2.0, 3.0]
    source = FunctionEmbedding(func, cache=tmp_path, dim=3).fit(["a b"])
    assert source.transform(["b"])[0].tolist() == [[1.0, 2.0, 3.0]]
    assert func.entries == ["a", "b"]


def fit_and_record(directory, start, pipe):
    func = Lengths("type")
    words = " ".join(f"w{i}" for i in range(60))
    source = FunctionEmbedding(func, cache=directory, batch_size=5, dim=2)
    start.wait(20)
    with warnings.catch_warnings(action="error"):
        source.fit([words])
    pipe.send(func.entries)


def test_processes_take_turns(tmp_path):
    start = CLEAN.Event()
    pipes, workers = [], []
    for _ in range(2):
        ours, theirs = CLEAN.Pipe()
        pipes.append(ours)
        arguments = tmp_path, start, theirs
        workers.append(CLEAN.Process(target=fit_and_record, args=arguments))
        workers[-1].start()
    start.set()
    called = [word for pipe in pipes for word in pipe.recv()]
    for worker in workers:
        worker.join()
    assert sorted(called) == sorted(f"w{i}" for i in range(60))
