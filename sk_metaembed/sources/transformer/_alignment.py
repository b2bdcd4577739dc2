"""Aligner: from words and texts to the pieces of a model's tokenizer, and back."""

from itertools import accumulate
from typing import NamedTuple

import numpy as np

from .._sentences import OriginalText, overlapping

_PROBES = ("a", "the", "1", ".")
_PROBE_WORDS = ("The", "sun", "a", "1", "b")  # they show whether spaces are lost


class Pieces(NamedTuple):
    """The pieces of a list of words, without the special tokens around it."""

    ids: np.ndarray
    words: np.ndarray  # the word of each; -1 for the prefix
    types: np.ndarray  # token types: of the first or the second text
    right: tuple = ()  # special tokens after the text, each (id, type)


class TextPieces(NamedTuple):
    """The pieces of an original text, without the special tokens around it.

    In contrast to `Pieces`, a piece may belong to several words, or to none.
    """

    ids: np.ndarray
    types: np.ndarray
    right: tuple
    n_prefix: int  # pieces of the prefix, before all others
    at: np.ndarray  # pieces of words, word by word
    words: np.ndarray  # the word of each of these


class Frame(NamedTuple):
    """The special tokens around and between texts, each an ``(id, type)``."""

    left: tuple = ()
    middle: tuple = ()
    right: tuple = ()
    right_of_pair: tuple = ()
    types: tuple = (0, 0)  # of a first and of a second text
    typed: bool = False  # whether the tokenizer returns types at all
    cls: int | None = None  # index of the classification token, negative in `right`


