"""SentenceRows: distinct sentences, and the rows of blocks that they fill."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..sequences._spill import spilled_zeros
from ._cache_entry import as_kept
from ._written import WrittenText


class Layer(NamedTuple):
    """What a source gives for a sentence.

    Parameters
    ----------
    name : int or str
        Part of the key in the cache: one layer always goes by one name.
    dim : int
        Length of a vector.
    level : {"token", "sequence"}, default="token"
        Whether there is a vector a token, or one a sentence.
    """

    name: int | str
    dim: int
    level: str = "token"


def distinct_sentences(tokens, *, together=True):
    """Return distinct sentences and the sequences where each stands.

    Parameters
    ----------
    tokens : TokenSequences
    together : bool, default=True
        Whether equal sentences are one.

    Returns
    -------
    places : list of list of int
    sentences : list of tuple of str
        In first-seen order, without empty ones.
    """
    places = {}
    for i, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        if stop > start:
            key = tokens.codes[start:stop].tobytes() if together else i
            places.setdefault(key, []).append(i)
    first = [which[0] for which in places.values()]
    sentences = [tuple(s) for s in tokens[first].to_list()] if first else []
    return list(places.values()), sentences


class SentenceRows:
    """The distinct sentences of a container, and where their vectors go.

    Parameters
    ----------
    tokens : TokenSequences
        What is embedded.
    layers : sequence of Layer
        What each sentence gives.
    also : sequence of Layer, default=()
        What is computed and kept with them, and goes to no row.
    distinct : bool, default=True
        Whether equal sentences are one.
    memory_limit : int, default=None
        Number of bytes beyond which what is at the token level is kept in files.
    read : callable, default=distinct_sentences
        From tokens to distinct sentences and their places.

    Attributes
    ----------
    places : list of list of int
        The sequences where each sentence stands.
    sentences : list of tuple of str, or of WrittenText
        Without empty ones.
    sizes : ndarray of int, shape (n_sentences,)
        Their numbers of tokens.
    computed : list of Layer
        All that `compute` gives: those that are laid out, then the others.
    bytes_a_token : int
        Of all that is computed.
    results : list of (values, known)
        One a layer, zeros and not known where nothing was placed.
    """

    def __init__(
        self,
        tokens,
        layers,
        *,
        also=(),
        distinct=True,
        memory_limit=None,
        read=distinct_sentences,
    ):
        self.layers = [Layer(*layer) for layer in layers]
        self.computed = [*self.layers, *(Layer(*layer) for layer in also)]
        self._offsets = tokens.offsets
        self.places, self.sentences = read(tokens, together=distinct)
        self.sizes = np.array([len(s) for s in self.sentences], dtype=np.int64)
        self.bytes_a_token = 4 * sum(layer.dim for layer in self.computed)
        spills = exceeds(tokens, self.layers, memory_limit)
        self.results = [self._empty(layer, tokens, spills) for layer in self.layers]

    def _empty(self, layer, tokens, spills):
        n_rows = len(tokens) if layer.level == "sequence" else len(tokens.codes)
        shape = n_rows, layer.dim
        if spills and layer.level == "token":
            values = spilled_zeros(shape, np.float32, "Token-level vectors")
        else:
            values = np.zeros(shape, np.float32)
        return values, np.zeros(n_rows, bool)

    def fits(self, number, entry, layer):
        """Tell whether an entry has the shape that a layer asks for."""
        size = () if layer.level == "sequence" else (len(self.sentences[number]),)
        values, known = entry
        return np.shape(values) == (*size, layer.dim) and np.shape(known) == size

    def place(self, number, entries):
        """Write the entries of a sentence to all rows where it stands."""
        for layer, (values, known), (out, mask) in zip(
            self.layers, entries, self.results, strict=True
        ):
            for i in self.places[number]:
                here = i
                if layer.level == "token":
                    here = slice(self._offsets[i], self._offsets[i + 1])
                out[here], mask[here] = values, known

    def checked(self, number, entry, dtype):
        """Return the entries of a sentence as they are kept, or say what is wrong."""
        sentence = self.sentences[number]
        entry = None if entry is None else list(entry)
        if entry is None or len(entry) != len(self.computed):
            raise ValueError(
                "A source must return, for each sentence, (values, known) for each of "
                f"{len(self.computed)} layers; for {_short(sentence)} it returned "
                f"{'nothing' if entry is None else len(entry)}."
            )
        for layer, pair in zip(self.computed, entry, strict=True):
            if not self.fits(number, pair, layer):
                raise ValueError(
                    f"Layer {layer.name!r} of {_short(sentence)} ({len(sentence)} "
                    f"tokens) must have dimension {layer.dim} at the {layer.level} "
                    f"level, got values of shape {np.shape(pair[0])} and known of "
                    f"shape {np.shape(pair[1])}."
                )
        pairs = enumerate(zip(self.computed, entry, strict=True))
        return [self._kept(i, sentence, *pair, dtype) for i, pair in pairs]

    def _kept(self, i, sentence, layer, pair, dtype):
        try:
            return as_kept(*pair, dtype)
        except ValueError as error:
            where = f"Layer {layer.name!r} of {_short(sentence)}"
            extra = ""
            if i >= len(self.layers):
                extra = (
                    " The layer was not asked for, but the cache keeps all of them: "
                    "cache_layers='wanted' leaves it out."
                )
            raise ValueError(f"{where}: {error}{extra}") from error


def exceeds(tokens, layers, memory_limit):
    """Tell whether the vectors at the token level take more than so many bytes."""
    dim = sum(layer.dim for layer in layers if layer.level == "token")
    return memory_limit is not None and 4 * dim * len(tokens.codes) > memory_limit


def _short(sentence):
    written = isinstance(sentence, WrittenText)
    text = sentence.text if written else " ".join(sentence)
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
