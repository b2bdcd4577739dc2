"""Aligner: the pieces of words, of whole batches."""

import numpy as np
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, trainers

from sk_metaembed import Tokenizer
from sk_metaembed.sources._sentences import OriginalText
from sk_metaembed.sources.transformer import _alignment
from sk_metaembed.sources.transformer._alignment import Aligner

from ... import tiny_bert

CORPUS = ["the film was good", "a  good plot, queens and kings"] * 3


def trained(pre_tokenizer):
    backend = Backend(models.BPE(unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=["[UNK]"])
    backend.train_from_iterator(CORPUS, trainer)
    return fast(backend)


def fast(backend):
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="[UNK]"
    )


TOKENIZERS = {
    "words": tiny_bert.tokenizer(),
    "bytes": trained(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "spaces": trained(pre_tokenizers.Metaspace()),
    "no words": trained(pre_tokenizers.Split("a", "isolated")),
}


def plain(aligner, sentence):
    """Return ids, number of prefix pieces, and (piece, word) pairs, one by one."""
    words = sentence
    if isinstance(sentence, OriginalText):
        text, spans = sentence.text, sentence.spans.tolist()
    else:
        spans, text = [], ""
        for word in words:
            text += " " if text and word else ""
            spans.append([len(text), len(text) + len(word)] if word else [-1, -1])
            text += word
    prefix, text = aligner.prefix, text.encode("utf-8", "replace").decode()
    encoded = aligner.tokenizer(
        prefix + text, add_special_tokens=False, return_offsets_mapping=True
    )
    pieces = []
    for start, stop in encoded["offset_mapping"]:
        stop = max(stop, start + 1)
        stop += (prefix + text)[start:stop].isspace()
        pieces.append((start - len(prefix), stop - len(prefix)))
    n_prefix = sum(stop <= 0 for _, stop in pieces)
    pairs = [
        (piece, word)
        for word, (start, stop) in enumerate(spans)
        for piece, (begin, end) in enumerate(pieces)
        if start >= 0 and begin < stop and end > start
    ]
    return encoded["input_ids"], n_prefix, pairs


texts = st.text("the film was\t\n\u3000 good\u00e9\U0001f600,'", max_size=20)
words = st.text("the go\u00e9\ud800", max_size=4)
token_lists = st.lists(words, min_size=1, max_size=5)


def original(text):
    tokens = Tokenizer().transform([text])
    return OriginalText(text, tokens.spans().astype(np.int32).tobytes())


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("prefix", ["", "the: "])
@given(
    st.lists(texts.map(original), min_size=1, max_size=6)
    | st.lists(token_lists, min_size=1, max_size=6)
)
def test_pieces_of_batches_are_those_of_a_plain_loop(name, prefix, sentences):
    aligner = Aligner(TOKENIZERS[name], prefix)
    if not aligner.has_offsets:
        pytest.skip("words are split one by one")
    pieces, n_words = aligner.encode(sentences), 0
    pairs = list(zip(pieces.at.tolist(), pieces.words.tolist(), strict=True))
    for i, sentence in enumerate(sentences):
        start, stop = pieces.offsets[i : i + 2]
        ids, n_prefix, expected = plain(aligner, sentence)
        assert pieces.ids[start:stop].tolist() == ids
        assert pieces.n_prefix[i] == n_prefix
        expected = [(start + piece, n_words + word) for piece, word in expected]
        assert pairs[: len(expected)] == expected
        pairs, n_words = pairs[len(expected) :], n_words + len(sentence)
    assert not pairs


parts = st.sampled_from(["the", "film", "was", "plotting", "[MASK]", "(b).", ""])
spaced = st.tuples(parts | texts, st.sampled_from(["", *[" "] * 5, "  ", "\t"]))


@pytest.mark.parametrize("name", TOKENIZERS)
@given(st.lists(st.lists(spaced, max_size=6), min_size=1, max_size=4))
def test_words_that_are_split_once_have_the_pieces_of_their_texts(name, rows):
    tokenizer = TOKENIZERS[name]
    split = _alignment.make_splitter(tokenizer)
    assert isinstance(split, _alignment.WordSplitter) == (name != "no words")
    batch = ["".join(map("".join, row)) for row in rows]
    for _ in range(2):  # the second time all words are known
        expected = _alignment.split_texts(tokenizer, batch)
        for found, right in zip(split(batch), expected, strict=True):
            np.testing.assert_array_equal(found, right)


def test_few_pieces_are_remembered(monkeypatch):
    monkeypatch.setattr(_alignment, "_MOST_PIECES", 5)
    tokenizer = tiny_bert.tokenizer()
    split = _alignment.make_splitter(tokenizer)
    for text in [*CORPUS, "film " * 50, "x" * 100, CORPUS[0]]:
        expected = _alignment.split_texts(tokenizer, [text])
        np.testing.assert_array_equal(split([text]).spans, expected.spans)
        assert len(split._split.ids) <= 5 + len(text)


# The tokenizers of families of models


LETTERS = "abcdefghijklmnopqrstuvwxyzT1é東."


def made(kind, **content):
    """Return a tokenizer of a class of transformers with this vocabulary."""
    if transformers.__version__.startswith("4."):
        pytest.skip("transformers 4 makes its tokenizers from files only")
    return getattr(transformers, kind)(**content)


def byte_level(kind, **options):
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"]
    names = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġk", "ki", "Ġki"]
    vocab = {name: i for i, name in enumerate(names)}
    merges = [("Ġ", "k"), ("k", "i"), ("Ġk", "i")]
    return made(kind, vocab=vocab, merges=merges, **options)


def unigram(kind):
    special = "<pad> </s> <unk> <s> <cls> <sep> <mask> [CLS] [SEP] [PAD] [UNK] [MASK]"
    vocab = [(name, 0.0) for name in special.split()]
    vocab += [("▁", -3.0), ("▁k", -2.0), ("▁king", -1.0), ("ki", -2.5)]
    vocab += [(letter, -4.0) for letter in LETTERS]
    return made(kind, vocab=vocab)


def spaces_first(kind, n_bytes=256):
    special = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(n_bytes))]
    names = [*special, "▁", *LETTERS, "▁k", "ki", "▁ki"]
    merges = [("▁", "k"), ("k", "i"), ("▁k", "i")]
    vocab = {name: i for i, name in enumerate(names)}
    return made(kind, vocab=vocab, merges=merges)


