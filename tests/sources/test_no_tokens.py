"""Fits on texts without words, such as emoji, and on files that are named by a str."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import sk_metaembed as sk

EMOJI = ["\U0001f600\U0001f600", "\U0001f389 !!"]
SOURCES = [
    sk.Word2VecEmbedding(min_count=1),
    sk.FastTextEmbedding(min_count=1, bucket=10),
    sk.LSAEmbedding(2),
    sk.DistilledEmbedding(sk.LSAEmbedding(2)),
    sk.EstimatorEmbedding(sk.Pooling()),
    sk.FunctionEmbedding(lambda words: np.ones((len(words), 2)), "type"),
    sk.FunctionEmbedding(lambda rows: np.ones((len(rows), 2)), "sequence"),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
def test_texts_without_words_are_named(source):
    expected = (
        r"found no tokens in 2 sequences\. The texts have no words, such as "
        rf"'{EMOJI[0]}'\. .*Tokenizer\(punctuation=True\) before this step"
    )
    for fit in (source.fit, source.fit_transform):
        with pytest.raises(ValueError, match=expected):
            fit(EMOJI)
        with pytest.raises(ValueError, match="2 sequences. All of them are empty"):
            fit([[], []])


def test_symbols_can_be_tokens():
    tokens = sk.Tokenizer(punctuation=True).fit_transform(EMOJI)
    assert sk.LSAEmbedding(2).fit(tokens).transform(tokens).blocks[0].known.all()
    texts = sk.EstimatorEmbedding(CountVectorizer(token_pattern=r"\S"), as_text=True)
    assert texts.fit(EMOJI).transform(EMOJI).blocks[0].known.all()


@pytest.mark.parametrize(
    "source", SOURCES[:2], ids=lambda source: type(source).__name__
)
def test_a_corpus_named_by_a_str_needs_a_path(source):
    with pytest.raises(TypeError, match=r"'corpus.txt'\. .* pathlib.Path\(\.\.\.\)"):
        source.fit("corpus.txt")
    with pytest.raises(TypeError, match=r"'corpus.txt'\. .* Read a file first"):
        source.fit_transform("corpus.txt")
