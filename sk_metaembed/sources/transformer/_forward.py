"""ForwardPass: compute the vectors of sentences and their words by a transformer.

Sentences that are too long for the model are processed in overlapping windows. The
steps are:

1. `Aligner.encode` splits sentences into pieces.
2. `windows_of` divides the pieces of a sentence into windows, and chooses the window
   from which the vector of each word is taken: the one where it has most context.
3. `ForwardPass` runs the network on batches of windows.
4. `_Results` pools the pieces of each word, and the windows of each sentence.
"""

from typing import NamedTuple

import numpy as np

from .._batching import BatchRunner

_UNLIMITED = np.iinfo(np.int64).max
SUBWORD_MODES = ("first", "last", "mean", "max")


class OutputSpec(NamedTuple):
    """Which vectors to compute from the hidden states."""

    layers: tuple
    outputs: tuple = ("words",)
    subword: str = "mean"
    dim: int = 0


class ForwardPass:
    """Compute the vectors of sentences; the `compute` of `sentence_blocks`.

    Parameters
    ----------
    model : TransformerModel or LoadedModel
    aligner : Aligner
    spec : OutputSpec
    limit : int or None
        Maximum number of pieces per window.
    truncate : bool
        Whether only the first window is used.
    budget : int
        Tokens per batch.
    progress : callable, default=None
        Called with the number of tokens of each batch.
    """

    def __init__(self, model, aligner, spec, limit, truncate, budget, progress=None):
        self.model, self.aligner, self.spec = model, aligner, spec
        self.limit, self.truncate = limit, truncate
        self._runner = BatchRunner(budget)
        self._progress = progress

    def __call__(self, sentences):
        """Yield a list of (values, known) per sentence, for each layer and output."""
        frame, pad = self.aligner.frame, self.model.padding_id
        with self.model.lock:
            encoded = self.aligner.encode(sentences)
        windows = [
            window
            for i, pieces in enumerate(encoded)
            for window in windows_of(
                i, pieces, frame, self.limit, truncate=self.truncate
            )
        ]
        sizes = [len(sentence) for sentence in sentences]
        results = _Results(windows, sizes, self.spec)
        shares = _token_shares(windows, sizes)

        def forward(batch):
            part = [windows[k] for k in batch]
            types = [w.types for w in part] if frame.typed else None
            with self.model.lock:
                ids = [w.ids for w in part]
                states = self.model.network.hidden_states(ids, types, pad)
                check_dimensions(states, self.spec)
                results.collect(batch, states, frame.cls)
            if self._progress is not None:
                self._progress(int(shares[batch].sum()))

        with self.model.lock:
            policy = self.model.network.batching_policy(pad)
        self._runner.run([len(w.ids) for w in windows], forward, policy)
        yield from results.by_sentence()


def _token_shares(windows, sizes):
    """Return the number of tokens to report per window: all of a sentence's first."""
    owners, firsts = np.unique([w.sentence for w in windows], return_index=True)
    shares = np.zeros(len(windows), dtype=np.int64)
    shares[firsts] = np.array(sizes, dtype=np.int64)[owners.astype(np.int64)]
    return shares


