"""The distinct sentences of token sequences, and the rows that their vectors fill.

A contextual source reads token lists, or original texts if they are known.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from .._core._arrays import gather_index, offsets_of
from .._io._temp_memmap import memmap_zeros
from ..sequences import Block


@dataclass(frozen=True)
class OriginalText:
    """A text before tokenization, and the spans of its tokens.

    Its length is the number of tokens. If only vectors of the whole text are needed,
    `span_bytes` is None, and the length is the number of whitespace-separated words.
    """

    text: str
    span_bytes: bytes | None = None  # int32 (n_tokens, 2), -1 for absent tokens

    @cached_property
    def spans(self):
        """Spans of the tokens, int32 (n_tokens, 2); empty without `span_bytes`."""
        return np.frombuffer(self.span_bytes or b"", dtype=np.int32).reshape(-1, 2)

    def __len__(self):
        if self.span_bytes is None:
            return len(self.text.split())
        return len(self.spans)


def at_level(sentence, level):
    """Return the part of a sentence that determines its vectors at a level.

    Vectors of a whole text do not depend on the spans of its tokens.
    """
    if level == "sequence" and isinstance(sentence, OriginalText):
        return OriginalText(sentence.text)
    return sentence


def distinct_sentences(tokens, *, merge_equal=True):
    """Return the sequences of each distinct sentence, and the sentences.

    Sentences are non-empty tuples of str in first-seen order. Without `merge_equal`,
    equal ones are separate.
    """
    groups = equal_sequences(tokens, merge_equal=merge_equal)
    first = [sequences[0] for sequences in groups]
    sentences = [tuple(s) for s in tokens[first].to_list()] if first else []
    return groups, sentences


def equal_sequences(tokens, *, merge_equal=True):
    """Return the rows of each distinct sequence that is not empty, in first-seen order.

    Without `merge_equal`, equal sequences are separate.
    """
    groups = {}
    for i, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        if stop > start:
            key = tokens.codes[start:stop].tobytes() if merge_equal else i
            groups.setdefault(key, []).append(i)
    return list(groups.values())


def distinct_texts(tokens, *, per_token, per_text, merge_equal=True):
    """Return the sequences of each distinct text, and the texts, as OriginalText.

    Texts are in first-seen order, with spans if vectors of tokens are needed, and
    without empty ones: texts without tokens or, if `per_text`, of whitespace only.
    """
    groups = {}
    for i, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        text = tokens.texts[i]
        if stop > start or (per_text and text.strip()):
            codes = tokens.codes[start:stop].tobytes() if per_token else b""
            groups.setdefault((text, codes) if merge_equal else i, []).append(i)
    first = tokens[[sequences[0] for sequences in groups.values()]]
    if not per_token:
        return list(groups.values()), [OriginalText(text) for text in first.texts]
    spans = first.spans()
    sentences = [
        OriginalText(text, spans[start:stop].tobytes())
        for text, (start, stop) in zip(
            first.texts, pairwise(first.offsets.tolist()), strict=True
        )
    ]
    return list(groups.values()), sentences


def text_of(sentence):
    """Return the text of an OriginalText, or words joined by spaces."""
    return sentence.text if isinstance(sentence, OriginalText) else " ".join(sentence)


def nonempty_texts(tokens):
    """Return the rows of texts that are not only whitespace, and these texts.

    Without original texts, returns the rows that have tokens, and their tokens joined
    by spaces.
    """
    if tokens.texts is None:
        rows = np.flatnonzero(tokens.lengths)
        return rows, [" ".join(words) for words in tokens[rows]]
    rows = np.flatnonzero([text.strip() != "" for text in tokens.texts])
    return rows, tokens.texts[rows].tolist()


def overlapping(spans, subwords):
    """Return which subwords of a text overlap which tokens, two arrays (n_overlaps,).

    `spans` (n_tokens, 2) are negative for tokens that are not in the text. `subwords`
    (n_subwords, 2) are spans in the order of the text.

    >>> spans, subwords = np.array([[0, 3], [3, 5]]), np.array([[0, 2], [2, 4], [4, 5]])
    >>> [indices.tolist() for indices in overlapping(spans, subwords)]
    [[0, 1, 1, 2], [0, 0, 1, 1]]
    """
    nonempty = np.flatnonzero(subwords[:, 1] > subwords[:, 0])
    starts, ends = subwords[nonempty].T
    first = np.searchsorted(np.maximum.accumulate(ends), spans[:, 0], "right")
    last = np.searchsorted(starts, spans[:, 1], "left")
    sizes = np.where(spans[:, 0] < 0, 0, np.maximum(last - first, 0))
    tokens = np.repeat(np.arange(len(spans)), sizes)
    at = np.arange(len(tokens)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    inside = (starts[at] < spans[tokens, 1]) & (ends[at] > spans[tokens, 0])
    return nonempty[at[inside]], tokens[inside]


class VectorKind(NamedTuple):
    """A kind of vector that a source returns for each sentence, such as a layer's."""

    name: str  # part of the key in the cache
    dim: int
    level: str = "token"  # or "sequence": one vector per sentence


