"""ContextualPass: sentences through a transformer, to the vectors of their words.

Pool the vectors of pieces into those of words.
"""

from typing import NamedTuple

import numpy as np

from .._batching import BatchRunner
from ._windows import windows_of

SUBWORD_MODES = ("first", "last", "mean", "max")


def pool_pieces(pieces, sizes, how):
    """Return one vector a word.

    Parameters
    ----------
    pieces : tensor of shape (n_pieces, dim)
        Those of a word stand together.
    sizes : int64 tensor of shape (n_words,)
        How many pieces each word has, 1 at least.
    how : {"first", "last", "mean", "max"}

    Returns
    -------
    tensor of shape (n_words, dim)

    Examples
    --------
    >>> import torch
    >>> pieces = torch.tensor([[1.0], [3.0], [5.0]])
    >>> pool_pieces(pieces, torch.tensor([2, 1]), "mean").ravel().tolist()
    [2.0, 5.0]
    """
    import torch

    if len(pieces) == len(sizes):
        return pieces
    if how in ("first", "last"):
        stops = sizes.cumsum(0)
        return pieces[stops - 1 if how == "last" else stops - sizes]
    return torch.segment_reduce(pieces, how, lengths=sizes)


class Wanted(NamedTuple):
    """What is taken from the hidden states."""

    layers: tuple
    outputs: tuple = ("words",)
    subword: str = "mean"
    dim: int = 0


class ContextualPass:
    """Computes what `compute_missing` asks for.

    Parameters
    ----------
    model : TransformerModel or LoadedModel
    aligner : Aligner
    wanted : Wanted
    limit : int or None
        Largest number of pieces a window.
    truncate : bool
    budget : int
        Tokens a batch.
    progress : callable, default=None
        Gets the number of tokens of each batch.
    """

    def __init__(self, model, aligner, wanted, limit, truncate, budget, progress=None):
        self.model, self.aligner, self.wanted = model, aligner, wanted
        self.limit, self.truncate = limit, truncate
        self._runner = BatchRunner(budget)
        self._progress = progress
        self._pad = padding_id(model)

    def __call__(self, sentences):
        """Yield ``(values, known)`` for each layer and output, a list a sentence."""
        with self.model.lock:
            encoded = self.aligner.encode(sentences)
        windows = [
            window
            for i, pieces in enumerate(encoded)
            for window in windows_of(
                i, pieces, self.aligner.frame, self.limit, truncate=self.truncate
            )
        ]
        sizes = [len(sentence) for sentence in sentences]
        results = _Results(windows, sizes, self.wanted)
        shares = _shares(windows, sizes)

        def forward(batch):
            chosen = [windows[k] for k in batch]
            types = [w.types for w in chosen] if self.aligner.frame.typed else None
            with self.model.lock:
                states = self.model.call.hidden_states(
                    [w.ids for w in chosen], types, self._pad
                )
                check_dimensions(states, self.wanted)
                results.take(batch, states, self.aligner.frame.cls)
            if self._progress is not None:
                self._progress(int(shares[batch].sum()))

        with self.model.lock:
            company = self.model.call.company(self._pad)
        self._runner.run([len(w.ids) for w in windows], forward, company)
        yield from results.of_sentences()


def _shares(windows, sizes):
    """Return the number of tokens that each window stands for."""
    owners = np.array([window.sentence for window in windows], dtype=np.int64)
    counts = np.bincount(owners, minlength=len(sizes))[owners]
    which = np.arange(len(owners)) - np.searchsorted(owners, owners)
    sizes = np.array(sizes, dtype=np.int64)[owners]
    return sizes * (which + 1) // counts - sizes * which // counts


