"""Encoders, decoders and encoder-decoders with their tokenizers."""

import inspect
import pickle

import numpy as np
import pytest
import torch
import transformers

from sk_metaembed import TransformerEmbedding

from ... import tiny_bert

ROWS = [
    ["the", "film", "was", "plotting", "good", "king"],
    ["good"],
    ["queen", "can't", "kings"],
    [],
    ["good", "good"],
]
SIZE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
DECODER = {**SIZE, "num_key_value_heads": 1, "head_dim": 8}
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
BART = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": 64,
}
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 16}
XLNET = {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 16}
LOCAL = {"global_attn_every_n_layers": 2, "local_attention": 4}
PADDED_WITHIN = {"attention_window": [4, 4], "max_position_embeddings": 66}

# The last three mix padding into the vectors next to it, whatever the mask.
FAMILIES = {
    "Roberta": {**SIZE, "pad_token_id": 1},
    "DistilBert": DISTIL,
    "Albert": {**SIZE, "embedding_size": 8},
    "ModernBert": {**SIZE, **LOCAL},
    "XLM": {"emb_dim": 16, "n_layers": 2, "n_heads": 2},
    "XLNet": XLNET,
    "Longformer": {**SIZE, **PADDED_WITHIN, "pad_token_id": 1},
    "GPT2": GPT2,
    "Llama": SIZE,
    "Qwen3": DECODER,
    "Gemma3Text": {**DECODER, "sliding_window": 16},
    "T5": T5,
    "Bart": BART,
    "FNet": SIZE,
    "ConvBert": {**SIZE, "embedding_size": 16},
    "Nystromformer": SIZE,
}


def network(family, **size):
    config = getattr(transformers, f"{family}Config")
    ids = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    config = config(vocab_size=len(tiny_bert.VOCABULARY), **ids, **size)
    return tiny_bert.random_model(getattr(transformers, f"{family}Model"), config)


@pytest.mark.parametrize("family", FAMILIES)
def test_words_equal_those_of_transformers_alone_and_in_batches(family):
    model, tokenizer = network(family, **FAMILIES[family]), tiny_bert.tokenizer()
    source = TransformerEmbedding((model, tokenizer), "all", max_length=40)
    embedded = source.fit_transform(ROWS)
    body = model.get_encoder() if model.config.is_encoder_decoder else model
    taken = inspect.signature(body.forward).parameters
    for i, row in enumerate(ROWS):
        if not row:
            continue
        batch = tokenizer([row], is_split_into_words=True, return_tensors="pt")
        words = np.array([-1 if w is None else w for w in batch.word_ids(0)])
        given = {name: batch[name] for name in batch if name in taken}
        with torch.no_grad():
            states = body(**given, output_hidden_states=True).hidden_states
        assert len(states) == source.n_hidden_states_
        alone = source.transform([row])
        for k, state in enumerate(states):
            state = state[0].numpy()
            expected = [state[words == w].mean(0) for w in range(len(row))]
            for other in (embedded[[i]], alone):
                values = other.block(f"layer{k}").values
                np.testing.assert_allclose(values, expected, atol=1e-5)


def test_invalid_layers_raise():
    tokenizer = tiny_bert.tokenizer()
    size = {**SIZE, "word_embed_proj_dim": 8, "ffn_dim": 16}
    narrow = network("OPT", **size), tokenizer
    with pytest.raises(ValueError, match="state 2 has dimension 8, .* says 16"):
        TransformerEmbedding(narrow).fit_transform(ROWS)
    size = {"block_sizes": [1, 1], "d_model": 16, "n_head": 2, "d_head": 8}
    shrinking = network("Funnel", **size, d_inner=16), tokenizer
    with pytest.raises(ValueError, match="one vector per subword in each layer"):
        TransformerEmbedding(shrinking).fit_transform(ROWS)


AWKWARD = ["The", "king's", "", "café", "東京", "\u200b", "goodgood"]


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


def test_slow_tokenizers_embed_like_fast_ones():
    network, bert = tiny_bert.network(), tiny_bert.tokenizer()
    rows = [AWKWARD, ["king"], []]
    options = {"layers": "all", "static": True, "prompt": "query:"}
    fast = TransformerEmbedding((network, bert), **options).fit_transform(rows)
    slow = TransformerEmbedding((network, Slow(bert)), **options).fit_transform(rows)
    for a, b in zip(fast.blocks, slow.blocks, strict=True):
        np.testing.assert_array_equal(a.known, b.known)
        np.testing.assert_allclose(a.values, b.values, atol=1e-5)


def test_a_tokenizer_without_subwords_raises():
    class Mute(Slow):
        def __call__(self, text, text_pair=None, **options):
            return {"input_ids": [] if isinstance(text, str) else [[] for _ in text]}

    source = TransformerEmbedding((tiny_bert.network(), Mute(tiny_bert.tokenizer())))
    with pytest.raises(ValueError, match="Mute returns no subwords for any of"):
        source.fit([["good"]])


@pytest.mark.filterwarnings("ignore")  # torch moves quantisation elsewhere
def test_a_network_that_rounds_by_the_batch_gets_single_sentences():
    pair = tiny_bert.network(), tiny_bert.tokenizer()
    linear = {torch.nn.Linear}
    int8 = torch.ao.quantization.quantize_dynamic(pair[0], linear, torch.qint8)
    source = TransformerEmbedding((int8, pair[1]))
    embedded = source.fit_transform(ROWS)
    for i, row in enumerate(ROWS):
        alone = source.transform([row]).blocks[0].values
        np.testing.assert_array_equal(embedded[[i]].blocks[0].values, alone)
    again = TransformerEmbedding((int8, pair[1])).fit(ROWS)
    assert again.fingerprint_ == source.fingerprint_
    assert TransformerEmbedding(pair).fit(ROWS).fingerprint_ != source.fingerprint_
    with pytest.raises(TypeError, match="quantized"):
        pickle.dumps(source)
