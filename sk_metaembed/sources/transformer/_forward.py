"""ForwardPass: compute the vectors of sentences and their words with a transformer.

Sentences that are too long for the model are processed in overlapping windows. The
steps are:

1. `Aligner.encode` splits sentences into subwords.
2. `windows_of` divides the subwords of a sentence into windows, and chooses the window
   from which the vector of each word is taken: the one where it has most context.
3. `ForwardPass` runs the network on batches of windows, and pools the subwords of each
   word or window. The vector of a text is the mean over its windows.
"""

from typing import NamedTuple

import numpy as np

from ..._core._arrays import gather_index, offsets_of, ranges
from .._contextual import BatchRunner
from .._sentences import VectorKind, text_of

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
        """How the subwords of a row are pooled."""
        return self.subword if self.output == "words" else "mean"


class ForwardPass:
    """Compute the vectors of sentences; the `compute` of `sentence_blocks`.

    A window has at most `limit` subwords, and a batch `budget` tokens. With `truncate`,
    only the first window of a sentence is used. `progress` is called with the number of
    tokens of each batch.
    """

    def __init__(self, model, aligner, spec, limit, truncate, budget, progress=None):
        self.model, self.aligner, self.spec = model, aligner, spec
        self.limit, self.truncate = limit, truncate
        self._runner = BatchRunner(budget)
        self._progress = progress
        self._buffers = []

    def __call__(self, sentences):
        """Return the (values, known) of sentences, one per kind of vector.

        The next call overwrites the values.
        """
        by_word = self.spec.output == "words"
        with self.model.lock:
            subwords = self.aligner.encode(sentences, as_text=not by_word)
        windows = windows_of(
            subwords, self.aligner.special, self.limit, truncate=self.truncate
        )
        owners = windows.sentences
        sizes = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        # The tokens of a sentence are counted with its first window.
        progress = np.where(np.diff(owners, prepend=-1) > 0, sizes[owners], 0)
        n_rows = int(sizes.sum()) if by_word else len(owners)
        arrays, known = self._rows(windows, n_rows, progress)
        if not by_word:
            known = np.isin(np.arange(len(sentences)), owners)
            arrays = [_window_means(array, owners, len(sentences)) for array in arrays]
        if self.spec.output == "sentence":
            arrays = [self._finished(*arrays, known)]
        return [(array, known) for array in arrays]

    def _rows(self, windows, n_rows, progress):
        """Return the vectors of words, or of windows, and which rows are known.

        There is an array (n_rows, dim) per kind of vector. `progress` is the number of
        tokens to report per window.
        """
        import torch

        known, arrays = np.zeros(n_rows, dtype=bool), []
        # Windows are sorted so that batches are slices.
        order = np.argsort(-np.diff(windows.offsets), kind="stable")
        windows, progress = windows.take(order), progress[order]
        cls = self.aligner.special.cls
        subwords = pooled_subwords(windows, order, self.spec.output, cls)

        def forward(batch):
            start, stop = batch[0], batch[-1] + 1
            part = subwords.part(start, stop)
            rows = part.rows if self.spec.output != "sentence" else order[start:stop]
            with self.model.lock:
                pooled = self._pooled(windows.inputs(start, stop), part)
            if not arrays:
                arrays.extend(self._arrays(n_rows, pooled))
            for array, vectors in zip(arrays, pooled, strict=True):
                places = torch.from_numpy(rows).to(array.device)
                array.index_copy_(0, places, vectors.to(array.device))
            known[rows] = True
            if self._progress is not None:
                self._progress(int(progress[batch].sum()))

        with self.model.lock:
            policy = self.model.network.batching_policy
        self._runner.run(np.diff(windows.offsets), forward, policy)
        if not arrays:
            arrays = [torch.zeros(n_rows, self.spec.dim) for _ in self.spec.layers]
        elif not known.all():
            for array in arrays:
                array[torch.from_numpy(~known).to(array.device)] = 0
        return [array.cpu().numpy() for array in arrays], known

    def _arrays(self, n_rows, pooled):
        """Return uninitialized arrays for the vectors of all rows, one per kind.

        They share the memory of earlier calls, because new memory for each slice costs
        page faults.
        """
        if not self._buffers or len(self._buffers[0]) < n_rows:
            # Vectors of texts stay on a GPU: copying them would wait for each batch.
            device = "cpu" if self.spec.output == "words" else None
            self._buffers = [
                vectors.new_empty(n_rows, vectors.shape[1], device=device)
                for vectors in pooled
            ]
        return [buffer[:n_rows] for buffer in self._buffers]

    def _pooled(self, inputs, subwords):
        """Return the rows of a batch, a tensor per kind of vector."""
        from ..._training._device import send

        spec, network = self.spec, self.model.network
        if spec.output == "sentence":
            return [self._pooled_texts(*inputs)]
        states = network.hidden_states(*inputs)
        check_dimensions(states, spec)
        device, length = states[0].device, states[0].shape[1]
        places = send(subwords.windows * length + subwords.positions, device)
        offsets = send(subwords.offsets, device)
        flat = [states[k].reshape(-1, spec.dim) for k in spec.layers]
        return [pool_subwords(f, places, offsets, spec.mode) for f in flat]

    def _pooled_texts(self, ids, lengths, types):
        """Return the vectors that a sentence encoder pools from windows, a tensor."""
        import torch

        head = self.model.head
        states, mask = self.model.network.last_states(ids, lengths, types)
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