class _Results:
    """Vectors of a slice of sentences, filled batch by batch.

    Words that are taken piece by piece from several windows go to rows of their own
    behind the others, and are pooled at the end.
    """

    def __init__(self, windows, sizes, wanted):
        self.windows, self.wanted = windows, wanted
        self.starts = np.r_[0, np.cumsum(sizes)].astype(np.int64)
        self._segments = self._laid_out()
        self.known = np.zeros(self.starts[-1], dtype=bool)
        shape = (len(wanted.layers), self.starts[-1] + len(self._owners), wanted.dim)
        if "words" in wanted.outputs:
            self.words = np.zeros(shape, np.float32)
        shape = (len(wanted.layers), len(windows), wanted.dim)
        self.whole = {
            output: np.zeros(shape, np.float32)
            for output in wanted.outputs
            if output != "words"
        }

    def _laid_out(self):
        """Return for each window where words begin, and the rows they go to."""
        segments, self._owners = [], []
        for window in self.windows:
            words, apart = window.words, window.apart
            begins = np.ones(len(words), dtype=bool)
            begins[1:] = (words[1:] != words[:-1]) | apart[1:]
            begins = np.flatnonzero(begins)
            rows = words[begins] + self.starts[window.sentence]
            alone = apart[begins]
            if alone.any():
                first = self.starts[-1] + len(self._owners)
                self._owners += rows[alone].tolist()
                rows[alone] = first + np.arange(alone.sum())
            segments.append((np.diff(np.r_[begins, len(words)]), rows))
        return segments

    def take(self, batch, states, cls):
        """Keep what is wanted of the hidden states of a batch of windows."""
        import torch

        length, chosen = states[0].shape[1], [self.windows[k] for k in batch]
        device = states[0].device

        def index(arrays):
            return torch.from_numpy(np.concatenate(arrays)).to(device)

        lines = [i * length for i in range(len(chosen))]
        if "words" in self.wanted.outputs:
            places = [w.positions + n for w, n in zip(chosen, lines, strict=True)]
            sizes = [self._segments[k][0] for k in batch]
            rows = np.concatenate([self._segments[k][1] for k in batch])
            self._keep(
                self.words,
                rows,
                states,
                index(places),
                index(sizes),
                self.wanted.subword,
            )
            self.known[rows[rows < len(self.known)]] = True
        if "mean" in self.whole:
            places = [w.counted + n for w, n in zip(chosen, lines, strict=True)]
            sizes = index([[len(w.counted) for w in chosen]])
            self._keep(self.whole["mean"], batch, states, index(places), sizes, "mean")
        if "cls" in self.whole:
            places = [
                [n + (cls if cls >= 0 else len(w.ids) + cls)]
                for w, n in zip(chosen, lines, strict=True)
            ]
            sizes = torch.ones(len(chosen), dtype=torch.int64, device=device)
            self._keep(self.whole["cls"], batch, states, index(places), sizes, "first")

    def _keep(self, out, rows, states, places, sizes, how):
        for j, layer in enumerate(self.wanted.layers):
            vectors = states[layer].reshape(-1, self.wanted.dim)[places].float()
            pooled = pool_pieces(vectors, sizes, how).cpu().numpy()
            if not np.isfinite(pooled).all():
                raise _overflow(layer, states[layer].dtype)
            out[j, rows] = pooled

    def of_sentences(self):
        """Yield the list of ``(values, known)`` of each sentence."""
        if "words" in self.wanted.outputs:
            self._pool_those_apart()
        whole = {output: self._of_whole(output) for output in self.whole}
        n_windows = self._n_windows()
        for i, (start, stop) in enumerate(
            zip(self.starts[:-1], self.starts[1:], strict=True)
        ):
            yield [
                (self.words[j, start:stop], self.known[start:stop])
                if output == "words"
                else (whole[output][j, i], bool(n_windows[i]))
                for j in range(len(self.wanted.layers))
                for output in self.wanted.outputs
            ]

    def _pool_those_apart(self):
        import torch

        owners = np.array(self._owners, dtype=np.int64)
        if not len(owners):
            return
        # Windows come in the order of the text, so that pieces of a word do too.
        order = np.argsort(owners, kind="stable")
        rows, sizes = np.unique(owners, return_counts=True)
        pieces = self.words[:, len(self.known) + order]
        for j, layer in enumerate(pieces):
            pooled = pool_pieces(
                torch.from_numpy(layer), torch.from_numpy(sizes), self.wanted.subword
            )
            self.words[j, rows] = pooled.numpy()
        self.known[rows] = True

    def _n_windows(self):
        sentences = np.array([w.sentence for w in self.windows], dtype=np.int64)
        return np.bincount(sentences, minlength=len(self.starts) - 1)

    def _of_whole(self, output):
        """Return one vector a sentence, over all of its windows."""
        found = self.whole[output]
        if self._n_windows().max(initial=0) <= 1:
            weights = np.ones(len(self.windows))
        elif output == "mean":
            weights = np.array([len(w.counted) for w in self.windows], dtype=float)
        else:
            weights = np.ones(len(self.windows))
        sentences = np.array([w.sentence for w in self.windows], dtype=np.int64)
        sums = np.zeros((len(found), len(self.starts) - 1, self.wanted.dim))
        for j, layer in enumerate(found):
            np.add.at(sums[j], sentences, layer * weights[:, None])
        total = np.bincount(sentences, weights, minlength=len(self.starts) - 1)
        return (sums / np.maximum(total, 1e-300)[:, None]).astype(np.float32)


def check_dimensions(states, wanted):
    """See that the layers have the dimension that blocks were laid out for."""
    odd = [k for k in wanted.layers if states[k].shape[-1] != wanted.dim]
    if odd:
        raise ValueError(
            f"TransformerEmbedding: hidden state {odd[0]} has dimension "
            f"{states[odd[0]].shape[-1]}, and {wanted.dim} was expected from the "
            "model's configuration. Only layers of that dimension can be taken. A "
            "cache keeps all layers, unless cache_layers='selected'."
        )


def _overflow(layer, dtype):
    return ValueError(
        f"TransformerEmbedding: hidden state {layer}, computed in {dtype}, has NaN or "
        "infinity. float16 is too narrow for some networks, T5 for one: use "
        "dtype='bfloat16' or 'float32'. In float32 the weights are damaged. A cache "
        "keeps all layers, unless cache_layers='selected'."
    )


def padding_id(model):
    """Return the padding id, from which some models count positions."""
    for told in (model.config, model.tokenizer):
        pad = getattr(told, "pad_token_id", None)
        if isinstance(pad, int) and pad >= 0:
            return pad
    return 0
