"""TransformerEmbedding returns the hidden states of transformers per word."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from sk_metaembed import TokenSequences, TransformerEmbedding

from ... import tiny_bert

SENTENCES = [
    ["the", "film", "was", "plotting"],
    ["good", "can't", "the", "very", "king"],
    [],
    ["queen"],
    ["good", "can't", "the", "very", "king"],
]


HOW = {
    "first": lambda subwords: subwords[0],
    "last": lambda subwords: subwords[-1],
    "mean": lambda subwords: subwords.mean(0),
    "max": lambda subwords: subwords.max(0),
}


@pytest.fixture(scope="module")
def pair():
    return tiny_bert.network(), tiny_bert.tokenizer()


def by_hand(pair, words, subword="mean", **options):
    """Return transformers' own hidden states of one sentence, pooled to its words."""
    network, tokenizer = pair
    batch = tokenizer([words], is_split_into_words=True, return_tensors="pt", **options)
    with torch.no_grad():
        states = network(**batch, output_hidden_states=True).hidden_states
    of = np.array([-1 if w is None else w for w in batch.word_ids(0)])
    how = HOW[subword]
    return [
        np.array([how(state[0].numpy()[of == i]) for i in range(len(words))])
        for state in states
    ]


@contextmanager
def counted_passes(pair):
    """Yield a list that gets an item per batch that the network computes."""
    passes = []
    hook = pair[0].register_forward_hook(lambda *args: passes.append(1))
    yield passes
    hook.remove()


@pytest.mark.parametrize(
    ("subword", "batch_tokens"),
    [("first", None), ("last", 1), ("mean", 20), ("max", None)],
)
def test_words_are_pooled_hidden_states(pair, subword, batch_tokens):
    source = TransformerEmbedding(
        pair, "all", subword=subword, batch_tokens=batch_tokens
    )
    embedded = source.fit_transform(SENTENCES)
    assert [b.name for b in embedded.blocks] == ["layer0", "layer1", "layer2"]
    expected = [by_hand(pair, s, subword) for s in SENTENCES if s]
    for k, block in enumerate(embedded.blocks):
        rows = np.concatenate([states[k] for states in expected])
        np.testing.assert_allclose(block.values, rows, atol=1e-5)
        assert block.known.all()
        assert block.level == "token"


def test_a_word_without_subwords_is_unknown_and_others_keep_their_rows(pair):
    words = ["good", "\u200b", "king"]
    block = TransformerEmbedding(pair).fit_transform([words, ["\u200b"]]).blocks[0]
    np.testing.assert_array_equal(block.known, [True, False, True, False])
    assert not block.values[[1, 3]].any()
    expected = by_hand(pair, ["good", "king"])[-1]
    np.testing.assert_allclose(block.values[[0, 2]], expected, atol=1e-5)


def test_static_block_is_the_embedding_table(pair):
    source = TransformerEmbedding(pair, layers=(), static=True)
    words = ["king", "kingking", "☃", "\u200b", "good"]
    embedded = source.fit_transform([words, words[:1]])
    (block,) = embedded.blocks
    assert (block.name, block.level, block.n_rows) == ("static", "type", 5)
    table = pair[0].get_input_embeddings().weight.detach().numpy()
    ids = pair[1].get_vocab()
    np.testing.assert_array_equal(block.values[0], table[ids["king"]])
    np.testing.assert_array_equal(block.values[4], table[ids["good"]])
    subwords = pair[1].tokenize("kingking")
    assert len(subwords) > 1
    np.testing.assert_allclose(
        block.values[1], table[[ids[p] for p in subwords]].mean(0), atol=1e-6
    )
    np.testing.assert_array_equal(block.known, [True, True, False, False, True])


def test_layers_are_counted_as_in_lists(pair):
    source = TransformerEmbedding(pair, layers=(-1, 0)).fit(SENTENCES)
    assert source.layers_ == (2, 0)
    assert source.n_hidden_states_ == 3
    assert list(source.dims_.items()) == [("layer2", 8), ("layer0", 8)]
    assert TransformerEmbedding(pair, layers=1).fit(SENTENCES).layers_ == (1,)


def test_each_distinct_sentence_is_computed_once(pair):
    source = TransformerEmbedding(pair, batch_tokens=1).fit(SENTENCES)
    with counted_passes(pair) as passes:
        source.transform(TokenSequences.from_lists(SENTENCES * 3))
    assert len(passes) == 3


def test_no_gradients_and_an_unchanged_model(pair):
    network = tiny_bert.network().train()
    network.encoder.eval()
    source = TransformerEmbedding((network, pair[1]))
    first = source.fit_transform(SENTENCES).blocks[0].values
    np.testing.assert_array_equal(first, source.transform(SENTENCES).blocks[0].values)
    assert network.training
    assert not network.encoder.training
    assert all(p.grad is None and p.requires_grad for p in network.parameters())


def test_values_too_large_for_half_precision_raise(tmp_path):
    network = tiny_bert.network()
    with torch.no_grad():
        network.encoder.layer[1].output.LayerNorm.weight.fill_(1e5)
    network.save_pretrained(tmp_path)
    tiny_bert.tokenizer().save_pretrained(tmp_path)
    assert TransformerEmbedding(tmp_path).fit(SENTENCES)
    assert TransformerEmbedding(tmp_path, dtype="bfloat16").fit(SENTENCES)
    with pytest.raises(ValueError, match=r"Layer 'layer2' of .* NaN or inf"):
        TransformerEmbedding(tmp_path, dtype="float16").fit(SENTENCES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 3}, "has 3 hidden states: use 0"),
        ({"layers": (0, -3)}, "contains a layer twice"),
        ({"layers": ()}, "nothing to return"),
        ({"output": "pooler"}, "output' parameter of TransformerEmbedding must be"),
        ({"max_length": 2}, "have no room for text"),
        ({"dtype": "float16"}, r"\['dtype'\] must have their default values"),
    ],
)
def test_invalid_options_raise(pair, options, message):
    with pytest.raises(ValueError, match=message):
        TransformerEmbedding(pair, **options).fit(SENTENCES)


def test_an_invalid_pair_raises():
    with pytest.raises(TypeError, match="a folder, a name on the Hugging Face hub"):
        TransformerEmbedding(("a", "b")).fit(SENTENCES)


class Silent(torch.nn.Module):
    """A network that returns what its last layer gives, and nothing else."""

    def __init__(self, network):
        super().__init__()
        self.inner, self.config = network, network.config

    def forward(self, input_ids, attention_mask, output_hidden_states, return_dict):
        return self.inner(input_ids, attention_mask, return_dict=True)


def test_a_model_without_hidden_states(pair):
    silent = Silent(pair[0]), pair[1]
    with pytest.raises(ValueError, match="Silent returned no hidden states"):
        TransformerEmbedding(silent).fit(SENTENCES)
    with pytest.raises(ValueError, match="Silent has no input table of subwords"):
        TransformerEmbedding(silent, (), static=True).fit(SENTENCES)


def test_a_tokenizer_of_another_model(pair):
    small = tiny_bert.network(vocab_size=40), pair[1]
    source = TransformerEmbedding(small).fit([["a", "b"]])
    with pytest.raises(ValueError, match="ends at 39. Check that tokenizer and model"):
        source.transform([["a", "king"]])
    static = TransformerEmbedding(small, (), static=True)
    with pytest.raises(ValueError, match="ends at 39. Check that tokenizer and model"):
        static.fit_transform([["a", "king"]])