class Aligner:
    """Split words into pieces, and find the word of each piece.

    There are three modes. Fast tokenizers get the words of a sentence as a list and
    return the word of each piece ("words"). Some of them (byte level, without a space
    before the first word) would merge such words; they get the joined text, and pieces
    are assigned to words by offsets ("text"). Slow tokenizers get one word at a time,
    with a space before it if they preserve spaces ("word by word").

    Original texts are passed to the tokenizer unchanged; see `_encode_texts`.

    Parameters
    ----------
    tokenizer : transformers tokenizer
    prefix : str, default=""
        Text before every sentence, for example "query: ".
    separator : str, default=None
        The token between two texts of a sentence.
    special_tokens : bool, default=True
        Whether the tokenizer's special tokens are placed around and between texts.

    Attributes
    ----------
    frame : Frame
    mode : {"words", "text", "word by word"}
        How lists of words are passed to the tokenizer.
    has_offsets : bool
        Whether the tokenizer returns the characters of a piece.
    overhead : int
        Maximum number of pieces around a sentence: special tokens and prefix.
    remembered : dict
        Results of `_tokenizer_checks`, by sentence or word.
    """

    def __init__(self, tokenizer, prefix="", separator=None, special_tokens=True):
        self.tokenizer = tokenizer
        self.separator = separator
        self.mode = _mode_of(tokenizer)
        self._space = _space_of(tokenizer) if self.mode == "word by word" else ""
        self.has_offsets = self.mode != "word by word"
        self.prefix, self._prefix = prefix, prefix.split()
        self.frame = _frame_of(tokenizer) if special_tokens else Frame()
        left, middle, *right = map(len, self.frame[:4])
        self.overhead = left + middle + max(right)
        self.overhead += max(
            len(self._split([self._prefix])[0][0]),
            len(self.split_texts([prefix])[0][0]),
        )
        self.remembered = {}

    def encode(self, sentences):
        """Return the pieces of each sentence, a sequence of words or an OriginalText.

        Raises
        ------
        ValueError
            If a sentence has more than one separator.
        """
        texts, lists = [], []
        for sentence in sentences:
            (texts if isinstance(sentence, OriginalText) else lists).append(sentence)
        texts, lists = iter(_encode_texts(self, texts)), iter(self._encode_lists(lists))
        return [
            next(texts if isinstance(s, OriginalText) else lists) for s in sentences
        ]

    def split_texts(self, texts):
        """Return the ids of texts and their offsets, arrays of shape (n_pieces, 2).

        Offsets are zeros if the tokenizer has none.
        """
        if not texts:
            return [], []
        options = {"return_offsets_mapping": True} if self.has_offsets else {}
        encoded = _encode(self.tokenizer, texts, **options)
        ids = encoded["input_ids"]
        offsets = encoded.get("offset_mapping") or [[(0, 0)] * len(row) for row in ids]
        return ids, [np.array(row, dtype=np.int64).reshape(-1, 2) for row in offsets]

    def _encode_lists(self, sentences):
        if self.separator is not None:
            return [self._pair(words) for words in sentences]
        return [
            self._of_one_text(ids, words)
            for ids, words in self._split([self._prefix + list(s) for s in sentences])
        ]

    def encode_words(self, words):
        """Return the ids of the pieces that each word has within a text."""
        anchor = ["a"] if self.mode == "text" or self._space else []
        return [
            ids[where == len(anchor)]
            for ids, where in self._split([[*anchor, word] for word in words])
        ]

    def _of_one_text(self, ids, words):
        words = np.maximum(words - len(self._prefix), -1)
        types = np.full(len(ids), self.frame.types[0])
        return Pieces(ids, words, types, self.frame.right)

    def _pair(self, sentence):
        places = [i for i, word in enumerate(sentence) if word == self.separator]
        if len(places) > 1:
            raise ValueError(
                f"TransformerEmbedding: a sequence has {len(places)} tokens equal to "
                f"separator={self.separator!r}, at {places[:5]}. A pair has exactly "
                "one."
            )
        if not places:
            (split,) = self._split([self._prefix + list(sentence)])
            return self._of_one_text(*split)
        place = places[0]
        texts = [self._prefix + list(sentence[:place]), list(sentence[place + 1 :])]
        split = [self._split([text])[0] for text in texts]
        first = self._of_one_text(*split[0])
        ids, words = split[1]
        middle = np.array(self.frame.middle, dtype=np.int64).reshape(-1, 2)
        types = self.frame.types[1] if self.frame.middle else self.frame.types[0]
        return Pieces(
            np.concatenate([first.ids, middle[:, 0], ids]),
            np.concatenate(
                [first.words, np.full(len(middle), place), words + place + 1]
            ),
            np.concatenate([first.types, middle[:, 1], np.full(len(ids), types)]),
            self.frame.right_of_pair,
        )

    def _split(self, texts):
        """Return (ids, words), two arrays, for each text, a list of words."""
        if not texts:
            return []
        texts = [[encodable(word) for word in text] for text in texts]
        if self.mode == "word by word":
            return self._word_by_word(texts)
        if self.mode == "text":
            return self._as_text(texts)
        encoded = _encode(self.tokenizer, texts, is_split_into_words=True)
        words = [encoded.word_ids(i) for i in range(len(texts))]
        words = [[-1 if w is None else w for w in row] for row in words]
        return _arrays(encoded["input_ids"], words)

    def _as_text(self, texts):
        # An empty word would get the space next to it.
        filled = [np.flatnonzero([word != "" for word in text]) for text in texts]
        texts = [[word for word in text if word] for text in texts]
        joined = [" ".join(text) for text in texts]
        encoded = _encode(self.tokenizer, joined, return_offsets_mapping=True)
        words = [
            rows[_words_at(offsets, text)]
            for rows, offsets, text in zip(
                filled, encoded["offset_mapping"], texts, strict=True
            )
        ]
        return _arrays(encoded["input_ids"], words)

    def _word_by_word(self, texts):
        texts = [
            [self._space + w if w and i else w for i, w in enumerate(text)]
            for text in texts
        ]
        distinct = list(dict.fromkeys(word for text in texts for word in text))
        pieces = {}
        if distinct:
            pieces = _encode(self.tokenizer, distinct)["input_ids"]
            pieces = dict(zip(distinct, pieces, strict=True))
        ids = [[piece for word in text for piece in pieces[word]] for text in texts]
        sizes = [[len(pieces[word]) for word in text] for text in texts]
        words = [np.repeat(np.arange(len(row)), row) for row in sizes]
        return _arrays(ids, words)


def _encode(tokenizer, texts, **options):
    return tokenizer(texts, add_special_tokens=False, verbose=False, **options)


def _arrays(ids, words):
    return [
        (np.array(row, dtype=np.int64), np.array(where, dtype=np.int64))
        for row, where in zip(ids, words, strict=True)
    ]


def _words_at(offsets, words):
    """Return the word of each piece by its characters; a space belongs to the next."""
    starts = np.array([0, *accumulate(len(word) + 1 for word in words)][:-1])
    places = [stop - 1 if stop > start else start for start, stop in offsets]
    return np.searchsorted(starts - 1, np.array(places, np.int64), "right") - 1


