"""Sources of vectors in context: base classes, batches, cached and computed blocks."""

import os
import random
import warnings
from contextlib import contextmanager
from itertools import compress, islice

import numpy as np

from .._core._arrays import offsets_of
from .._core._errors import short_repr
from .._core._optional import progress_bar
from .._core._sklearn import COUNT, NATURAL, StrOptions
from .._io._handle import Handle, fork_safe_lock
from ._base import BaseEmbedding
from ._cache import open_cache, round_entry
from ._sentences import at_level, text_of


class ContextualEmbedding(BaseEmbedding):
    """Compute vectors of tokens in their context, each distinct sentence once.

    A subclass sets `_model`, a `NetworkModel`, and `fingerprint_`, the key of the
    cache, in `fit`. It has the parameters below, which `inherit_docs` adds to its own.

    Parameters
    ----------
    device : str, default="auto"
        "cpu", "cuda" or another torch device; "auto" uses a GPU if there is one.
    cache : path-like, default=None
        Directory that stores vectors for other folds, candidates, processes and runs.
        See `EmbeddingCache`.
    cache_dtype : {"float32", "float16"}, default="float32"
        Type of stored vectors. float16 halves the size and rounds the vectors.
    memory_limit : int, default=None
        Number of bytes of token-level vectors per call above which they are kept in
        memory-mapped temporary files. None for no limit.
    verbose : int, default=0
        Show a progress bar.
    """

    _common_constraints = {
        **BaseEmbedding._common_constraints,
        "device": [str],
        "batch_tokens": [COUNT, None],
        "cache": [str, os.PathLike, None],
        "cache_dtype": [StrOptions({"float32", "float16"})],
        "memory_limit": [NATURAL, None],
        "verbose": ["verbose"],
    }
    _CPU_BATCH_TOKENS: int
    _GPU_BATCH_TOKENS: int

    def _budget(self, device_type):
        """Return the number of tokens or subwords per batch."""
        on_cpu = device_type == "cpu"
        default = self._CPU_BATCH_TOKENS if on_cpu else self._GPU_BATCH_TOKENS
        return self.batch_tokens or default

    def _load_network(self):
        """Load the network of a fitted source before its first use."""
        if self.cache is None and hasattr(self, "_model"):
            self._prepare_network()

    def _prepare_network(self):
        self._model.load()

    @contextmanager
    def _opened(self, rows):
        """Open the cache and a progress bar over the tokens of a `SentenceRows`.

        With a cache the bar has no total, because some sentences may be cached.
        """
        total = int(rows.sizes.sum()) if self.cache is None else None
        shown = {"desc": type(self).__name__, "unit": " tokens"}
        with (
            open_cache(self.cache, self.fingerprint_, self.cache_dtype) as cache,
            progress_bar(total=total, disable=not self.verbose, **shown) as bar,
        ):
            yield cache, bar


class NetworkModel(Handle):
    """A model that computes with torch.

    Its `lock` is held while the tokenizer or the network runs: neither is thread-safe.
    """

    def __init__(self, spec):
        self._spec, self.lock = spec, fork_safe_lock()
        self._network = None

    def _new_network(self):
        """Return the network, read from the files of the model."""
        raise NotImplementedError

    def load(self):
        """Load the network, unless it is loaded."""
        with self.lock:
            if self._network is None:
                self._network = self._new_network()

    @property
    def network(self):
        """The network, loaded on first use."""
        self.load()
        return self._network

    @property
    def device_type(self):
        """Type of the device, "cpu" or "cuda"; does not load the network."""
        return self._spec.device.partition(":")[0]

    @classmethod
    def _reopen(cls, spec, fingerprint, *, local=False):
        """Return the handle of a pickle or a saved file; without a GPU, on the CPU."""
        if spec.device.startswith("cuda"):
            import torch

            if not torch.cuda.is_available():
                spec = spec._replace(device="cpu")
        return super()._reopen(spec, fingerprint, local=local)


_TRANSFER_BYTES = 2**25
_SLICE_BYTES = 2**29