class PooledSubwords(NamedTuple):
    """The subwords that are pooled into rows of vectors, row by row."""

    windows: np.ndarray  # the window of each subword
    positions: np.ndarray  # the position of each subword in its window
    offsets: np.ndarray  # subwords of a row are at offsets[i]:offsets[i + 1]
    rows: np.ndarray  # the row that these subwords are pooled into

    def part(self, start, stop):
        """Return the subwords in the windows from `start` to `stop`."""
        begin, end = np.searchsorted(self.windows, (start, stop))
        first, last = np.searchsorted(self.offsets, (begin, end))
        return PooledSubwords(
            self.windows[begin:end] - start,
            self.positions[begin:end],
            self.offsets[first : last + 1] - begin,
            self.rows[first:last],
        )


def pooled_subwords(windows, rows, output, cls):
    """Return the PooledSubwords of windows.

    For vectors of texts, `rows` are those of the windows, (n_windows,), and `cls` is
    the index of the classification token. Words have the rows that `windows` contains.
    """
    lengths = np.diff(windows.offsets)
    if output == "words":
        sizes, positions = np.diff(windows.uses), windows.positions
    elif output == "cls":
        sizes = np.ones_like(lengths)
        positions = np.where(cls < 0, lengths + cls, cls)
    else:
        sizes = lengths
        positions = ranges(np.zeros_like(lengths), lengths)
    where = np.repeat(np.arange(len(lengths)), sizes)
    rows = windows.words if output == "words" else rows[where]
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    return PooledSubwords(where, positions, np.append(first, len(rows)), rows[first])


def _window_means(vectors, owners, n_texts):
    """Return the mean over the windows of each text, all of which are equally long."""
    sums = np.zeros((n_texts, vectors.shape[1]))
    np.add.at(sums, owners, vectors)
    counts = np.bincount(owners, minlength=n_texts)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)


def pool_subwords(states, places, offsets, mode):
    """Return one vector per word in float32, (n_words, dim).

    The subwords of word i are the rows ``places[offsets[i]:offsets[i + 1]]`` of
    `states`, (n_states, dim).

    >>> import torch
    >>> states = torch.tensor([[0.0], [1.0], [3.0], [5.0]])
    >>> places, offsets = torch.tensor([1, 2, 3]), torch.tensor([0, 2, 3])
    >>> pool_subwords(states, places, offsets, "mean").ravel().tolist()
    [2.0, 5.0]
    """
    import torch

    if len(places) == len(offsets) - 1:
        return states[places].float()
    if mode in ("first", "last"):
        places = places[offsets[1:] - 1 if mode == "last" else offsets[:-1]]
        return states[places].float()
    sizes = offsets.diff()
    if mode == "max":
        return torch.segment_reduce(states[places].float(), mode, lengths=sizes)
    # Ten times as fast as `segment_reduce`, with the same sums.
    add = torch.nn.functional.embedding_bag
    sums = add(places, states.float(), offsets[:-1], mode="sum")
    return sums.div_(sizes[:, None])


def check_dimensions(states, spec):
    """Raise ValueError if the dimension of layers differs from the configuration."""
    odd = [k for k in spec.layers if states[k].shape[-1] != spec.dim]
    if odd:
        raise ValueError(
            f"hidden state {odd[0]} has dimension {states[odd[0]].shape[-1]}, but the "
            f"model's configuration says {spec.dim}. Only layers of that dimension can "
            "be used."
        )


