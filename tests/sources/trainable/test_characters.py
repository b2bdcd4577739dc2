"""TrainableCharacters: input, masking and training of word vectors from characters."""

import numpy as np
import pytest
import torch

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    Tokenizer,
    TokenSequences,
    TrainableCharacters,
)

from ...dynamic.test_trainable import OPTIONS

SMALL = {"char_dim": 6, "filters": ((1, 3), (2, 4), (5, 5))}
OPTIONS = OPTIONS | {"max_epochs": 3}
STRANGE = ["a", "", "né", "日本語", "\ud800", "x\ud800y", "\x00", "🙂", "w" * 70]
STRANGE += ["Word", "word"]


def char(**options):
    return TrainableCharacters(**SMALL | {"lr": 0.02} | options)


def words_ending(n, seed):
    """Return words whose class is told by their last two letters alone."""
    rng = np.random.default_rng(seed)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    stems = ["".join(rng.choice(letters, rng.integers(2, 7))) for _ in range(n)]
    y = np.arange(n) % 2
    return [[stem + ("ly", "en")[k]] for stem, k in zip(stems, y, strict=True)], y


@pytest.fixture(scope="module")
def data():
    rows, y = words_ending(40, 0)
    rows = [["the", *row, "It"] for row in rows]
    rows[3], rows[4] = [], ["", rows[4][1]]
    return TokenSequences.from_lists(rows), y


def vectors(opened, network, words):
    tokens = TokenSequences.from_lists([[word] for word in words])
    inputs = opened.inputs(tokens)
    with torch.no_grad():
        ((values, known),) = network(
            inputs.batch(np.arange(tokens.n_types), torch.from_numpy)
        )
    np.testing.assert_array_equal(known.numpy(), inputs.known["type"])
    return values.numpy()[tokens.codes], known.numpy()[tokens.codes]


def by_hand(network, word):
    """Return the vector of one word, character by character."""
    ids = torch.tensor([258, *word.encode(), 259])
    rows = network.characters.weight[ids].detach()
    results = []
    for conv in network.encoder.convolutions:
        (width,) = conv.kernel_size
        left = (width - 1) // 2
        zeros = torch.zeros(width, rows.shape[1])
        padded = torch.cat([zeros[:left], rows, zeros])
        windows = [padded[i : i + width].T for i in range(len(ids))]
        values = [(conv.weight * w).sum(dim=(1, 2)) + conv.bias for w in windows]
        results.append(torch.stack(values).amax(dim=0))
    return torch.cat(results).relu().detach().numpy()


@pytest.mark.filterwarnings("ignore:.*words are read up to:UserWarning")
def test_a_word_is_the_same_alone_and_in_any_batch():
    opened = char().prepare(TokenSequences.from_lists([STRANGE]))
    network = opened.network().eval()
    many = STRANGE + [f"{'n' * (i % 40)}{i}" for i in range(600)]
    together, known = vectors(opened, network, many)
    assert np.flatnonzero(~known).tolist() == [1, 4]  # no bytes at all
    assert not together[~known].any()
    for i, word in enumerate(STRANGE):
        alone, _ = vectors(opened, network, [word])
        np.testing.assert_allclose(alone[0], together[i], atol=1e-5)
    turned, _ = vectors(opened, network, many[::-1])
    np.testing.assert_allclose(turned[::-1], together, atol=1e-5)
    assert together.shape == (len(many), opened.dims["char"])


def test_filters_are_those_of_the_formula():
    opened = char().prepare(TokenSequences.from_lists([["abc", "de"]]))
    network = opened.network().eval()
    for word in ["a", "abcabc", "né"]:
        result, _ = vectors(opened, network, [word, "w" * 30])
        np.testing.assert_allclose(result[0], by_hand(network, word), atol=1e-5)


def test_endings_are_learned_and_hold_for_words_unseen():
    X, y = words_ending(120, 0)
    model = DynamicMetaClassifier(
        trainable=char(dropout=0.0),
        **OPTIONS | {"max_epochs": 15, "early_stopping": False},
    )
    new, labels = words_ending(60, 1)
    assert model.fit(X, y).score(new, labels) >= 0.95


