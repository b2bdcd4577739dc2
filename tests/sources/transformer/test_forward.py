"""Long input: each word from the window with most context; memory of batches."""

import warnings

import numpy as np
import pytest
import torch

from sk_metaembed import TransformerEmbedding

from ... import tiny_bert
from .test_embedding import HOW

LONG = ["good", "film", "kings", "the", "warm", "plot", "was", "very", "bad"]


@pytest.fixture(scope="module")
def pair():
    return tiny_bert.network(), tiny_bert.tokenizer()


def windows(pair, words, max_length):
    """Return the states and span of each window, and the word of each subword."""
    network, tokenizer = pair
    encoded = tokenizer([words], is_split_into_words=True, add_special_tokens=False)
    ids, size = encoded["input_ids"][0], max_length - 2
    last = max(0, len(ids) - size)
    result = []
    for start in (*range(0, last, max(1, size // 2)), last):
        row = [tokenizer.cls_token_id, *ids[start : start + size]]
        with torch.no_grad():
            state = network(torch.tensor([[*row, tokenizer.sep_token_id]]))
        states = state.last_hidden_state[0].numpy()
        result.append((states, start, start + len(states) - 2))
    return result, np.array(encoded.word_ids(0))


def context(begin, end, window, n):
    """Return the subwords next to a span, on the side of the window with fewer."""
    _, start, stop = window
    if start > begin or end > stop:
        return -1
    left = np.inf if start == 0 else begin - start
    return min(left, np.inf if stop == n else stop - end)


def from_best_window(places, parts, n, subword):
    """Return the vector of the subword numbers `places`."""
    begin, end = places[0], places[-1] + 1
    states, start, _ = max(parts, key=lambda part: context(begin, end, part, n))
    return HOW[subword](states[places - start + 1])


@pytest.mark.parametrize(
    ("max_length", "subword"), [(6, "first"), (9, "last"), (6, "mean"), (16, "max")]
)
def test_windows_equal_direct_calls_of_the_model(pair, max_length, subword):
    source = TransformerEmbedding(pair, max_length=max_length, subword=subword)
    block = source.fit_transform([LONG, ["good"], LONG]).blocks[0]
    parts, of = windows(pair, LONG, max_length)
    expected = [
        from_best_window(np.flatnonzero(of == i), parts, len(of), subword)
        for i in range(len(LONG))
    ]
    np.testing.assert_allclose(block.values[: len(LONG)], expected, atol=1e-5)
    np.testing.assert_array_equal(block.values[-len(LONG) :], block.values[: len(LONG)])
    assert block.known.all()
    assert source.n_long_ == (2 if max_length < 16 else 0)


def test_a_word_longer_than_the_window(pair):
    words = ["good", "x" * 20, "king"]
    source = TransformerEmbedding(pair, subword="first", max_length=7)
    block = source.fit_transform([words]).blocks[0]
    parts, of = windows(pair, words, 7)
    assert block.known.all()
    first = from_best_window(np.flatnonzero(of == 1)[:1], parts, len(of), "first")
    np.testing.assert_allclose(block.values[1], first, atol=1e-5)


@pytest.mark.parametrize("output", ["mean", "cls"])
def test_vectors_of_texts_are_means_over_windows(pair, output):
    source = TransformerEmbedding(pair, output=output, max_length=7)
    parts, _ = windows(pair, LONG, 7)
    how = HOW["mean" if output == "mean" else "first"]
    expected = np.mean([how(states) for states, _, _ in parts], 0)
    block = source.fit_transform([LONG]).blocks[0]
    np.testing.assert_allclose(block.values[0], expected, atol=1e-5)


def test_the_limit_of_the_model_is_respected(pair):
    source = TransformerEmbedding(pair, max_length=1000)
    assert source.fit_transform([["good"] * 120]).blocks[0].known.all()
    assert (source.max_length_, source.n_long_) == (48, 1)


def test_truncate_warns_with_counts(pair):
    source = TransformerEmbedding(pair, max_length=7, truncate=True)
    parts, of = windows(pair, LONG, 7)
    cut = 2 * (len(of) - 5)
    with pytest.warns(UserWarning, match=rf"2 of 3 sequences .* {cut} subwords"):
        block = source.fit_transform([LONG, ["good"], LONG]).blocks[0]
    last = of[4]
    np.testing.assert_array_equal(block.known[:9], np.arange(9) <= last)
    expected = [parts[0][0][1:6][of[:5] == i].mean(0) for i in range(last + 1)]
    np.testing.assert_allclose(block.values[: last + 1], expected, atol=1e-5)
    with warnings.catch_warnings(action="error"):
        source.transform([["good"]])


def test_a_tokenizer_may_cut_texts_on_the_left(pair):
    tokenizer = tiny_bert.tokenizer()
    tokenizer.truncation_side = "left"
    source = TransformerEmbedding(
        (pair[0], tokenizer), output="mean", max_length=7, truncate=True
    )
    with pytest.warns(UserWarning, match="1 of 1 sequences"):
        block = source.fit_transform([LONG]).blocks[0]
    states, _, _ = windows(pair, LONG, 7)[0][-1]
    np.testing.assert_allclose(block.values[0], states.mean(0), atol=1e-5)


def test_out_of_memory_does_not_change_the_vectors(pair, monkeypatch):
    rows = [LONG[: i + 1] for i in range(9)]
    expected = TransformerEmbedding(pair).fit_transform(rows)
    source = TransformerEmbedding(pair).fit([LONG])
    whole = type(source._model.network).hidden_states

    def small(self, ids, lengths, types):
        if len(lengths) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(self, ids, lengths, types)

    monkeypatch.setattr(type(source._model.network), "hidden_states", small)
    with pytest.warns(UserWarning, match="Continuing with at most") as caught:
        embedded = source.transform(rows)
    assert len(caught) == 3  # 9, 4 or 5, 3, then 1 or 2 rows at a time
    np.testing.assert_allclose(
        embedded.blocks[0].values, expected.blocks[0].values, atol=1e-5
    )