class _Results:
    """The vectors of some sentences, filled batch by batch."""

    def __init__(self, windows, sizes, spec):
        self.windows, self.spec = windows, spec
        self.starts = np.r_[0, np.cumsum(sizes)].astype(np.int64)
        self.known = np.zeros(self.starts[-1], dtype=bool)
        n_layers, n_rows = len(spec.layers), self.starts[-1]
        if "words" in spec.outputs:
            self.words = np.zeros((n_layers, n_rows, spec.dim), np.float32)
        self.whole = {
            output: np.zeros((n_layers, len(windows), spec.dim), np.float32)
            for output in spec.outputs
            if output != "words"
        }

    def collect(self, batch, states, cls):
        """Pool the hidden states of a batch of windows into the results."""
        import torch

        from ..._training._device import send

        length, windows = states[0].shape[1], [self.windows[k] for k in batch]
        device = states[0].device

        def index(arrays):
            return send(np.concatenate(arrays), device)

        firsts = [i * length for i in range(len(windows))]
        if "words" in self.spec.outputs:
            places = [w.positions + n for w, n in zip(windows, firsts, strict=True)]
            words = [w.words + self.starts[w.sentence] for w in windows]
            words = np.concatenate(words)
            order = np.argsort(words, kind="stable")
            rows, sizes = np.unique(words, return_counts=True)
            places, sizes = index([np.concatenate(places)[order]]), index([sizes])
            self._pool_into(self.words, rows, states, places, sizes, self.spec.subword)
            self.known[rows] = True
        if "mean" in self.whole:
            out = self.whole["mean"]
            places = [w.counted + n for w, n in zip(windows, firsts, strict=True)]
            sizes = index([[len(w.counted) for w in windows]])
            self._pool_into(out, batch, states, index(places), sizes, "mean")
        if "cls" in self.whole:
            out = self.whole["cls"]
            places = [
                [n + (cls if cls >= 0 else len(w.ids) + cls)]
                for w, n in zip(windows, firsts, strict=True)
            ]
            sizes = torch.ones(len(windows), dtype=torch.int64, device=device)
            self._pool_into(out, batch, states, index(places), sizes, "first")

    def _pool_into(self, out, rows, states, places, sizes, mode):
        for j, layer in enumerate(self.spec.layers):
            vectors = states[layer].reshape(-1, self.spec.dim)[places].float()
            pooled = pool_pieces(vectors, sizes, mode).cpu().numpy()
            if not np.isfinite(pooled).all():
                raise _overflow(layer, states[layer].dtype)
            out[j, rows] = pooled

    def by_sentence(self):
        """Yield the list of (values, known) of each sentence."""
        owners = np.array([w.sentence for w in self.windows], dtype=np.int64)
        n_windows = np.bincount(owners, minlength=len(self.starts) - 1)
        whole = {output: self._average(output, owners) for output in self.whole}
        for i, (start, stop) in enumerate(
            zip(self.starts[:-1], self.starts[1:], strict=True)
        ):
            yield [
                (self.words[j, start:stop], self.known[start:stop])
                if output == "words"
                else (whole[output][j, i], bool(n_windows[i]))
                for j in range(len(self.spec.layers))
                for output in self.spec.outputs
            ]

    def _average(self, output, owners):
        """Return one vector per sentence, (n_layers, n_sentences, dim)."""
        values, n_sentences = self.whole[output], len(self.starts) - 1
        weights = np.ones(len(owners))
        if output == "mean" and np.bincount(owners).max(initial=0) > 1:
            weights = np.array([len(w.counted) for w in self.windows], dtype=float)
        sums = np.zeros((len(values), n_sentences, self.spec.dim))
        for j, layer in enumerate(values):
            np.add.at(sums[j], owners, layer * weights[:, None])
        total = np.bincount(owners, weights, minlength=n_sentences)
        return (sums / np.maximum(total, 1e-300)[:, None]).astype(np.float32)


def pool_pieces(pieces, sizes, mode):
    """Return one vector per word, (n_pieces, dim) x (n_words,) -> (n_words, dim).

    >>> import torch
    >>> pieces = torch.tensor([[1.0], [3.0], [5.0]])
    >>> pool_pieces(pieces, torch.tensor([2, 1]), "mean").ravel().tolist()
    [2.0, 5.0]
    """
    import torch

    if len(pieces) == len(sizes):
        return pieces
    if mode in ("first", "last"):
        stops = sizes.cumsum(0)
        return pieces[stops - 1 if mode == "last" else stops - sizes]
    return torch.segment_reduce(pieces, mode, lengths=sizes)


def check_dimensions(states, spec):
    """Raise ValueError if the dimension of layers differs from the configuration."""
    odd = [k for k in spec.layers if states[k].shape[-1] != spec.dim]
    if odd:
        raise ValueError(
            f"TransformerEmbedding: hidden state {odd[0]} has dimension "
            f"{states[odd[0]].shape[-1]}, but the model's configuration says "
            f"{spec.dim}. Only layers of that dimension can be used. A cache stores "
            "all layers, unless cache_layers='selected'."
        )


def _overflow(layer, dtype):
    return ValueError(
        f"TransformerEmbedding: hidden state {layer}, computed in {dtype}, has NaN or "
        "infinity. float16 is too narrow for some networks, such as T5: use "
        "dtype='bfloat16' or 'float32'. In float32 the weights are corrupt. A cache "
        "stores all layers, unless cache_layers='selected'."
    )


class Window(NamedTuple):
    """The input of the network for a part of a sentence, and the vectors to use."""

    sentence: int
    ids: np.ndarray
    types: np.ndarray
    positions: np.ndarray  # positions of the pieces whose vectors are used for words
    words: np.ndarray  # the word of each of these pieces
    counted: np.ndarray  # positions included in the mean of the sentence


def windows_of(sentence, pieces, frame, limit, *, truncate=False):
    """Return the windows of a sentence; none if it has no pieces.

    `limit` is the maximum number of pieces per window, special tokens and prefix
    included. With `truncate`, only the first window is returned.
    """
    n_body = len(pieces.ids) - pieces.n_prefix
    if not n_body:
        return []
    spans = window_spans(n_body, _capacity(limit, frame, pieces))
    if truncate:
        spans = spans[:1]
    chosen = best_windows(pieces.words, spans, pieces.at - pieces.n_prefix)
    # The vector of a whole text must not depend on its tokens.
    counted = best_windows(np.arange(spans[-1, 1]), spans)
    windows = [
        _window(sentence, pieces, frame, chosen, counted, k, span)
        for k, span in enumerate(spans.tolist())
    ]
    return [window for window in windows if len(window.counted)]


def n_cut(pieces, frame, limit):
    """Return how many pieces of a sentence are beyond the first window."""
    n_body = len(pieces.ids) - pieces.n_prefix
    return max(0, n_body - _capacity(limit, frame, pieces))


