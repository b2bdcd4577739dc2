"""Long input: each word from the window with most context; memory of batches."""

import warnings

import numpy as np
import pytest
import torch

from sk_metaembed import TransformerEmbedding
from sk_metaembed.sources._batching import BatchRunner
from sk_metaembed.sources.transformer._forward import best_windows, window_spans

from .. import tiny_bert

LONG = ["good", "film", "kings", "the", "warm", "plot", "was", "very", "bad"]


@pytest.fixture(scope="module")
def pair():
    return tiny_bert.network(), tiny_bert.tokenizer()


def piece_states(pair, words, max_length, truncate=False, whole=True):
    """Return last-layer states of each piece, each from its best window, and words."""
    network, tokenizer = pair
    encoded = tokenizer([words], is_split_into_words=True, add_special_tokens=False)
    ids, of = encoded["input_ids"][0], np.array(encoded.word_ids(0))
    capacity = max_length - 2
    spans = window_spans(len(ids), capacity)[: 1 if truncate else None]
    chosen = best_windows(of[: spans[-1, 1]], spans)
    if not whole:  # each piece for itself
        chosen = best_windows(np.arange(spans[-1, 1]), spans)
    states = []
    for start, stop in spans.tolist():
        row = [tokenizer.cls_token_id, *ids[start:stop], tokenizer.sep_token_id]
        with torch.no_grad():
            state = network(torch.tensor([row])).last_hidden_state[0].numpy()
        states.append((start, state[1:-1], state[0], state[-1]))
    pieces = np.array(
        [states[k][1][i - states[k][0]] for i, k in enumerate(chosen.tolist())]
    )
    used = {*chosen.tolist(), 0, len(spans) - 1}
    return pieces, of, [state for k, state in enumerate(states) if k in used]


@pytest.mark.parametrize("max_length", [6, 9, 16])
@pytest.mark.parametrize("subword", ["first", "last", "mean", "max"])
def test_windows_equal_direct_calls_of_the_model(pair, max_length, subword):
    source = TransformerEmbedding(pair, max_length=max_length, subword=subword)
    block = source.fit_transform([LONG, ["good"], LONG]).blocks[0]
    pieces, of, _ = piece_states(pair, LONG, max_length)
    how = {
        "first": lambda v: v[0],
        "last": lambda v: v[-1],
        "mean": lambda v: v.mean(0),
        "max": lambda v: v.max(0),
    }[subword]
    expected = [how(pieces[of == i]) for i in range(len(LONG))]
    np.testing.assert_allclose(block.values[: len(LONG)], expected, atol=1e-5)
    np.testing.assert_array_equal(block.values[-len(LONG) :], block.values[: len(LONG)])
    assert block.known.all()
    assert source.n_long_ == (2 if max_length < 16 else 0)


def test_a_word_longer_than_the_window(pair):
    words = ["good", "x" * 20, "king"]
    source = TransformerEmbedding(pair, subword="first", max_length=7)
    block = source.fit_transform([words]).blocks[0]
    pieces, of, states = piece_states(pair, words, 7, whole=False)
    assert len(states) > 3
    assert block.known.all()
    first = np.flatnonzero(of == 1)[0]
    np.testing.assert_allclose(block.values[1], pieces[first], atol=1e-5)


def test_sentence_vectors_over_windows(pair):
    source = TransformerEmbedding(pair, output=["mean", "cls"], max_length=7)
    mean, cls = source.fit_transform([LONG]).blocks
    pieces, _, states = piece_states(pair, LONG, 7, whole=False)
    whole = [states[0][2], *pieces, states[-1][3]]
    np.testing.assert_allclose(mean.values[0], np.mean(whole, 0), atol=1e-5)
    of_windows = np.mean([state[2] for state in states], 0)
    np.testing.assert_allclose(cls.values[0], of_windows, atol=1e-5)


def test_the_limit_of_the_model_is_respected(pair):
    source = TransformerEmbedding(pair)
    words = ["good"] * 120
    block = source.fit_transform([words]).blocks[0]
    assert source.max_length_ == 48
    assert source.n_long_ == 1
    assert block.known.all()
    assert TransformerEmbedding(pair, max_length=1000).fit([words]).max_length_ == 48


def test_truncate_warns_with_counts(pair):
    source = TransformerEmbedding(pair, max_length=7, truncate=True)
    pieces, of, _ = piece_states(pair, LONG, 7, truncate=True)
    cut = 2 * (len(of) - 5)
    with pytest.warns(UserWarning, match=rf"2 of 3 sequences .* {cut} pieces"):
        block = source.fit_transform([LONG, ["good"], LONG]).blocks[0]
    last = of[4]
    np.testing.assert_array_equal(block.known[:9], np.arange(9) <= last)
    expected = [pieces[of[:5] == i].mean(0) for i in range(last + 1)]
    np.testing.assert_allclose(block.values[: last + 1], expected, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source.transform([["good"]])


def test_windows_are_reported_if_verbose(pair, capsys):
    TransformerEmbedding(pair, max_length=7, verbose=1).fit([LONG, ["good"]])
    assert "1 of 2 sequences are longer than 7 pieces" in capsys.readouterr().out


@pytest.mark.parametrize("capacity", [1, 3, 8, 50])
def test_best_window_by_exhaustion(capacity):
    rng = np.random.default_rng(0)
    words = np.repeat(np.arange(20), rng.integers(1, 5, 20))
    spans = window_spans(len(words), capacity)
    assert spans[0, 0] == 0
    assert spans[-1, 1] == len(words)
    assert (np.diff(spans, axis=1) <= capacity).all()
    assert (spans[1:, 0] <= spans[:-1, 1]).all()
    chosen = best_windows(words, spans)
    for word in range(20):
        places = np.flatnonzero(words == word)
        context = [
            context_of(places[0], places[-1] + 1, span, len(words)) for span in spans
        ]
        if max(context) >= 0:
            assert context[chosen[places[0]]] == max(context)
        assert len(set(chosen[places])) == 1
        start, stop = spans[chosen[places[0]]]
        assert start <= places[0] < stop


def context_of(begin, end, span, n):
    start, stop = span
    if start > begin or end > stop:
        return -1
    left = np.inf if start == 0 else begin - start
    return min(left, np.inf if stop == n else stop - end)


def raising_above(size, log):
    def forward(batch):
        if len(batch) > size:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        log.extend(batch.tolist())

    return forward


def test_out_of_memory_halves_the_batch():
    done, runner = [], BatchRunner(1000)
    with pytest.warns(
        UserWarning, match="out of GPU memory on a batch of .* sequences"
    ) as caught:
        runner.run([10] * 50, raising_above(7, done))
    assert sorted(done) == list(range(50))
    assert len(caught) == 3  # 50, 25, 12, then 6 at a time
    assert runner.budget == 60
    runner.run([10] * 20, raising_above(7, done))


def test_out_of_memory_does_not_change_the_vectors(pair, monkeypatch):
    expected = TransformerEmbedding(pair).fit_transform([LONG, LONG[:5], LONG[2:]])
    source = TransformerEmbedding(pair).fit([LONG])
    whole = type(source._model.network).hidden_states

    def small(self, rows, types, pad):
        if len(rows) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(self, rows, types, pad)

    monkeypatch.setattr(type(source._model.network), "hidden_states", small)
    with pytest.warns(UserWarning, match="Continuing with at most"):
        embedded = source.transform([LONG, LONG[:5], LONG[2:]])
    np.testing.assert_allclose(
        embedded.blocks[0].values, expected.blocks[0].values, atol=1e-5
    )
