"""Words are aligned with pieces, for any tokenizer."""

import numpy as np
import pytest

from sk_metaembed import TransformerEmbedding
from sk_metaembed.sources.transformer._alignment import Aligner

from .. import tiny_bert

WORDS = ["The", "king's", "", "café", "東京", "\u200b", "goodgood"]


class Slow:
    """A tokenizer in Python, of the kind that has no `word_ids`."""

    is_fast = False
    model_max_length = 48

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self.init_kwargs = {}
        for name in ("cls_token_id", "unk_token_id", "pad_token_id", "get_vocab"):
            setattr(self, name, getattr(tokenizer, name))
        self.all_special_ids = tokenizer.all_special_ids

    def __call__(self, text, text_pair=None, **options):
        assert "is_split_into_words" not in options
        return dict(self._tokenizer(text, text_pair, **options))


@pytest.fixture(scope="module")
def bert():
    return tiny_bert.tokenizer()


def byte_level(add_prefix_space=False):
    """Return a GPT-2 tokenizer of bytes: words given apart lose their spaces."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import GPT2Tokenizer

    letters = sorted(ByteLevel.alphabet())
    vocab = {letter: i for i, letter in enumerate([*letters, "Ġk", "ki", "Ġki"])}
    merges = [("Ġ", "k"), ("k", "i"), ("Ġk", "i")]
    return GPT2Tokenizer(vocab=vocab, merges=merges, add_prefix_space=add_prefix_space)


def test_slow_tokenizers_align_like_fast_ones(bert):
    fast, slow = Aligner(bert), Aligner(Slow(bert))
    assert fast.has_offsets
    assert not slow.has_offsets
    assert fast.frame == slow.frame
    for a, b in zip(
        fast.encode([WORDS, WORDS[:1]]),
        slow.encode([WORDS, WORDS[:1]]),
        strict=True,
    ):
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_array_equal(a.words, b.words)


def test_slow_tokenizers_embed_like_fast_ones(bert):
    network = tiny_bert.network()
    rows = [WORDS, ["king"], []]
    options = {"layers": "all", "static": True, "prompt": "query:"}
    fast = TransformerEmbedding((network, bert), **options).fit_transform(rows)
    slow = TransformerEmbedding((network, Slow(bert)), **options).fit_transform(rows)
    for a, b in zip(fast.blocks, slow.blocks, strict=True):
        np.testing.assert_array_equal(a.known, b.known)
        np.testing.assert_allclose(a.values, b.values, atol=1e-5)


def test_words_without_a_piece(bert):
    (pieces,) = Aligner(bert).encode([WORDS])
    assert set(range(7)) - set(pieces.words.tolist()) == {2, 5}


def test_byte_level_words_keep_the_space_before_them():
    tokenizer = byte_level()
    aligner = Aligner(tokenizer)
    (pieces,) = aligner.encode([["a", "kin", "kg"]])
    text = tokenizer("a kin kg")["input_ids"]
    assert pieces.ids.tolist() == text
    names = tokenizer.convert_ids_to_tokens(text)
    assert names == ["a", "Ġki", "n", "Ġk", "g"]
    assert pieces.words.tolist() == [0, 1, 1, 2, 2]
    inside = aligner.encode_words(["kin"])[0].tolist()
    assert inside == text[1:3]


@pytest.mark.parametrize("words", [["", "a", ""], ["☃", "é", "a b"], ["\ud800", "a"]])
def test_byte_level_awkward_words(words):
    for tokenizer in (byte_level(), byte_level(add_prefix_space=True)):
        (pieces,) = Aligner(tokenizer).encode([words])
        assert (np.diff(pieces.words) >= 0).all()
        assert set(pieces.words.tolist()) >= {i for i, word in enumerate(words) if word}


def test_lone_surrogates_do_not_raise(bert):
    source = TransformerEmbedding((tiny_bert.network(), bert))
    assert source.fit_transform([["\ud800", "good"]]).blocks[0].known[1]


def test_a_tokenizer_without_pieces_raises(bert):
    class Mute(Slow):
        def __call__(self, text, text_pair=None, **options):
            return {"input_ids": [] if isinstance(text, str) else [[] for _ in text]}

    source = TransformerEmbedding((tiny_bert.network(), Mute(bert)))
    with pytest.raises(ValueError, match="Mute returns no pieces for any of"):
        source.fit([["good"]])


def test_a_decoder_with_a_byte_level_tokenizer():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = byte_level()
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=32, n_embd=8, n_layer=2, n_head=2
    )
    network = GPT2LMHeadModel(config).eval()
    rows = [["a", "kin", "kg"], ["kin"], ["longer", "than", "others"]]
    source = TransformerEmbedding((network, tokenizer), 1)
    (words,) = source.fit_transform(rows).blocks
    ids = torch.tensor([tokenizer("a kin kg")["input_ids"]])
    with torch.no_grad():
        state = network(ids, output_hidden_states=True).hidden_states[1][0].numpy()
    expected = [state[:1].mean(0), state[1:3].mean(0), state[3:].mean(0)]
    np.testing.assert_allclose(words.values[:3], expected, atol=1e-5)


def test_the_encoder_of_an_encoder_decoder_is_used():
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    size = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 2, "num_heads": 2}
    vocabulary = len(tiny_bert.VOCABULARY)
    network = T5ForConditionalGeneration(
        T5Config(vocab_size=vocabulary, **size, decoder_start_token_id=0)
    )
    source = TransformerEmbedding((network, tiny_bert.tokenizer()), "all")
    block = source.fit_transform([["good", "kings"], ["bad"]]).blocks[-1]
    assert source.n_hidden_states_ == 3
    batch = tiny_bert.tokenizer()("good kings", return_tensors="pt")
    with torch.no_grad():
        encoder = network.eval().get_encoder()
        state = encoder(batch["input_ids"]).last_hidden_state[0].numpy()
    np.testing.assert_allclose(block.values[0], state[1], atol=1e-5)
