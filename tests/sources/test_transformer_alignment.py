"""Words are aligned with pieces, for any tokenizer."""

import numpy as np
import pytest

from sk_metaembed import TransformerEmbedding

from .. import tiny_bert

WORDS = ["The", "king's", "", "café", "東京", "\u200b", "goodgood"]


class Slow:
    """A tokenizer in Python, of the kind that has no `word_ids`."""

    is_fast = False

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __getattr__(self, name):
        if name in ("_tokenizer", "backend_tokenizer"):
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def __len__(self):
        return len(self._tokenizer)

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


def test_slow_tokenizers_embed_like_fast_ones(bert):
    network = tiny_bert.network()
    rows = [WORDS, ["king"], []]
    options = {"layers": "all", "static": True, "prompt": "query:"}
    fast = TransformerEmbedding((network, bert), **options).fit_transform(rows)
    slow = TransformerEmbedding((network, Slow(bert)), **options).fit_transform(rows)
    for a, b in zip(fast.blocks, slow.blocks, strict=True):
        np.testing.assert_array_equal(a.known, b.known)
        np.testing.assert_allclose(a.values, b.values, atol=1e-5)


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
