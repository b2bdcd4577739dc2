"""Aligner: from words and texts to the pieces of a model's tokenizer, and back."""

from itertools import accumulate
from typing import NamedTuple

import numpy as np

from .._sentences import OriginalText, overlapping

_PROBES = ("a", "the", "1", ".")
_PROBE_WORDS = ("The", "sun", "a", "1", "b")  # they show whether spaces are lost


class Pieces(NamedTuple):
    """The pieces of a sentence, without the special tokens around it.

    A piece may belong to several words, or to none.
    """

    ids: np.ndarray
    n_prefix: int  # pieces of the prefix, before all others
    at: np.ndarray  # pieces of words, word by word
    words: np.ndarray  # the word of each of these


class Frame(NamedTuple):
    """The special tokens around a text, each an ``(id, type)``."""

    left: tuple = ()
    right: tuple = ()
    type: int = 0  # of the text's own pieces
    typed: bool = False  # whether the tokenizer returns types at all
    cls: int | None = None  # index of the classification token, negative in `right`


class Aligner:
    """Split sentences into pieces, and find the words of each piece.

    Fast tokenizers get whole texts, in which the words of a list are joined by spaces,
    and return the characters of each piece, by which pieces are assigned to words.
    Slow tokenizers do not return the characters. They get one word of a list at a time,
    with a space before it if they preserve spaces.

    Parameters
    ----------
    tokenizer : transformers tokenizer
    prefix : str, default=""
        Text before every sentence, for example "query: ".

    Attributes
    ----------
    frame : Frame
    has_offsets : bool
        Whether the tokenizer returns the characters of a piece.
    overhead : int
        Maximum number of pieces around a sentence: special tokens and prefix.
    remembered : dict
        Results of `_tokenizer_checks`, by sentence or word.
    """

    def __init__(self, tokenizer, prefix=""):
        self.tokenizer, self.prefix = tokenizer, prefix
        self.has_offsets = bool(getattr(tokenizer, "is_fast", False))
        self._space = "" if self.has_offsets else _space_of(tokenizer)
        self.frame = _frame_of(tokenizer)
        self._prefix_ids = _encode(tokenizer, [prefix])["input_ids"][0]
        around = len(self.frame.left) + len(self.frame.right)
        self.overhead = around + len(self._prefix_ids) + 1
        self.remembered = {}

    def encode(self, sentences):
        """Return the Pieces of each sentence, a sequence of words or an OriginalText.

        The spans of the words of an OriginalText are used by fast tokenizers only.
        """
        if not sentences:
            return []
        if self.has_offsets:
            return self._by_characters([self._text(s) for s in sentences])
        return [
            self._whole(sentence.text)
            if isinstance(sentence, OriginalText)
            else self._word_by_word(sentence)
            for sentence in sentences
        ]

    def encode_words(self, words):
        """Return the ids of the pieces that each word has within a text."""
        pieces = self.encode([("a", word) for word in words])
        return [p.ids[p.at[p.words == 1]] for p in pieces]

    def _text(self, sentence):
        """Return a text, the length of its prefix, and the spans of its words."""
        if isinstance(sentence, OriginalText):
            text = self.prefix + encodable(sentence.text)
            return text, len(self.prefix), sentence.spans
        prefix = "".join(word + " " for word in self.prefix.split())
        ends = np.array(list(accumulate(len(word) + 1 for word in sentence))) - 1
        spans = np.column_stack([ends - [len(word) for word in sentence], ends])
        spans[spans[:, 0] == spans[:, 1]] = -1  # an empty word has no piece
        return prefix + encodable(" ".join(sentence)), len(prefix), spans

    def _by_characters(self, texts):
        encoded = _encode(
            self.tokenizer, [text for text, _, _ in texts], return_offsets_mapping=True
        )
        result = []
        for (text, n_before, spans), ids, offsets in zip(
            texts, encoded["input_ids"], encoded["offset_mapping"], strict=True
        ):
            offsets = np.array(offsets, dtype=np.int64).reshape(-1, 2)
            offsets = _with_next(text, offsets) - n_before
            behind = offsets[:, 1] > 0
            n_prefix = int(behind.argmax()) if behind.any() else len(ids)
            ids = np.array(ids, dtype=np.int64)
            result.append(Pieces(ids, n_prefix, *overlapping(spans, offsets)))
        return result

    def _whole(self, text):
        """Return the pieces of a text without those of its words."""
        ids = _encode(self.tokenizer, [self.prefix + encodable(text)])["input_ids"][0]
        prefix, none = self._prefix_ids, np.zeros(0, dtype=np.int64)
        n_prefix = len(prefix) if ids[: len(prefix)] == prefix else 0
        return Pieces(np.array(ids, dtype=np.int64), n_prefix, none, none)

    def _word_by_word(self, words):
        prefix = self.prefix.split()
        parts = [encodable(word) for word in (*prefix, *words)]
        parts = [self._space + w if w and i else w for i, w in enumerate(parts)]
        pieces = _encode(self.tokenizer, parts)["input_ids"]
        sizes = [len(part) for part in pieces]
        ids = np.array([id_ for part in pieces for id_ in part], dtype=np.int64)
        n_prefix = sum(sizes[: len(prefix)])
        owners = np.repeat(np.arange(len(words)), sizes[len(prefix) :])
        return Pieces(ids, n_prefix, np.arange(n_prefix, len(ids)), owners)


