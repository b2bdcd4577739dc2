"""ForwardPass: compute the vectors of sentences and their words with a transformer.

Sentences that are too long for the model are processed in overlapping windows. The
steps are:

1. `Aligner.encode` splits sentences into pieces.
2. `windows_of` divides the pieces of a sentence into windows, and chooses the window
   from which the vector of each word is taken: the one where it has most context.
3. `ForwardPass` runs the network on batches of windows, and pools the pieces of each
   word or window. The vector of a text is the mean over its windows.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..contextual._batching import BatchRunner
from ..contextual._sentences import VectorKind, text_of

_UNLIMITED = np.iinfo(np.int64).max
_MAX_GROWTH = 11  # NFKC expands a byte of UTF-8 to at most this many
SUBWORD_MODES = ("first", "last", "mean", "max")


class OutputSpec(NamedTuple):
    """Which vectors to compute: parameters of TransformerEmbedding, resolved."""

    layers: tuple
    output: str = "words"
    subword: str = "mean"
    dim: int = 0

    @property
    def kinds(self):
        """The VectorKind of each block, in order."""
        if self.output == "sentence":
            return [VectorKind("sentence", self.dim, "sequence")]
        if self.output == "words":
            return [VectorKind(f"layer{k}", self.dim) for k in self.layers]
        names = [f"{self.output}{k}" for k in self.layers]
        return [VectorKind(name, self.dim, "sequence") for name in names]

    @property
    def mode(self):
        """How the pieces of a row are pooled."""
        return self.subword if self.output == "words" else "mean"


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
        """Yield a list of (values, known) per sentence, one per kind of vector."""
        with self.model.lock:
            windows = self._windows(sentences)
        owners = np.array([w.sentence for w in windows], dtype=np.int64)
        sizes = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        # The tokens of a sentence are counted with its first window.
        progress = np.where(np.diff(owners, prepend=-1) > 0, sizes[owners], 0)
        if self.spec.output == "words":
            starts = np.r_[0, np.cumsum(sizes)]
            arrays, known = self._rows(windows, starts[owners], starts[-1], progress)
            for start, stop in pairwise(starts.tolist()):
                yield [(array[start:stop], known[start:stop]) for array in arrays]
            return
        arrays, _ = self._rows(windows, np.arange(len(windows)), len(windows), progress)
        known = np.isin(np.arange(len(sentences)), owners)
        arrays = [_window_means(array, owners, len(sentences)) for array in arrays]
        if self.spec.output == "sentence":
            arrays = [self._finished(*arrays, known)]
        for i, is_known in enumerate(known.tolist()):
            yield [(array[i], is_known) for array in arrays]

    def _windows(self, sentences):
        as_text, frame = self.spec.output != "words", self.aligner.frame
        encoded = self.aligner.encode(sentences, as_text=as_text)
        return [
            window
            for i, pieces in enumerate(encoded)
            for window in windows_of(
                i, pieces, frame, self.limit, truncate=self.truncate
            )
        ]

    def _rows(self, windows, row_offsets, n_rows, progress):
        """Return the vectors of words, or of windows, and which rows are known.

        Parameters
        ----------
        windows : list of Window
        row_offsets : ndarray of int, shape (n_windows,)
            The row of word 0 of the window's sentence; for vectors of texts, the row of
            the window.
        n_rows : int
        progress : ndarray of int, shape (n_windows,)
            Tokens to report as progress.

        Returns
        -------
        arrays : list of ndarray of float32, shape (n_rows, dim)
            One per kind of vector.
        known : ndarray of bool, shape (n_rows,)
        """
        import torch

        known, arrays = np.zeros(n_rows, dtype=bool), []
        # Vectors of texts stay on a GPU: copying them would wait for each batch.
        device = "cpu" if self.spec.output == "words" else None

        def forward(batch):
            with self.model.lock:
                part = [windows[k] for k in batch]
                rows, pooled = self._pooled(part, row_offsets[batch])
            if not arrays:
                arrays.extend(
                    v.new_zeros(n_rows, v.shape[1], device=device) for v in pooled
                )
            for array, vectors in zip(arrays, pooled, strict=True):
                array[torch.from_numpy(rows)] = vectors.to(array.device)
            known[rows] = True
            if self._progress is not None:
                self._progress(int(progress[batch].sum()))

        with self.model.lock:
            policy = self.model.network.batching_policy
        self._runner.run([len(w.ids) for w in windows], forward, policy)
        if not arrays:
            arrays = [torch.zeros(n_rows, self.spec.dim) for _ in self.spec.layers]
        return [array.cpu().numpy() for array in arrays], known

    def _pooled(self, windows, row_offsets):
        """Return the rows that windows fill, and a tensor per kind of vector."""
        frame, spec, network = self.aligner.frame, self.spec, self.model.network
        ids = [w.ids for w in windows]
        types = [w.types for w in windows] if frame.typed else None
        if spec.output == "sentence":
            return row_offsets, [self._pooled_texts(ids, types)]
        from ..._training._device import send

        states = network.hidden_states(ids, types)
        check_dimensions(states, spec)
        device, length = states[0].device, states[0].shape[1]
        pieces = pooled_pieces(windows, row_offsets, spec.output, frame.cls)
        places = send(pieces.windows * length + pieces.positions, device)
        sizes = send(pieces.sizes, device)
        flat = [states[k].reshape(-1, spec.dim) for k in spec.layers]
        vectors = [pool_pieces(f[places].float(), sizes, spec.mode) for f in flat]
        return pieces.rows, vectors

    def _pooled_texts(self, ids, types):
        """Return the vectors that a sentence encoder pools from windows, a tensor."""
        import torch

        head = self.model.head
        states, mask = self.model.network.last_states(ids, types)
        n_prompt = 0 if head.include_prompt else self.aligner.n_prompt
        with torch.inference_mode():
            return head.pool(states, mask, n_prompt)

    def _finished(self, pooled, known):
        """Return the vectors of texts (n_texts, dim), from their pooled vectors."""
        values = np.zeros((len(known), self.spec.dim), np.float32)
        if known.any():
            vectors = self.model.head.finish(pooled[known])
            values[known] = vectors[:, : self.spec.dim]
        return values


class PooledPieces(NamedTuple):
    """The pieces that are pooled into rows of vectors, row by row."""

    windows: np.ndarray  # the window of each piece, in the batch
    positions: np.ndarray  # the position of each piece there
    sizes: np.ndarray  # number of pieces per row
    rows: np.ndarray


def pooled_pieces(windows, row_offsets, output, cls):
    """Return the PooledPieces of a batch of windows.

    Parameters
    ----------
    windows : list of Window
    row_offsets : ndarray of int, shape (n_windows,)
        The row of word 0 of the window's sentence; for vectors of texts, the row of the
        window.
    output : {"words", "cls", "mean"}
    cls : int or None
        Index of the classification token.
    """
    if output == "words":
        positions = [w.positions for w in windows]
        rows = [w.words + n for w, n in zip(windows, row_offsets, strict=True)]
    else:
        positions = [np.arange(len(w.ids)) for w in windows]
        if output == "cls":
            positions = [places[[cls]] for places in positions]
        rows = [row_offsets.repeat([len(places) for places in positions])]
    where = np.repeat(np.arange(len(windows)), [len(places) for places in positions])
    none = np.zeros(0, dtype=np.int64)
    rows, positions = (np.concatenate([none, *parts]) for parts in (rows, positions))
    order = np.argsort(rows, kind="stable")
    filled, sizes = np.unique(rows, return_counts=True)
    return PooledPieces(where[order], positions[order], sizes, filled)


def _window_means(vectors, owners, n_texts):
    """Return the mean over the windows of each text, which are equally long."""
    sums = np.zeros((n_texts, vectors.shape[1]))
    np.add.at(sums, owners, vectors)
    counts = np.bincount(owners, minlength=n_texts)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)


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
            f"hidden state {odd[0]} has dimension {states[odd[0]].shape[-1]}, but the "
            f"model's configuration says {spec.dim}. Only layers of that dimension can "
            "be used."
        )


class Window(NamedTuple):
    """The input of the network for a part of a sentence, and the vectors to use."""

    sentence: int
    ids: np.ndarray
    types: np.ndarray
    positions: np.ndarray  # positions of the pieces whose vectors are used for words
    words: np.ndarray  # the word of each of these pieces


def windows_of(sentence, pieces, frame, limit, *, truncate=False):
    """Return the windows of a sentence; none if it has no pieces.

    `limit` is the maximum number of pieces per window, special tokens and prefix
    included. With `truncate`, only the first window is returned, or the last one if the
    tokenizer cuts texts on the left.
    """
    n_body = len(pieces.ids) - pieces.n_prefix
    if not n_body:
        return []
    spans = window_spans(n_body, _capacity(limit, frame, pieces))
    if truncate:
        spans = spans[-1:] if frame.cuts_left else spans[:1]
    chosen = best_windows(pieces.words, spans, pieces.at - pieces.n_prefix)
    return [
        _window(sentence, pieces, frame, chosen == k, span)
        for k, span in enumerate(spans.tolist())
    ]


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
            f"windows of {limit} pieces have no room for text between {n_special} "
            f"special tokens and {n_prefix} pieces of the prompt. Use a larger "
            "max_length or a shorter prompt."
        )
    return capacity


def _window(sentence, pieces, frame, chosen, span):
    """Return the window of a span of pieces.

    `chosen` flags the pieces of words that are taken from this window.
    """
    start, stop = span
    n_prefix, head = pieces.n_prefix, len(frame.left) + pieces.n_prefix
    left = np.array(frame.left, dtype=np.int64).reshape(-1, 2)
    right = np.array(frame.right, dtype=np.int64).reshape(-1, 2)
    prefix, body = pieces.ids[:n_prefix], pieces.ids[n_prefix:]
    ids = np.concatenate([left[:, 0], prefix, body[start:stop], right[:, 0]])
    types = np.full(len(ids), frame.type)
    types[: len(left)], types[len(ids) - len(right) :] = left[:, 1], right[:, 1]
    at = pieces.at - n_prefix
    taken = np.flatnonzero(chosen & (at >= start) & (at < stop))
    positions = at[taken] - start + head
    return Window(sentence, ids, types, positions, pieces.words[taken])


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


def best_windows(words, spans, at):
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
    at : ndarray of int, shape (n_pieces,)
        The positions of the pieces in the text, adjacent for a word. A position may
        occur for several words.

    Returns
    -------
    ndarray of int, shape (n_pieces,)

    Examples
    --------
    >>> spans = window_spans(9, 4)
    >>> words = np.array([0, 1, 2, 2, 3, 4, 5, 6, 7])
    >>> best_windows(words, spans, np.arange(9)).tolist()
    [0, 0, 0, 0, 1, 2, 2, 3, 3]
    """
    n = len(words)
    if len(spans) == 1 or not n:
        return np.zeros(n, dtype=np.int64)
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
    # All windows but the last begin at multiples of the stride, so that at most three
    # of them, and the last one, contain the beginning of a span.
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


def pieces_beyond(sentences, aligner, limit, *, as_text):
    """Return how many pieces of each sentence are beyond the first window.

    Sentences with too few bytes to be long are not split into pieces.

    Parameters
    ----------
    sentences : list of OriginalText, or of sequences of str
    aligner : Aligner
    limit : int or None
    as_text : bool
        See `Aligner.encode`.
    """
    beyond = np.zeros(len(sentences), dtype=np.int64)
    if limit is None:
        return beyond
    long = [
        i
        for i, sentence in enumerate(sentences)
        if _most_pieces(text_of(sentence)) + aligner.overhead > limit
    ]
    encoded = aligner.encode([sentences[i] for i in long], as_text=as_text)
    for i, pieces in zip(long, encoded, strict=True):
        beyond[i] = n_cut(pieces, aligner.frame, limit)
    return beyond


def _most_pieces(text):
    """Return an upper bound of the number of pieces of a text after a space."""
    if text.isascii():
        return len(text) + 1
    return _MAX_GROWTH * len(text.encode("utf-8", "replace")) + 1