def whole_words():
    """Return a tokenizer of words that does not split texts."""
    names = ["[UNK]", "The", "a", "kin", "New York"]
    vocab = {name: i for i, name in enumerate(names)}
    return fast(Backend(models.WordLevel(vocab, unk_token="[UNK]")))


MODEL_TOKENIZERS = {
    "T5": lambda: unigram("T5Tokenizer"),
    "XLM-RoBERTa": lambda: unigram("XLMRobertaTokenizer"),
    "XLNet": lambda: unigram("XLNetTokenizer"),
    "Llama": lambda: spaces_first("LlamaTokenizer"),
    "Gemma": lambda: spaces_first("GemmaTokenizer"),
    "GPT-2": lambda: byte_level("GPT2Tokenizer"),
    "RoBERTa": lambda: byte_level("RobertaTokenizer"),
    "RoBERTa, spaces": lambda: byte_level("RobertaTokenizer", add_prefix_space=True),
    "ByT5": lambda: transformers.ByT5Tokenizer(),
}


@pytest.mark.parametrize("kind", MODEL_TOKENIZERS)
def test_pieces_of_the_text_are_assigned_to_its_words(kind):
    tokenizer = MODEL_TOKENIZERS[kind]()
    words = ["The", "kin", "a", "king", "東", "1", "b"]
    aligner = Aligner(tokenizer)
    pieces, spaced = aligner.encode([words]), aligner.encode([["", *words, ""]])
    assert spaced.ids.tolist() == pieces.ids.tolist()
    assert (spaced.words - 1).tolist() == pieces.words.tolist()
    whole = tokenizer(" ".join(words))
    left, right = aligner.special.left, aligner.special.right
    ids = [*(i for i, _ in left), *pieces.ids, *(i for i, _ in right)]
    assert ids == whole["input_ids"]
    for i, word in enumerate(words):
        own = pieces.ids[pieces.at[pieces.words == i]]
        assert tokenizer.decode(own).strip() == word


@pytest.mark.parametrize(
    "make",
    [
        tiny_bert.tokenizer,
        *(MODEL_TOKENIZERS[kind] for kind in ("T5", "XLM-RoBERTa", "XLNet", "Llama")),
        MODEL_TOKENIZERS["RoBERTa, spaces"],
        lambda: spaces_first("LlamaTokenizer", n_bytes=0),  # drops characters
        whole_words,
    ],
)
def test_token_lists_have_the_pieces_of_separate_words(make):
    tokenizer = make()
    words = ["The", "", "New York", "\u200b", "東京", "\ue000kin", "\ufdfa", "a", ""]
    pieces = Aligner(tokenizer).encode([words])
    options = {"is_split_into_words": True, "add_special_tokens": False}
    expected = tokenizer([words], **options)
    assert pieces.ids.tolist() == expected["input_ids"][0]
    assert pieces.at.tolist() == list(range(len(pieces.ids)))
    assert pieces.words.tolist() == expected.word_ids(0)


@pytest.mark.parametrize("kind", MODEL_TOKENIZERS)
def test_pieces_of_original_texts_are_assigned_to_their_tokens(kind):
    tokenizer = MODEL_TOKENIZERS[kind]()
    aligner = Aligner(tokenizer)
    text = "The kin. a Tking  東 1.1 é (b)."
    tokens = Tokenizer().transform([text])
    places = tokens.spans().tobytes() if aligner.has_offsets else None
    pieces = aligner.encode([OriginalText(text, places)], as_text=places is None)
    expected = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert pieces.ids.tolist() == expected
    if not aligner.has_offsets:
        assert len(pieces.words) == 0
        return
    assert (np.diff(pieces.words) >= 0).all()
    assert set(pieces.words.tolist()) == set(range(tokens.n_tokens))