def _mode_of(tokenizer):
    if not getattr(tokenizer, "is_fast", False):
        return "word by word"
    separate = _encode(tokenizer, [list(_PROBE_WORDS)], is_split_into_words=True)
    text = _encode(tokenizer, [" ".join(_PROBE_WORDS)], return_offsets_mapping=True)
    if separate["input_ids"] == text["input_ids"]:
        return "words"
    # If the tokenizer does not split the text at spaces, separate words are correct.
    words = set(_words_at(text["offset_mapping"][0], _PROBE_WORDS).tolist())
    return "text" if len(words) == len(_PROBE_WORDS) else "words"


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
    one = tokenizer(probe, verbose=False)
    typed = "token_type_ids" in one
    one = _with_types(one)
    two = _with_types(tokenizer(probe, probe, verbose=False))
    ids = [id_ for id_, _ in one]
    start = _find(ids, inner, 0)
    stop = start + len(inner)
    pair = [id_ for id_, _ in two]
    first = _find(pair, inner, 0)
    second = _find(pair, inner, first + len(inner))
    cls = getattr(tokenizer, "cls_token_id", None)
    place = ids.index(cls) if cls is not None and cls in ids else None
    if place is not None and place >= stop:
        place -= len(ids)
    return Frame(
        left=tuple(one[:start]),
        middle=tuple(two[first + len(inner) : second]),
        right=tuple(one[stop:]),
        right_of_pair=tuple(two[second + len(inner) :]),
        types=(one[start][1], two[second][1]),
        typed=typed,
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


def _with_types(encoded):
    ids = list(encoded["input_ids"])
    return list(zip(ids, encoded.get("token_type_ids") or [0] * len(ids), strict=True))


def _find(ids, inner, start):
    for i in range(start, len(ids) - len(inner) + 1):
        if ids[i : i + len(inner)] == inner:
            return i
    raise ValueError(
        "TransformerEmbedding: the tokenizer returns different pieces for a text with "
        "special tokens than without. Use special_tokens=False."
    )


def _encode_texts(aligner, sentences):
    """Return the TextPieces of each OriginalText, which the tokenizer gets unchanged.

    Two texts with a separator between them are encoded separately, without the space
    around it.
    """
    parts = [_parts(sentence, aligner) for sentence in sentences]
    texts = [text for row in parts for text, _ in row]
    encoded = iter(zip(*aligner.split_texts(texts), strict=True))
    result = []
    for sentence, row in zip(sentences, parts, strict=True):
        pieces = []
        for text, shift in row:
            ids, offsets = next(encoded)
            offsets = _with_next(text, offsets) + shift
            pieces.append((np.array(ids, dtype=np.int64), offsets))
        encode = _one_text if len(row) == 1 else _two_texts
        result.append(encode(sentence, pieces, aligner))
    return result


def _parts(sentence, aligner):
    """Return the strings to encode, and the offset of each in the text."""
    text, prefix = encodable(sentence.text), aligner.prefix
    if len(sentence.separators) > 1:
        raise ValueError(
            f"TransformerEmbedding: a text has {len(sentence.separators)} tokens equal "
            f"to separator={aligner.separator!r}. A pair has exactly one."
        )
    if not sentence.separators:
        return [(prefix + text, -len(prefix))]
    ((start, stop),) = sentence.separators
    second = text[stop:].lstrip()
    return [
        (prefix + text[:start].rstrip(), -len(prefix)),
        (second, len(text) - len(second)),
    ]


def _with_next(text, offsets):
    """Return offsets in which a piece that is a space extends to the next word.

    Some tokenizers trim spaces from offsets, so that such a piece is empty.
    """
    starts, stops = offsets.T
    stops = np.maximum(stops, starts + 1)
    spans = zip(starts.tolist(), stops.tolist(), strict=True)
    spaces = np.array([text[slice(*span)].isspace() for span in spans], dtype=bool)
    return np.column_stack([starts, stops + spaces])


def _one_text(sentence, pieces, aligner):
    ((ids, offsets),) = pieces
    at, words = overlapping(sentence.spans, offsets)
    types = np.full(len(ids), aligner.frame.types[0])
    n_prefix = _n_prefix(offsets, ids, aligner)
    return TextPieces(ids, types, aligner.frame.right, n_prefix, at, words)


def _two_texts(sentence, pieces, aligner):
    (first, before), (second, behind) = pieces
    frame = aligner.frame
    middle = np.array(frame.middle, dtype=np.int64).reshape(-1, 2)
    between = np.tile(sentence.separators[0], (len(middle), 1))
    at, words = overlapping(
        sentence.spans, np.concatenate([before, between.reshape(-1, 2), behind])
    )
    second_type = frame.types[1] if frame.middle else frame.types[0]
    types = [np.full(len(first), frame.types[0]), middle[:, 1]]
    return TextPieces(
        np.concatenate([first, middle[:, 0], second]),
        np.concatenate([*types, np.full(len(second), second_type)]),
        frame.right_of_pair,
        _n_prefix(before, first, aligner),
        at,
        words,
    )


def _n_prefix(offsets, ids, aligner):
    """Return the number of pieces that belong to the prefix only."""
    if not aligner.prefix:
        return 0
    if not aligner.has_offsets:
        prefix = aligner.split_texts([aligner.prefix])[0][0]
        return len(prefix) if list(ids[: len(prefix)]) == list(prefix) else 0
    behind = offsets[:, 1] > 0
    return int(behind.argmax()) if behind.any() else len(offsets)


def encodable(text):
    """Replace lone surrogates, which tokenizers reject; keep the length."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