class Windows(NamedTuple):
    """The inputs of the network for parts of sentences, and the vectors to use.

    Window i has ``ids[offsets[i]:offsets[i + 1]]``, and for words the positions
    ``positions[uses[i]:uses[i + 1]]``.
    """

    sentences: np.ndarray  # the sentence of each window
    ids: np.ndarray
    types: np.ndarray | None  # like `ids`; None if the tokenizer has no types
    offsets: np.ndarray
    positions: np.ndarray  # positions of the subwords whose vectors are used for words
    words: np.ndarray  # the word of each of these subwords, of all sentences
    uses: np.ndarray

    def inputs(self, start, stop):
        """Return ids, lengths and types of the windows from `start` to `stop`."""
        part = slice(*self.offsets[[start, stop]])
        types = None if self.types is None else self.types[part]
        return self.ids[part], np.diff(self.offsets[start : stop + 1]), types

    def take(self, rows):
        """Return some of the windows."""
        places, offsets = gather_index(self.offsets, rows)
        used, uses = gather_index(self.uses, rows)
        types = None if self.types is None else self.types[places]
        taken = self.sentences[rows], self.ids[places], types, offsets
        return Windows(*taken, self.positions[used], self.words[used], uses)


def windows_of(aligned, special, limit, *, truncate=False):
    """Return the Windows of sentences; a sentence without subwords has none.

    `limit` is the maximum number of subwords per window, special tokens and prefix
    included. With `truncate`, only the first window is returned, or the last one if the
    tokenizer cuts texts on the left.
    """
    n_body = np.diff(aligned.offsets) - aligned.n_prefix
    spans = window_spans(n_body, _capacities(n_body, aligned.n_prefix, special, limit))
    if truncate:
        spans = spans.one_per_sentence(last=special.cuts_left)
    ids, types, offsets = _with_special(aligned, spans, special)
    owners = np.searchsorted(aligned.offsets, aligned.at, "right") - 1
    at = aligned.at - (aligned.offsets[:-1] + aligned.n_prefix)[owners]
    windows = best_windows(aligned.words, at, owners, spans)
    inside = (at >= spans.starts[windows]) & (at < spans.stops[windows])
    used = np.flatnonzero(inside)
    used = used[np.argsort(windows[used], kind="stable")]
    positions = (
        at - spans.starts[windows] + len(special.left) + aligned.n_prefix[owners]
    )
    uses = offsets_of(np.bincount(windows[used], minlength=len(spans.starts)))
    return Windows(
        *(spans.sentences, ids, types, offsets),
        *(positions[used], aligned.words[used], uses),
    )


def _capacities(n_body, n_prefix, special, limit):
    """Return how many subwords fit between special tokens and prefix, per sentence."""
    if limit is None:
        return np.maximum(n_body, 1)
    n_special = len(special.left) + len(special.right)
    capacities = limit - n_special - n_prefix
    full = np.flatnonzero((capacities < 1) & (n_body > 0))
    if len(full):
        raise ValueError(
            f"windows of {limit} subwords have no room for text between {n_special} "
            f"special tokens and {n_prefix[full[0]]} subwords of the prompt. Use a "
            "larger max_length or a shorter prompt."
        )
    return np.maximum(capacities, 1)


def _with_special(aligned, spans, special):
    """Return ids and types of windows with special tokens and prefix, and offsets."""
    left, right = (
        np.array(part, dtype=np.int64).reshape(-1, 2)
        for part in (special.left, special.right)
    )
    n_prefix, begins = (
        aligned.n_prefix[spans.sentences],
        aligned.offsets[spans.sentences],
    )
    sizes = np.column_stack([n_prefix, spans.stops - spans.starts])
    starts = np.column_stack([begins, begins + n_prefix + spans.starts])
    offsets = offsets_of(sizes.sum(axis=1) + len(left) + len(right))
    head = offsets[:-1, None] + np.arange(len(left))
    tail = offsets[1:, None] + np.arange(-len(right), 0)
    own = np.ones(offsets[-1], dtype=bool)
    own[head] = own[tail] = False
    ids = np.empty(len(own), np.int64)
    ids[own] = aligned.ids[ranges(starts.ravel(), sizes.ravel())]
    ids[head], ids[tail] = left[:, 0], right[:, 0]
    if not special.typed:
        return ids, None, offsets
    types = np.full(len(own), special.type)
    types[head], types[tail] = left[:, 1], right[:, 1]
    return ids, types, offsets


class WindowSpans(NamedTuple):
    """Where windows begin and end in the subwords of their sentences."""

    sentences: np.ndarray  # (n_windows,)
    starts: np.ndarray  # (n_windows,)
    stops: np.ndarray  # (n_windows,)
    firsts: np.ndarray  # the first window of each sentence, and the number of all
    strides: np.ndarray  # one per sentence

    def one_per_sentence(self, *, last):
        """Return the first or last window of each sentence."""
        counts = np.diff(self.firsts)
        keep = self.firsts[1:] - 1 if last else self.firsts[:-1]
        keep = keep[counts > 0]
        taken = (part[keep] for part in self[:3])
        return WindowSpans(*taken, offsets_of(counts > 0), self.strides)


