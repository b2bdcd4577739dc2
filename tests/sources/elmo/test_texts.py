"""ELMo reads original texts as in training, and tokens get their words."""

import numpy as np
import pytest

from sk_metaembed import ElmoEmbedding, Tokenizer, TokenSequences

from ...rounding import assert_close
from ...tiny_elmo import OPTIONS, Oracle, files, random_weights

TEXTS = [
    "The KING (queen) was good.",
    "the king queen was good",
    "",
    "?!",
    "\u200b",
    "Don't stop: 3.5% of the café!",
]
ELMO_WORDS = Tokenizer(lowercase=False, punctuation=True)


def source(**options):
    return ElmoEmbedding(*files(), **options)


def embed(X, **options):
    """Return blocks by name."""
    blocks = source(**options).fit_transform(X).blocks
    return {block.name: block for block in blocks}


@pytest.fixture(scope="module")
def layers():
    """Return what ELMo makes of the words of each text, written out in numpy."""
    oracle = Oracle(OPTIONS, random_weights(OPTIONS))
    rows = ELMO_WORDS.transform(TEXTS).to_list()
    return [oracle.sentence(words) if words else None for words in rows]


def test_tokens_get_the_words_in_their_places(layers):
    tokens = Tokenizer().transform(TEXTS)
    blocks = embed(tokens)
    assert {block.level for block in blocks.values()} == {"token"}
    words = ELMO_WORDS.transform(TEXTS)
    for i, expected in enumerate(layers):
        spelled = [word.lower() for word in words[i]]
        selected = [j for j, word in enumerate(spelled) if word.isalnum()]
        assert [spelled[j] for j in selected] == tokens[i]
        rows = slice(*tokens.offsets[i : i + 2])
        if not selected:
            continue
        for k in range(3):
            assert_close(blocks[f"layer{k}"].values[rows], expected[k][selected])
    # Both texts have the same tokens.
    assert tokens[0] == tokens[1]
    first, second = np.split(blocks["layer2"].values[: tokens.offsets[2]], 2)
    assert abs(first - second).max() > 0.1


def test_a_token_of_several_words_gets_their_mean(layers):
    tokens = Tokenizer(token_pattern=r"\S+").transform(TEXTS)
    result = source().fit_transform(tokens)
    i = len(TEXTS) - 1
    row = result[[i]]
    assert tokens[i] == ["don't", "stop:", "3.5%", "of", "the", "café!"]
    sizes = [3, 2, 4, 1, 1, 2]
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    for k in range(3):
        expected = [layers[i][k][part].mean(0) for part in parts]
        assert_close(row.block(f"layer{k}").values, expected)
    letters = Tokenizer(token_pattern=r"\w").transform(TEXTS[:1])
    spread = source().fit_transform(letters)
    assert_close(spread[0][:3, 8:16], layers[0][1][[0, 0, 0]])


def test_a_cache_keeps_texts_and_token_lists_apart(tmp_path):
    tokens = Tokenizer().transform(TEXTS)
    lists = TokenSequences.from_lists(tokens.to_list())
    expected = {id(X): embed(X) for X in (tokens, lists)}
    for X in (tokens, lists, tokens, lists):
        for name, block in embed(X, cache=tmp_path).items():
            assert block.level == expected[id(X)][name].level
            assert_close(block.values, expected[id(X)][name].values)


def test_tokens_that_are_not_in_the_text_are_not_known():
    tokens = Tokenizer(tokenizer=lambda text: [*text.split(), "end"]).transform(TEXTS)
    missing = tokens.types[tokens.codes] == "end"
    for preprocess in (None, "unit"):
        elmo = source(preprocess=preprocess)
        result = elmo.fit_transform(tokens)
        visible = ~missing & (tokens.types[tokens.codes] != "\u200b")
        for block in result.blocks:
            np.testing.assert_array_equal(block.known, visible)
        assert elmo.coverage_["tokens"] == pytest.approx(visible.mean())
        assert elmo.fit(tokens).coverage_["tokens"] == pytest.approx(visible.mean())
