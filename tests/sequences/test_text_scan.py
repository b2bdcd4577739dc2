"""Compiled splitting, and containers of texts that are not split yet."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import pytest

from sk_metaembed import Tokenizer
from sk_metaembed.sequences import _split, _text_scan

TEXTS = ["To be, or NOT to be:", "", "naïve CAFÉ", "that's the question" * 3, "\n"]


@pytest.fixture
def unsplit(monkeypatch):
    """A function from texts to a TokenSequences that is not split yet."""
    monkeypatch.setattr(_split, "use_compiled", lambda seconds: True)
    monkeypatch.setattr(_text_scan, "CHUNK", 16)
    return Tokenizer().transform


READS = {
    "types": lambda t: t.types.tolist(),
    "codes": lambda t: t.codes.tolist(),
    "row": lambda t: t[0],
    "slice": lambda t: t[1:].to_list(),
    "repr": repr,
    "html": lambda t: t._repr_html_(),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).to_list(),
    "copy": lambda t: deepcopy(t).to_list(),
    "spans": lambda t: t.spans().tolist(),
    "shape": lambda t: (len(t), t.shape, t.n_types, t.n_tokens),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads_are_those_of_split_texts(read, unsplit, monkeypatch):
    tokens = unsplit(TEXTS)
    assert not tokens._is_split
    result = read(tokens)
    monkeypatch.setattr(_split, "use_compiled", lambda seconds: False)
    assert result == read(Tokenizer().transform(TEXTS))


def test_length_and_rows_do_not_split(unsplit):
    tokens = unsplit(TEXTS)
    assert (len(tokens), tokens.shape) == (5, (5,))
    assert tokens.index is None and tokens.missing is None
    assert tokens.texts.tolist() == TEXTS
    assert not tokens._is_split
    assert tokens == unsplit(TEXTS)
    assert tokens._is_split


def test_threads_split_the_same_texts(unsplit):
    tokens = unsplit(TEXTS * 50)
    expected = unsplit(TEXTS * 50).to_list()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: tokens.to_list(), range(8)))
    assert all(result == expected for result in results)


def test_missing_rows_are_known_before_texts_are_split(unsplit):
    step = Tokenizer(missing="empty")
    tokens = step.transform(["To be", None])
    assert not tokens._is_split
    assert tokens.missing.tolist() == [False, True]
    assert tokens.to_list() == [["to", "be"], []]


def test_errors_are_raised_at_once(unsplit):
    with pytest.raises(TypeError, match="row 1 is of type int"):
        unsplit(["a", 3])


def test_texts_that_are_not_ascii_are_expected_to_take_longer(monkeypatch):
    seconds = []
    monkeypatch.setattr(_split, "use_compiled", lambda s: bool(seconds.append(s)))
    Tokenizer().transform(["Strasse"])
    Tokenizer().transform(["Strässe"])
    assert seconds[1] > 2 * seconds[0]