def sentence_blocks(cache, rows, compute, *, slice_tokens):
    """Return one Block per kind, with cached or newly computed vectors.

    Parameters
    ----------
    cache : SentenceCache or None
        None computes everything and stores nothing.
    rows : SentenceRows
        The sentences to embed, and the kinds of the blocks to return.
    compute : callable
        From a list of sentences to a list of ``(values, known)``, one per kind, of
        shapes (n_rows, dim) and (n_rows,). Rows are the tokens of all sentences, one
        sentence after the other, or the sentences at the sequence level. Values that
        are not finite raise ValueError.
    slice_tokens : int
        Maximum number of tokens per call of `compute`. The sentences of a slice are of
        similar length.
    """
    budget = min(slice_tokens, max(1, _SLICE_BYTES // rows.bytes_per_token))
    missing = np.arange(len(rows.sentences))
    if cache is not None:
        missing = _from_cache(cache, rows, missing)
    longest_first = missing[np.argsort(-rows.sizes[missing], kind="stable")]
    slices = list(_slices(rows, longest_first, budget))
    # Each slice is stored as soon as it is computed, so a killed process loses at most
    # one. The workers of a search start at the same time with the same slices: each
    # processes them in random order and skips what others have stored in the meantime,
    # so that they share the work without locks.
    if cache is not None:
        random.Random().shuffle(slices)
    for part in slices:
        part = part if cache is None else _from_cache(cache, rows, part)
        _compute(cache, rows, part, compute)
    return rows.blocks()


def _from_cache(cache, rows, numbers):
    """Scatter the vectors of cached sentences; return the numbers of uncached ones."""
    missing = [np.zeros(0, dtype=np.int64)]
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        entries = cache.get_many(_keys(cache, rows, part))
        entries = [entries[j :: len(part)] for j in range(len(part))]  # by sentence
        found = np.array(list(map(rows.fits, part, entries)))
        if found.any():
            rows.scatter(part[found], rows.join(compress(entries, found)))
        missing.append(part[~found])
    return np.concatenate(missing)


def _compute(cache, rows, numbers, compute):
    """Compute sentences, scatter their vectors, and store them."""
    if not len(numbers):
        return
    arrays = compute([rows.sentences[n] for n in numbers])
    arrays = _rounded(
        rows, numbers, arrays, "float32" if cache is None else cache.dtype
    )
    rows.scatter(numbers, arrays)
    if cache is None:
        return
    entries = rows.split(numbers, arrays)
    for part in _slices(rows, numbers, _TRANSFER_BYTES // rows.bytes_per_token):
        by_kind = zip(*islice(entries, len(part)), strict=True)
        pairs = [pair for pairs in by_kind for pair in pairs]
        cache.put_many(_keys(cache, rows, part), pairs)


def _rounded(rows, numbers, arrays, dtype):
    """Return computed arrays rounded to `dtype`, or raise an error for a sentence."""
    try:
        return [round_entry(*pair, dtype) for pair in arrays]
    except ValueError:
        for number, entry in zip(numbers, rows.split(numbers, arrays), strict=True):
            for kind, pair in zip(rows.kinds, entry, strict=True):
                try:
                    round_entry(*pair, dtype)
                except ValueError as error:
                    text = short_repr(text_of(rows.sentences[number]))
                    where = f"Layer {kind.name!r} of {text}"
                    raise ValueError(f"{where}: {error}") from error
        raise


def _keys(cache, rows, numbers):
    """Return the keys of some sentences, kind by kind."""
    sentences = [rows.sentences[n] for n in numbers]
    return [
        key
        for kind in rows.kinds
        for key in cache.keys([at_level(s, kind.level) for s in sentences], kind.name)
    ]


def _slices(rows, numbers, budget):
    """Yield parts of numbers of sentences, with at most `budget` tokens per part."""
    ends, start = offsets_of(rows.sizes[numbers]), 0
    while start < len(numbers):
        stop = int(np.searchsorted(ends, ends[start] + budget, "right")) - 1
        stop = max(stop, start + 1)
        yield numbers[start:stop]
        start = stop


def token_batches(lengths, budget, policy="any", *, most_rows=None):
    """Return batches of row numbers, longest rows first.

    A batch has at most `budget` tokens, including padding; a longer row is a batch of
    its own. The policy says which rows may share a batch: "any", those of equal length
    ("alike") or "none".

    >>> [batch.tolist() for batch in token_batches([2, 9, 3, 2, 2], 6)]
    [[1], [2, 0], [3, 4]]
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = int(lengths[order[start]])
        size = max(1, min(budget // max(1, longest), most_rows or budget))
        if policy != "any":
            n_alike = int((lengths[order[start:]] == longest).sum())
            size = min(size, n_alike) if policy == "alike" else 1
        batches.append(order[start : start + size])
        start += size
    return batches


class BatchRunner:
    """Run batches, and continue with smaller ones if GPU memory runs out."""

    def __init__(self, budget, *, most_rows=None):
        self.budget, self._most_rows = budget, most_rows

    def run(self, lengths, forward, policy="any"):
        """Call ``forward(rows)`` with the `token_batches` of rows, each row once.

        Raises MemoryError if a single row does not fit into memory.
        """
        import torch

        lengths = np.asarray(lengths, dtype=np.int64)
        remaining = self._batches(lengths, policy)
        while remaining:
            batch = remaining.pop()
            try:
                forward(batch)
                continue
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    raise MemoryError(
                        "out of GPU memory on a single sequence of "
                        f"{lengths[batch[0]]} subwords ({error}). Use shorter "
                        "sequences, dtype='bfloat16' or device='cpu'."
                    ) from error
            # Outside of the handler, whose traceback keeps the batch's tensors alive.
            self._halve(int(lengths[batch].max()), len(batch))
            rows = np.concatenate([batch, *remaining[::-1]])
            remaining = [rows[part] for part in self._batches(lengths[rows], policy)]

    def _batches(self, lengths, policy):
        """Return the batches in reverse order, to be popped."""
        most = self._most_rows
        return token_batches(lengths, self.budget, policy, most_rows=most)[::-1]

    def _halve(self, longest, size):
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.budget = max(1, longest * size // 2)
        warnings.warn(
            f"Ran out of GPU memory on a batch of {size} sequences. Continuing with at "
            f"most {self.budget} tokens per batch; set "
            f"batch_tokens={self.budget} to start with that.",
            stacklevel=3,
        )