class SentenceRows:
    """The distinct sentences of a container, and the rows that their vectors fill.

    Parameters
    ----------
    tokens : TokenSequences
    groups, sentences : list
        From `distinct_sentences` or `distinct_texts`.
    kinds : list of VectorKind
        The kinds of vectors to store.
    memory_limit : int, default=None
        Number of bytes above which token-level vectors are stored in temporary files.
    """

    def __init__(self, tokens, groups, sentences, kinds, *, memory_limit=None):
        self.groups, self.sentences, self.kinds = groups, sentences, kinds
        self._sequences = np.fromiter(chain.from_iterable(groups), np.int64)
        self._group_offsets = offsets_of([len(sequences) for sequences in groups])
        self._offsets = tokens.offsets
        self.sizes = np.array([len(s) for s in sentences], dtype=np.int64)
        self.bytes_per_token = 4 * sum(kind.dim for kind in kinds)
        dim = sum(kind.dim for kind in kinds if kind.level == "token")
        size = 4 * dim * tokens.n_tokens
        spills = memory_limit is not None and size > memory_limit
        # (values, known) per kind; rows that are not filled are zeros and not known.
        self.results = [self._empty(kind, tokens, spills) for kind in kinds]

    def _empty(self, kind, tokens, spills):
        n_rows = len(tokens) if kind.level == "sequence" else len(tokens.codes)
        shape = n_rows, kind.dim
        if spills and kind.level == "token":
            values = memmap_zeros(shape, np.float32, "Token-level vectors")
        else:
            values = np.zeros(shape, np.float32)
        return values, np.zeros(n_rows, bool)

    def blocks(self):
        """Return one Block per kind."""
        return [
            Block(kind.name, values, kind.level, known, copy=False)
            for kind, (values, known) in zip(self.kinds, self.results, strict=True)
        ]

    def fits(self, number, entry):
        """Return whether the (values, known) of a sentence have the right shapes."""
        for kind, pair in zip(self.kinds, entry, strict=True):
            size = () if kind.level == "sequence" else (self.sizes[number],)
            if pair is None or np.shape(pair[0]) != (*size, kind.dim):
                return False
            if np.shape(pair[1]) != size:
                return False
        return True

    def scatter(self, numbers, arrays):
        """Write the vectors of some sentences to all rows where they occur.

        `arrays` has (values, known) per kind, one sentence after the other.
        """
        places, _ = gather_index(self._group_offsets, numbers)
        sequences = self._sequences[places]
        which = np.repeat(
            np.arange(len(numbers)), np.diff(self._group_offsets)[numbers]
        )
        sizes = self.sizes[numbers]
        # Slices are copied at twice the speed of rows.
        begins = offsets_of(sizes)[which].tolist()
        spans = self._offsets[sequences].tolist(), begins, sizes[which].tolist()
        for kind, (values, known), (out, mask) in zip(
            self.kinds, arrays, self.results, strict=True
        ):
            if kind.level == "sequence":
                out[sequences], mask[sequences] = values[which], known[which]
                continue
            for start, begin, size in zip(*spans, strict=True):
                out[start : start + size] = values[begin : begin + size]
                mask[start : start + size] = known[begin : begin + size]

    def split(self, numbers, arrays):
        """Yield a list of (values, known), one per kind, for each of some sentences."""
        tokens = pairwise(offsets_of(self.sizes[numbers]).tolist())
        for i, (start, stop) in enumerate(tokens):
            places = {"sequence": i, "token": slice(start, stop)}
            yield [
                (values[places[kind.level]], known[places[kind.level]])
                for kind, (values, known) in zip(self.kinds, arrays, strict=True)
            ]

    def join(self, entries):
        """Return the arrays that `split` divides into these entries."""
        arrays = []
        for kind, pairs in zip(self.kinds, zip(*entries, strict=True), strict=True):
            joined = np.stack if kind.level == "sequence" else np.concatenate
            arrays.append([joined(parts) for parts in zip(*pairs, strict=True)])
        return arrays
