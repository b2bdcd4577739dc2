"""`Lines` are split like lists of the same texts."""

import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors
from sk_metaembed.sequences import check_texts
from sk_metaembed.sequences._lines import Lines

ASCII = ["To be, or not", "", "TO-BE  42", "x" * 70, " "]
MIXED = [*ASCII, "Ünïcode WÖRDS", "İstanbul", "слова", "a\u0301 e\u0301", "plain again"]


def as_lines(texts):
    return Lines("".join(f"{text}\n" for text in texts).encode())


@pytest.mark.parametrize("texts", [ASCII, MIXED, MIXED[5:], [""]])
def test_texts(texts):
    lines = as_lines(texts)
    assert len(lines) == len(texts)
    rows = np.arange(len(texts))[::2]
    assert lines.decode(rows) == texts[::2]
    assert list(lines) == lines.to_list() == check_texts(lines) == texts
    assert lines[0] == texts[0]
    assert lines[rows].tolist() == texts[::2]
    assert list(pickle.loads(pickle.dumps(lines))) == texts


def test_no_lines():
    assert list(Lines(b"")) == []
    assert len(Tokenizer().transform(Lines(b""))) == 0


def test_many_lines_are_decoded_in_pieces():
    texts = [f"text {i} é" for i in range(3000)]
    assert as_lines(texts).to_list() == texts


@pytest.mark.parametrize("texts", [ASCII, MIXED])
@pytest.mark.parametrize("many", [1, 1000])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"lowercase": False, "normalize": None},
        {"punctuation": True, "missing": "empty"},
        {"token_pattern": r"\S+"},
        {"token_pattern": r"[^,]+"},
        {"token_pattern": r"\w-\w"},
        {"tokenizer": str.split},
    ],
)
def test_split_like_a_list(texts, many, params):
    texts = texts * many
    tokenizer = Tokenizer(**params)
    tokens = tokenizer.fit_transform(as_lines(texts))
    expected = tokenizer.transform(texts)
    assert len(tokens) == len(texts)
    assert tokens == expected
    assert tokens.types.tolist() == expected.types.tolist()
    assert tokens.texts.tolist() == texts
    assert tokens[1:4].texts.tolist() == texts[1:4]
    np.testing.assert_array_equal(tokens[:10].spans(), expected[:10].spans())
    np.testing.assert_array_equal(tokens.missing, expected.missing)
    assert pickle.loads(pickle.dumps(tokens)) == expected


@pytest.mark.parametrize("texts", [ASCII, MIXED])
def test_pooled_without_decoding(texts):
    words = ["to", "be", "42", "wörds", "plain", "слова", "istanbul"]
    vectors = np.random.default_rng(0).standard_normal((len(words), 5))
    store = WordVectors.from_arrays(words, vectors)
    pipe = make_pipeline(Tokenizer(), PretrainedEmbedding(store), Pooling()).fit(texts)
    texts = texts * 2000
    lines = as_lines(texts)
    np.testing.assert_array_equal(pipe.transform(lines), pipe.transform(texts))
    assert lines._decoded is None
