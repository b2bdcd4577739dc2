"""Long input: each word from the window with most context; memory of batches."""

import warnings

import numpy as np
import pytest
import torch

from sk_metaembed import TokenSequences, TransformerEmbedding
from sk_metaembed.sources._batching import BatchRunner, token_batches
from sk_metaembed.sources.transformer._alignment import Aligner, Frame, Pieces
from sk_metaembed.sources.transformer._forward import (
    best_windows,
    n_cut,
    window_spans,
    windows_of,
)
from sk_metaembed.sources.transformer._tokenizer_checks import pieces_beyond

from .. import tiny_bert

LONG = ["good", "film", "kings", "the", "warm", "plot", "was", "very", "bad"]


@pytest.fixture(scope="module")
def pair():
    return tiny_bert.network(), tiny_bert.tokenizer()


def piece_states(pair, words, max_length, truncate=False):
    """Return last-layer states of each piece, each from its best window, and words."""
    network, tokenizer = pair
    encoded = tokenizer([words], is_split_into_words=True, add_special_tokens=False)
    ids, of = encoded["input_ids"][0], np.array(encoded.word_ids(0))
    capacity = max_length - 2
    spans = window_spans(len(ids), capacity)[: 1 if truncate else None]
    chosen = best_windows(of[: spans[-1, 1]], spans)
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


@pytest.mark.parametrize("max_length", [4, 6, 7, 9, 16])
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
    block = TransformerEmbedding(pair, max_length=7).fit_transform([words]).blocks[0]
    pieces, of, states = piece_states(pair, words, 7)
    assert len(states) > 3
    expected = [pieces[of == i].mean(0) for i in range(3)]
    np.testing.assert_allclose(block.values, expected, atol=1e-5)


def test_sentence_vectors_over_windows(pair):
    source = TransformerEmbedding(pair, output=["mean", "cls"], max_length=7)
    mean, cls = source.fit_transform([LONG]).blocks
    pieces, _, states = piece_states(pair, LONG, 7)
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


@pytest.mark.parametrize("capacity", [1, 2, 3, 8, 50])
@pytest.mark.parametrize("seed", range(5))
def test_best_window_by_exhaustion(capacity, seed):
    rng = np.random.default_rng(seed)
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
        for i in places:
            start, stop = spans[chosen[i]]
            assert start <= i < stop


def context_of(begin, end, span, n):
    start, stop = span
    if start > begin or end > stop:
        return -1
    left = np.inf if start == 0 else begin - start
    return min(left, np.inf if stop == n else stop - end)


def test_batches_contain_each_row_once_within_the_budget():
    lengths = np.random.default_rng(0).integers(1, 40, 200)
    batches = token_batches(lengths, 64)
    assert sorted(np.concatenate(batches).tolist()) == list(range(200))
    for batch in batches:
        assert len(batch) == 1 or lengths[batch].max() * len(batch) <= 64
    assert token_batches([], 5) == []


def test_batches_of_one_length():
    lengths = [3, 5, 3, 5, 3, 2]
    batches = token_batches(lengths, 10, "alike")
    assert [batch.tolist() for batch in batches] == [[1, 3], [0, 2, 4], [5]]


def test_words_that_grow_in_the_tokenizer_are_counted(pair):
    aligner = Aligner(pair[1])
    tokens = TokenSequences.from_lists([["\ufdfa"] * 4, ["good"]])
    aligner.tokenizer = Unfolding(pair[1])
    beyond = pieces_beyond(tokens, aligner, 20)
    assert beyond.tolist() == [4 * 18 - 18, 0]


class Unfolding:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, texts, **options):
        # NFKC makes as many Arabic letters of it, which the vocabulary lacks.
        texts = [[w.replace("\ufdfa", "x" * 18) for w in t] for t in texts]
        return self.tokenizer(texts, **options)


def test_a_pair_has_its_own_special_tokens_at_its_end():
    frame = Frame(left=((2, 0),), right=((3, 0),), right_of_pair=((3, 1), (3, 1)))
    words = np.arange(6)
    pieces = Pieces(words, words, np.zeros(6, int), frame.right_of_pair)
    assert n_cut(pieces, frame, 8) == 1
    windows = windows_of(0, pieces, frame, 8)
    assert [len(window.ids) for window in windows] == [8, 8]


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


def test_out_of_memory_on_one_sequence_is_an_error():
    with pytest.raises(MemoryError, match="single sequence of 10 pieces"):
        BatchRunner(10).run([10] * 3, raising_above(0, []))


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
