"""The subwords of words, of texts and token lists, by the tokenizers of many models.

An `Echo` in place of a network returns the id and the position of each subword.
"""

from functools import cache

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, trainers

from sk_metaembed import Tokenizer, TransformerEmbedding

from ... import tiny_bert

pytestmark = pytest.mark.filterwarnings("ignore:.* are unknown to")
CORPUS = ["the film was good", "a  good plot, queens and kings"] * 3
SPLITTER = "sk_metaembed.sources.transformer._alignment"


class Echo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        size = {"hidden_size": 2, "num_hidden_layers": 0, "vocab_size": 2}
        self.config = transformers.BertConfig(**size, max_position_embeddings=9999)
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, input_ids, attention_mask, output_hidden_states, return_dict):
        places = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        states = torch.stack([input_ids, places], dim=-1).float()
        return transformers.modeling_outputs.BaseModelOutput(hidden_states=(states,))


def echo(tokenizer, **options):
    return TransformerEmbedding((Echo(), tokenizer), **options)


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


@cache
def fitted(name, prefix):
    return echo(TOKENIZERS[name], prompt=prefix).fit(["the film"])


def subwords_by_hand(tokenizer, prefix, text, spans):
    """Return the mean id and position of the subwords of each span, one by one."""
    text = text.encode("utf-8", "replace").decode()
    options = {"add_special_tokens": False, "return_offsets_mapping": True}
    encoded, subwords = tokenizer(prefix + text, **options), []
    for start, stop in encoded["offset_mapping"]:
        stop = max(stop, start + 1)
        stop += (prefix + text)[start:stop].isspace()
        subwords.append((start - len(prefix), stop - len(prefix)))
    rows, n_left = [], bool(tokenizer.cls_token)
    for start, stop in spans:
        own = [i for i, (a, b) in enumerate(subwords) if 0 <= start < b and a < stop]
        parts = [(encoded["input_ids"][i], i + n_left) for i in own]
        rows.append(np.mean(parts, axis=0) if parts else np.zeros(2))
    return rows


texts = st.text("the film was\t\n\u3000 good\u00e9\U0001f600,'", max_size=20)
words = st.text("the go\u00e9\ud800", max_size=4)
parts = st.sampled_from(["the", "film", "was", "plotting", "[MASK]", "(b).", ""])
spaced = st.tuples(parts | texts, st.sampled_from(["", *[" "] * 5, "  ", "\t"]))
mixed = st.lists(spaced, max_size=6).map(lambda row: "".join(map("".join, row)))
token_lists = st.lists(words, min_size=1, max_size=5)


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("prefix", ["", "the: "])
@given(
    st.lists(texts | mixed, min_size=1, max_size=6)
    | st.lists(token_lists, min_size=1, max_size=6)
)
def test_subwords_of_batches_are_those_of_a_plain_loop(name, prefix, rows):
    source, tokenizer, expected = fitted(name, prefix), TOKENIZERS[name], []
    if not source._aligner.has_offsets:
        pytest.skip("words are split one by one")
    tokens = rows
    if isinstance(rows[0], str):
        tokens = Tokenizer().transform(rows)
        spans = np.split(tokens.spans(), tokens.offsets[1:-1])
        for text, part in zip(rows, spans, strict=True):
            expected += subwords_by_hand(tokenizer, prefix, text, part)
    else:
        for row in rows:
            text, spans = "", []
            for word in row:
                text += " " if text and word else ""
                spans.append((len(text), len(text) + len(word)) if word else (-1, -1))
                text += word
            expected += subwords_by_hand(tokenizer, prefix, text, spans)
    for _ in range(2):  # the second time all words are known
        block = source.transform(tokens).blocks[0]
        np.testing.assert_allclose(block.values, np.reshape(expected, (-1, 2)), 1e-5)


def test_few_subwords_are_remembered(monkeypatch):
    monkeypatch.setattr(f"{SPLITTER}._MOST_SUBWORDS", 5)
    rows = [*CORPUS, "film " * 50, "x" * 100, CORPUS[0]]
    source, expected = echo(TOKENIZERS["words"]).fit(CORPUS), fitted("words", "")
    for text in rows:
        assert source.transform([text]).blocks == expected.transform([text]).blocks
        assert len(source._aligner._split._split.ids) <= 5 + len(text)


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
def test_words_are_what_their_subwords_decode_to(kind):
    tokenizer = MODEL_TOKENIZERS[kind]()
    words = ["The", "kin", "a", "king", "東", "1", "b"]
    ids = tokenizer(" ".join(words))["input_ids"]
    for rows in ([words], [["", *words, ""]]):
        first, last = (
            echo(tokenizer, subword=subword).fit_transform(rows).blocks[0]
            for subword in ("first", "last")
        )
        known = first.known
        assert known.tolist() == [bool(word) for word in rows[0]]
        assert all(ids[int(i)] == subword for subword, i in first.values[known])
        starts, stops = first.values[known, 1], last.values[known, 1] + 1
        spans = np.stack([starts, stops], axis=1).astype(int).tolist()
        assert [tokenizer.decode(ids[a:b]).strip() for a, b in spans] == words
    texts = ["The kin. a Tking  東 1.1 é (b)."]
    assert echo(tokenizer).fit_transform(texts).blocks[0].known.all()


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
def test_token_lists_have_the_subwords_of_separate_words(make):
    tokenizer = make()
    words = ["The", "", "New York", "\u200b", "東京", "\ue000kin", "\ufdfa", "a", ""]
    block = echo(tokenizer).fit_transform([words]).blocks[0]
    encoded = tokenizer([words], is_split_into_words=True)
    owners = np.array([-1 if w is None else w for w in encoded.word_ids(0)])
    subwords = np.column_stack([encoded["input_ids"][0], np.arange(len(owners))])
    for i, row in enumerate(block.values):
        own = subwords[owners == i]
        assert block.known[i] == (len(own) > 0)
        np.testing.assert_allclose(row, own.mean(0) if len(own) else [0, 0], 1e-5)


def test_a_subword_may_be_of_several_words():
    """A byte-level tokenizer glues what the Tokenizer splits."""
    tokenizer = byte_level("GPT2Tokenizer")
    letters = Tokenizer(token_pattern=r"\w").transform(["a kik"])
    block = echo(tokenizer).fit_transform(letters).blocks[0]
    names = tokenizer.convert_ids_to_tokens(block.values[:, 0].astype(int).tolist())
    assert names == ["a", "Ġki", "Ġki", "k"]