def test_unseen_characters_have_zero_vectors():
    opened = char().prepare(TokenSequences.from_lists([["abc"], ["bad"]]))
    weight = opened.network().characters.weight.detach()
    seen = {*b"abcd", 258, 259}
    assert {i for i in range(261) if weight[i].any()} == seen
    tokens = TokenSequences.from_lists([["abc"], ["x"]])[:1]  # "x" is in its types
    assert char().prepare(tokens).unseen[ord("x")]


def test_lower_case_and_long_words(warn_again):
    tokens = Tokenizer(lowercase=False).fit_transform(["Word word " + "w" * 20])
    message = r"up to 5 bytes .* as 'www.*' is ignored\. Use a larger max_chars, if it"
    with pytest.warns(UserWarning, match=message):
        opened = char(lowercase=True, max_chars=5).prepare(tokens)
    network = opened.network().eval()
    result, _ = vectors(opened, network, ["Word", "word", "wwwww", "w" * 20])
    np.testing.assert_array_equal(result[0], result[1])
    np.testing.assert_array_equal(result[2], result[3])
    assert network.n_truncated_words == 1
    opened = char().prepare(tokens)
    with pytest.warns(UserWarning, match="up to 50 bytes"):
        opened.inputs(TokenSequences.from_lists([["w" * 51]]))
    result, _ = vectors(opened, opened.network().eval(), ["Word", "word"])
    assert np.abs(result[0] - result[1]).max() > 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filters": ()}, "filters is empty"),
        ({"filters": ((3, 0),)}, r"filters must be pairs .* got \(3, 0\)"),
    ],
)
def test_invalid_options_raise(data, options, message):
    with pytest.raises(ValueError, match=message):
        DynamicMetaClassifier(trainable=TrainableCharacters(**options)).fit(*data)


CASE_OPTIONS = OPTIONS | {"early_stopping": False}
CASED = ["The King sang.", "the KING sang", "the king sang"] * 8


def test_texts_are_read_in_their_own_case():
    """Only case tells the texts apart, and the Tokenizer lowers them."""
    y = [0, 1, 2] * 8
    clf = DynamicMetaClassifier(**CASE_OPTIONS, trainable=char())
    tokens = Tokenizer().transform(CASED)
    seen = clf.fit(tokens, y).predict_proba(tokens[:3])
    assert np.ptp(seen, axis=0).max() > 1e-3
    np.testing.assert_allclose(clf.predict_proba(CASED[:3]), seen, atol=1e-6)
    blind = clf.predict_proba(tokens[:3].to_list())
    np.testing.assert_allclose(blind, blind[:1].repeat(3, 0), atol=1e-6)
    mixed = DynamicMetaEmbedding(**CASE_OPTIONS, trainable=char())
    result = mixed.fit(tokens, y).transform(tokens[:3])
    assert result.tokens.n_types == 3
    assert result.blocks[0].level == "token"
    vectors = result.blocks[0].values.reshape(3, 3, -1)
    np.testing.assert_allclose(vectors[:, 2], vectors[[0], 2].repeat(3, 0), atol=1e-6)
    np.testing.assert_allclose(vectors[1, 0], vectors[2, 0], atol=1e-6)
    assert len(np.unique(vectors[:, 1].round(5), axis=0)) == 3
    alone = mixed.transform(tokens[[1]]).blocks[0].values
    np.testing.assert_allclose(alone, vectors[1], atol=1e-6)


def test_words_are_spelled_as_in_the_text():
    texts = ["The the THE", "Cafe\u0301 caf\u00e9", "\u039f\u03a3 \u03bf\u03c2"]
    tokens = Tokenizer().transform(texts)
    opened = TrainableCharacters().prepare(tokens)
    assert opened.inputs(tokens).codes.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert not opened.unseen[[*"TheCaf\u00e9".encode()]].any()
    assert opened.unseen[0xCC]  # of a combining accent
    opened = TrainableCharacters(lowercase=True).prepare(tokens)
    assert not opened.unseen[ord("t")] and opened.unseen[ord("T")]
    made_up = Tokenizer(tokenizer=lambda text: ["end"]).transform(["The"])
    assert not TrainableCharacters().prepare(made_up).unseen[ord("d")]