def _encode(tokenizer, texts, **options):
    return tokenizer(texts, add_special_tokens=False, verbose=False, **options)


def _space_of(tokenizer):
    """Return "" or " ": the string before a word that gives its pieces in a text."""
    whole = list(_encode(tokenizer, " ".join(_PROBE_WORDS))["input_ids"])
    for space in ("", " "):
        parts = [_PROBE_WORDS[0], *(space + word for word in _PROBE_WORDS[1:])]
        ids = _encode(tokenizer, parts)["input_ids"]
        if [piece for row in ids for piece in row] == whole:
            return space
    return ""


def _frame_of(tokenizer):
    """Return the Frame of a tokenizer, read off an encoded probe."""
    probe, inner = _probe(tokenizer)
    encoded = tokenizer(probe, verbose=False)
    ids = list(encoded["input_ids"])
    types = encoded.get("token_type_ids") or [0] * len(ids)
    framed = list(zip(ids, types, strict=True))
    starts = (i for i in range(len(ids)) if ids[i : i + len(inner)] == inner)
    start = next(starts, None)
    if start is None:
        raise ValueError(
            f"TransformerEmbedding: {type(tokenizer).__name__} returns different "
            "pieces for a text with special tokens than without, so that the pieces of "
            "a word cannot be found."
        )
    stop = start + len(inner)
    cls = getattr(tokenizer, "cls_token_id", None)
    place = ids.index(cls) if cls is not None and cls in ids else None
    if place is not None and place >= stop:
        place -= len(ids)
    return Frame(
        left=tuple(framed[:start]),
        right=tuple(framed[stop:]),
        type=types[start],
        typed="token_type_ids" in encoded,
        cls=place,
    )


def _probe(tokenizer):
    vocabulary = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    for probe in (*_PROBES, *list(vocabulary)[:1000]):
        inner = _encode(tokenizer, probe)["input_ids"]
        special = set(getattr(tokenizer, "all_special_ids", ()))
        unknown = getattr(tokenizer, "unk_token_id", None)
        if inner and not special.intersection(inner) - {unknown}:
            return probe, list(inner)
    raise ValueError(
        f"TransformerEmbedding: {type(tokenizer).__name__} returns no pieces for any "
        f"of {_PROBES} or of the words of its own vocabulary. Check that it belongs to "
        "the model."
    )


def _with_next(text, offsets):
    """Return offsets in which a piece that is a space extends to the next word.

    Some tokenizers trim spaces from offsets, so that such a piece is empty.
    """
    starts, stops = offsets.T
    stops = np.maximum(stops, starts + 1)
    spans = zip(starts.tolist(), stops.tolist(), strict=True)
    spaces = np.array([text[slice(*span)].isspace() for span in spans], dtype=bool)
    return np.column_stack([starts, stops + spaces])


def encodable(text):
    """Replace lone surrogates, which tokenizers reject; keep the length."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