def window_spans(n_subwords, capacities):
    """Return the WindowSpans of sentences; windows overlap by half.

    The last window ends with the text and is as long as the others.

    >>> spans = window_spans(np.array([9, 0, 3]), np.array([4, 4, 4]))
    >>> np.stack(spans[:3], axis=1).tolist()
    [[0, 0, 4], [0, 2, 6], [0, 4, 8], [0, 5, 9], [2, 0, 3]]
    """
    strides = np.maximum(1, capacities // 2)
    beyond = np.maximum(n_subwords - capacities, 0)
    firsts = offsets_of((n_subwords > 0) - -beyond // strides)
    sentences = np.repeat(np.arange(len(n_subwords)), np.diff(firsts))
    numbers = np.arange(len(sentences)) - firsts[sentences]
    starts = np.minimum(numbers * strides[sentences], beyond[sentences])
    stops = np.minimum(starts + capacities[sentences], n_subwords[sentences])
    return WindowSpans(sentences, starts, stops, firsts, strides)


def best_windows(words, at, owners, spans):
    """Return, for each subword, the window in which its word has most context.

    Context is the number of subwords to the left or right of the word in the window,
    whichever is smaller; an end of the text does not limit it. If no window contains
    the whole word, the window is the best one for its first subword.

    `words`, `at` and `owners`, all (n_subwords,), are the word, the place in the
    sentence and the sentence of each subword. Subwords of one word are adjacent.

    >>> spans = window_spans(np.array([9]), np.array([4]))
    >>> words = np.array([0, 1, 2, 2, 3, 4, 5, 6, 7])
    >>> best_windows(words, np.arange(9), np.zeros(9, int), spans).tolist()
    [0, 0, 0, 0, 1, 2, 2, 3, 3]
    """
    windows = spans.firsts[owners]
    several = np.flatnonzero(np.diff(spans.firsts)[owners] > 1)
    if not len(several):
        return windows
    first = several[np.flatnonzero(np.diff(words[several], prepend=-1))]
    sizes = np.diff(np.searchsorted(several, first), append=len(several))
    best, context = _best(at[first], at[first + sizes - 1] + 1, owners[first], spans)
    part = np.flatnonzero(context < 0)
    begins = at[first[part]]
    best[part], _ = _best(begins, begins + 1, owners[first[part]], spans)
    windows[several] = np.repeat(best, sizes)
    return windows


def _best(begins, ends, owners, spans):
    """Return the best window of each span of subwords, and its context there."""
    first, last = spans.firsts[owners, None], spans.firsts[owners + 1, None] - 1
    # All windows but the last begin at multiples of the stride, so that at most three
    # of them, and the last one, contain the beginning of a span.
    near = first + (begins // spans.strides[owners])[:, None] - np.arange(3)
    tried = np.column_stack([np.clip(near, first, last), last])
    tried.sort(axis=1)
    start, stop = spans.starts[tried], spans.stops[tried]
    left, right = begins[:, None] - start, stop - ends[:, None]
    inside = (left >= 0) & (right >= 0)
    left = np.where(start == 0, _UNLIMITED, left)
    right = np.where(stop == spans.stops[last], _UNLIMITED, right)
    context = np.where(inside, np.minimum(left, right), -1)
    best = context.argmax(axis=1)
    rows = np.arange(len(begins))
    return tried[rows, best], context[rows, best]


def subwords_beyond(sentences, aligner, limit, *, as_text):
    """Return how many subwords of each sentence are beyond the first window.

    Sentences with too few bytes to be long are not split into subwords. For `as_text`,
    see `Aligner.encode`.
    """
    beyond = np.zeros(len(sentences), dtype=np.int64)
    if limit is None:
        return beyond
    long = [
        i
        for i, sentence in enumerate(sentences)
        if _most_subwords(text_of(sentence)) + aligner.overhead > limit
    ]
    if not long:
        return beyond
    aligned = aligner.encode([sentences[i] for i in long], as_text=as_text)
    n_body = np.diff(aligned.offsets) - aligned.n_prefix
    capacities = _capacities(n_body, aligned.n_prefix, aligner.special, limit)
    beyond[long] = np.maximum(0, n_body - capacities)
    return beyond


def _most_subwords(text):
    """Return an upper bound on the number of subwords of a text after a space."""
    if text.isascii():
        return len(text) + 1
    return _MAX_GROWTH * len(text.encode("utf-8", "replace")) + 1