def _capacity(limit, frame, pieces):
    """Return how many pieces fit between special tokens and prefix."""
    n_prefix = pieces.n_prefix
    if limit is None:
        return max(1, len(pieces.ids) - n_prefix)
    n_special = len(frame.left) + len(frame.right)
    capacity = limit - n_special - n_prefix
    if capacity < 1:
        raise ValueError(
            f"TransformerEmbedding: windows of {limit} pieces have no room for words "
            f"between {n_special} special tokens and {n_prefix} pieces of the prefix. "
            "Use a larger max_length or a shorter prefix."
        )
    return capacity


def _window(sentence, pieces, frame, chosen, counted, k, span):
    """Return window `k`.

    `chosen` is the window from which each piece is used for its word, `counted` the
    window from which it is used for the mean of the sentence.
    """
    start, stop = span
    n_prefix, head = pieces.n_prefix, len(frame.left) + pieces.n_prefix
    left = np.array(frame.left, dtype=np.int64).reshape(-1, 2)
    right = np.array(frame.right, dtype=np.int64).reshape(-1, 2)
    inside = [np.flatnonzero(counted[start:stop] == k) + head]
    if k == 0:
        inside.insert(0, np.arange(head))
    if stop == len(counted):
        inside.append(np.arange(len(right)) + head + stop - start)
    prefix, body = pieces.ids[:n_prefix], pieces.ids[n_prefix:]
    ids = np.concatenate([left[:, 0], prefix, body[start:stop], right[:, 0]])
    types = np.full(len(ids), frame.type)
    types[: len(left)], types[len(ids) - len(right) :] = left[:, 1], right[:, 1]
    at = pieces.at - n_prefix
    taken = np.flatnonzero((chosen == k) & (at >= start) & (at < stop))
    return Window(
        sentence,
        ids,
        types,
        at[taken] - start + head,
        pieces.words[taken],
        np.concatenate(inside),
    )


def window_spans(n_pieces, capacity):
    """Return begin and end of windows, (n_windows, 2), which overlap by half.

    The last window ends with the text and is as long as the others.

    >>> window_spans(9, 4).tolist()
    [[0, 4], [2, 6], [4, 8], [5, 9]]
    >>> window_spans(3, 4).tolist()
    [[0, 3]]
    """
    if n_pieces <= capacity:
        return np.array([[0, n_pieces]])
    stride = max(1, capacity // 2)
    starts = np.append(np.arange(0, n_pieces - capacity, stride), n_pieces - capacity)
    return np.column_stack([starts, starts + capacity])


def best_windows(words, spans, at=None):
    """Return, for each piece, the window in which its word has most context.

    Context is the number of pieces to the left or right of the word in the window,
    whichever is smaller; an end of the text does not limit it. If no window contains
    the whole word, the window is the best one for its first piece.

    Parameters
    ----------
    words : ndarray of int, shape (n_pieces,)
        The word of each piece; pieces of one word are adjacent.
    spans : ndarray of int, shape (n_windows, 2)
        From `window_spans`.
    at : ndarray of int, shape (n_pieces,), default=None
        The positions of the pieces in the text, adjacent for a word. A position may
        occur for several words. None for all positions in order.

    Returns
    -------
    ndarray of int, shape (n_pieces,)

    Examples
    --------
    >>> spans = window_spans(9, 4)
    >>> best_windows(np.array([0, 1, 2, 2, 3, 4, 5, 6, 7]), spans).tolist()
    [0, 0, 0, 0, 1, 2, 2, 3, 3]
    """
    n = len(words)
    if len(spans) == 1 or not n:
        return np.zeros(n, dtype=np.int64)
    at = np.arange(n) if at is None else at
    firsts = np.flatnonzero(np.r_[True, words[1:] != words[:-1]])
    sizes = np.diff(np.r_[firsts, n])
    window, context = _best(at[firsts], at[firsts + sizes - 1] + 1, spans)
    whole = context >= 0
    window[~whole] = _best(at[firsts[~whole]], at[firsts[~whole]] + 1, spans)[0]
    return np.repeat(window, sizes)


def _best(begins, ends, spans):
    """Return the best window of each span of pieces, and its context in this window."""
    last = len(spans) - 1
    stride = max(1, (spans[0, 1] - spans[0, 0]) // 2)
    # Windows except the last begin at multiples of the stride: at most three and the
    # last one can contain a span.
    near = begins[:, None] // stride - np.arange(3)
    tried = np.column_stack([np.clip(near, 0, last), np.full(len(begins), last)])
    tried.sort(axis=1)
    start, stop = spans[tried, 0], spans[tried, 1]
    left, right = begins[:, None] - start, stop - ends[:, None]
    inside = (left >= 0) & (right >= 0)
    left = np.where(start == 0, _UNLIMITED, left)
    right = np.where(stop == spans[-1, 1], _UNLIMITED, right)
    context = np.where(inside, np.minimum(left, right), -1)
    best = context.argmax(axis=1)
    rows = np.arange(len(begins))
    return tried[rows, best], context[rows, best]
