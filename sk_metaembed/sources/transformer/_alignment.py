"""Aligner: split texts into the subwords of a tokenizer, assign them to words.

Each distinct word is split once if the tokenizer splits it alike in every text.
"""

import re
import warnings
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..._core._arrays import gather_index, offsets_of
from .._sentences import OriginalText, overlapping, text_of
from .._word_rule import find_word_rule

_PROBES = ("a", "the", "1", ".")
_PROBE_WORDS = ("The", "sun", "a", "1", "b")  # reveal whether spaces are lost
_UNKNOWN_WORD = 3 * "\ue000"  # private characters, which some tokenizers drop
_WORDS_PER_BATCH = 50_000
_EXAMPLES = 5
# Separator of joined texts. It has no space, and is as long as a subword can extend
# beyond its text.
_BETWEEN = "||"
# Whether a character is a space, by code point; there are no spaces above these.
_SPACES = np.array([chr(code).isspace() for code in range(0x3002)])
_LEAD = "a"  # text before a word that is not the first
_SPLIT_PROBES = ["The sun's a 1, b-c. Don't", "sun", ""]
_MOST_SUBWORDS = 1 << 18  # maximum number of remembered subwords
_LONGEST = 64  # words with more characters are not remembered


class Subwords(NamedTuple):
    """The subwords of texts: those of text i are at ``offsets[i]:offsets[i + 1]``."""

    ids: np.ndarray  # int64 (n_subwords,)
    spans: np.ndarray  # int64 (n_subwords, 2), characters of the text
    offsets: np.ndarray  # int64 (n_texts + 1,)

    def take(self, rows):
        """Return the subwords of some texts."""
        places, offsets = gather_index(self.offsets, rows)
        return Subwords(self.ids[places], self.spans[places], offsets)

    def followed_by(self, other):
        """Return the subwords of these texts, followed by those of others."""
        ids, spans = map(np.concatenate, zip(self[:2], other[:2], strict=True))
        offsets = np.append(self.offsets[:-1], self.offsets[-1] + other.offsets)
        return Subwords(ids, spans, offsets)


# The subwords of one text that has none.
NO_SUBWORDS = Subwords(
    np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros(2, np.int64)
)


def split_texts(tokenizer, texts):
    """Return the `Subwords` of texts; a slow tokenizer returns spans of zeros."""
    if not texts:
        return NO_SUBWORDS._replace(offsets=NO_SUBWORDS.offsets[:1])
    fast = {"return_offsets_mapping": True} if tokenizer.is_fast else {}
    encoded = tokenizer(
        texts,
        add_special_tokens=False,
        verbose=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        **fast,
    )
    rows = encoded["input_ids"]
    offsets = offsets_of([len(ids) for ids in rows])
    ids = np.fromiter(chain.from_iterable(rows), np.int64, offsets[-1])
    spans = np.zeros((len(ids), 2), np.int64)
    if fast:
        pairs = chain.from_iterable(encoded["offset_mapping"])
        spans.ravel()[:] = np.fromiter(chain.from_iterable(pairs), np.int64)
    return Subwords(ids, spans, offsets)


class WordSplitter:
    """Split texts at spaces, and remember the subwords of each word.

    A word begins with the space before it, unless it is the first of its text. A text
    is split as a whole if it has a word whose subwords may depend on other words.
    """

    def __init__(self, tokenizer, rule):
        self._tokenizer, self._any_space = tokenizer, rule.any_space
        self._normalizer = tokenizer.backend_tokenizer.normalizer
        # Added tokens may absorb the spaces around them.
        pattern = "|".join(map(re.escape, rule.marks))
        self._find_mark = re.compile(pattern or "(?!)").search
        self._n_lead = len(split_texts(tokenizer, [_LEAD]).ids)
        self._forget()

    def _forget(self):
        # The first row stands for all words that depend on others. Its length is -1, so
        # that the words of such a text are together shorter than the text.
        self._codes, self._lengths = {}, np.array([-1])
        self._split = NO_SUBWORDS

    def __call__(self, texts):
        """Return the `Subwords` of texts."""
        if max(len(self._split.ids), len(self._codes)) > _MOST_SUBWORDS:
            self._forget()
        words = [text.replace(" ", "\0 ").split("\0") for text in texts]
        flat = list(chain.from_iterable(words))
        self._add([word for word in dict.fromkeys(flat) if word not in self._codes])
        codes = np.fromiter(map(self._codes.__getitem__, flat), np.int64, len(flat))
        lengths = self._lengths[codes]
        firsts, ends = offsets_of([len(part) for part in words]), offsets_of(lengths)
        known = np.diff(ends[firsts]) == [len(text) for text in texts]
        codes[np.repeat(~known, np.diff(firsts))] = 0
        split = self._split.take(codes)
        begins = ends[:-1] - np.repeat(ends[firsts[:-1]], np.diff(firsts))
        spans = split.spans + np.repeat(begins, np.diff(split.offsets))[:, None]
        split = Subwords(split.ids, spans, split.offsets[firsts])
        if known.all():
            return split
        others = np.flatnonzero(~known)
        rest = split_texts(self._tokenizer, [texts[i] for i in others])
        rows = np.arange(len(texts))
        rows[others] = len(texts) + np.arange(len(others))
        return split.followed_by(rest).take(rows)

    def _add(self, words):
        """Remember the subwords of new words."""
        added = [word for word in words if self._is_independent(word)]
        inner = np.array([word.startswith(" ") for word in added], dtype=bool)
        texts = [word if word[:1] != " " else _LEAD + word for word in added]
        split = split_texts(self._tokenizer, texts)
        lead = split.offsets[:-1][inner, None] + np.arange(self._n_lead)
        keep = np.ones(len(split.ids), dtype=bool)
        keep[lead] = False
        shift = np.repeat(inner * len(_LEAD), np.diff(split.offsets))
        spans, offsets = split.spans - shift[:, None], offsets_of(keep)[split.offsets]
        split = self._split.followed_by(Subwords(split.ids[keep], spans[keep], offsets))
        lengths = np.concatenate([self._lengths, [len(word) for word in added]])
        # After a word without subwords, ByteLevel does not trim spaces off spans.
        is_used = (np.diff(offsets) > 0) | self._any_space
        numbers = np.where(is_used, np.arange(len(self._lengths), len(lengths)), 0)
        self._split, self._lengths = split, lengths.astype(np.int64)
        self._codes |= dict.fromkeys(words, 0)
        self._codes.update(zip(added, numbers.tolist(), strict=True))

    def _is_independent(self, word):
        """Return whether the subwords of a word are the same in every text."""
        if len(word) > _LONGEST:
            return False
        normalizer = self._normalizer
        form = word if normalizer is None else normalizer.normalize_str(word)
        if self._find_mark(word) or self._find_mark(form):
            return False
        return self._any_space or (_is_one_word(word) and _is_one_word(form))


def _is_one_word(text):
    text = text.removeprefix(" ")
    return text.split() == [text]


def make_splitter(tokenizer):
    """Return a function from texts to their `Subwords`: a `WordSplitter` if possible.

    A `WordSplitter` requires a `WordRule`, and must split a probe as the tokenizer
    does.
    """
    whole = partial(split_texts, tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not tokenizer.is_fast or backend is None:
        return whole
    rule = find_word_rule(backend)
    if rule is None:
        return whole
    by_word = WordSplitter(tokenizer, rule)
    pairs = zip(by_word(_SPLIT_PROBES), whole(_SPLIT_PROBES), strict=True)
    return by_word if all(np.array_equal(*pair) for pair in pairs) else whole


class AlignedSubwords(NamedTuple):
    """The subwords of sentences, without the special tokens around them.

    The subwords of sentence i are at ``offsets[i]:offsets[i + 1]``. A subword may
    belong to several words, or to none.
    """

    ids: np.ndarray
    offsets: np.ndarray
    n_prefix: np.ndarray  # number of subwords of the prefix that begins each sentence
    at: np.ndarray  # indices of the subwords that belong to words, grouped by word
    words: np.ndarray  # the word of each of them, counted over all sentences


class SpecialTokens(NamedTuple):
    """The special tokens around a text, each as ``(id, type)``."""

    left: tuple = ()
    right: tuple = ()
    type: int = 0  # type of the text's own subwords
    typed: bool = False  # whether the tokenizer returns types
    cls: int | None = None  # index of the classification token, negative in `right`
    cuts_left: bool = False  # whether long texts lose their first subwords


class Aligner:
    """Split sentences into subwords, and find the words of each subword.

    A fast tokenizer is called with whole texts, in which the words of a list are joined
    by spaces. It returns the offsets of each subword, by which subwords are assigned to
    words. A tokenizer that returns no offsets, or does not split texts at spaces, is
    called with single words, each after a space if it preserves spaces.

    Every sentence begins with the `prefix`, for example "query: ".
    """

    def __init__(self, tokenizer, prefix=""):
        self.tokenizer, self.prefix = tokenizer, prefix
        # Whether subwords are assigned to words by their characters.
        self.has_offsets = _has_offsets(tokenizer)
        self._space = "" if self.has_offsets else _space_of(tokenizer)
        self.special = _special_tokens_of(tokenizer)
        self._split = make_splitter(tokenizer)
        self._prefix_ids = split_texts(tokenizer, [prefix]).ids
        n_prefix = len(self._prefix_ids)
        # The number of subwords before the words of a sentence if there is a prefix,
        # and the maximum number of subwords around the words.
        self.n_prompt = len(self.special.left) + n_prefix if prefix else 0
        self.overhead = len(self.special.left) + n_prefix + len(self.special.right)
        # A cache: all candidates of a search check the words of the same folds.
        self._readable = {}

    def encode(self, sentences, *, as_text=False):
        """Return the AlignedSubwords of sentences.

        With `as_text`, subwords are not assigned to words. Original texts with places
        of tokens require `has_offsets`.
        """
        if as_text:
            return self._whole(sentences)
        if self.has_offsets:
            return self._by_characters(sentences)
        return self._word_by_word(sentences)

    def encode_words(self, words):
        """Return the ids of the subwords of words within a text, and their offsets."""
        subwords = self.encode([("a", word) for word in words])
        is_second = subwords.words % 2 == 1
        sizes = np.bincount(subwords.words[is_second] // 2, minlength=len(words))
        return subwords.ids[subwords.at[is_second]], offsets_of(sizes)

    def readable(self, words):
        """Return whether the tokenizer knows a subword of each word, (n_words,)."""
        new = [word for word in words if word not in self._readable]
        for start in range(0, len(new), _WORDS_PER_BATCH):
            part = new[start : start + _WORDS_PER_BATCH]
            known = are_readable(*self.encode_words(part), self.tokenizer)
            self._readable.update(zip(part, known.tolist(), strict=True))
        return np.array([self._readable[word] for word in words], dtype=bool)

    def _by_characters(self, sentences):
        texts, words, n_words = _texts_and_spans(sentences)
        texts = [self.prefix + encodable(text) for text in texts]
        split = self._split(texts)
        n_subwords = np.diff(split.offsets)
        # Positions in the joined texts, where subwords and words of different texts
        # never overlap.
        begins = offsets_of([len(text) + len(_BETWEEN) for text in texts])[:-1]
        spans = split.spans + np.repeat(begins, n_subwords)[:, None]
        spans = _with_next(_BETWEEN.join(texts), spans)
        begins += len(self.prefix)
        shifted = words + np.repeat(begins, n_words)[:, None]
        at, owners = overlapping(np.where(words < 0, -1, shifted), spans)
        is_prefix = offsets_of(spans[:, 1] <= np.repeat(begins, n_subwords))
        n_prefix = np.diff(is_prefix[split.offsets])
        return AlignedSubwords(split.ids, split.offsets, n_prefix, at, owners)

    def _whole(self, sentences):
        """Return the subwords of texts, none of which is assigned to a word."""
        split = self._split([self.prefix + encodable(text_of(s)) for s in sentences])
        # The last subword of the prefix may be part of the text's first subword.
        places = split.offsets[:-1, None] + np.arange(len(self._prefix_ids))
        places = np.where(places < split.offsets[1:, None], places, len(split.ids))
        is_prefix = np.append(split.ids, -1)[places] == self._prefix_ids
        n_prefix = np.logical_and.accumulate(is_prefix, axis=1).sum(axis=1)
        none = np.zeros(0, dtype=np.int64)
        return AlignedSubwords(split.ids, split.offsets, n_prefix, none, none)

    def _word_by_word(self, sentences):
        words = [self._with_spaces(map(encodable, words)) for words in sentences]
        flat = list(chain.from_iterable(words))
        rows = dict.fromkeys(filter(None, flat))
        # The rows are the prefix, the distinct words, and the empty word.
        split = self._split([self.prefix, *rows]).followed_by(NO_SUBWORDS)
        rows = {word: row for row, word in enumerate([*rows, ""], start=1)}
        codes = np.fromiter(map(rows.__getitem__, flat), np.int64, len(flat))
        firsts = offsets_of([len(sentence) for sentence in words])
        codes = np.insert(codes, firsts[:-1], 0)
        split = split.take(codes)
        owners = np.repeat(np.arange(len(codes)), np.diff(split.offsets))
        at = np.flatnonzero(codes[owners])
        owners = (owners - np.cumsum(codes == 0)[owners])[at]
        offsets = split.offsets[firsts + np.arange(len(firsts))]
        n_prefix = np.full(len(words), len(self._prefix_ids))
        return AlignedSubwords(split.ids, offsets, n_prefix, at, owners)

    def _with_spaces(self, words):
        """Return words with a space before each, except the first and empty ones."""
        words = list(words)
        first = next((i for i, word in enumerate(words) if word), len(words))
        return [
            self._space + word if word and i > first else word
            for i, word in enumerate(words)
        ]


def _texts_and_spans(sentences):
    """Return the texts of sentences, the spans of all words, and the words per text.

    Words are joined by spaces. Spans have shape (n_words, 2), and are -1 for empty
    words and words that are not in the text.
    """
    if sentences and isinstance(sentences[0], OriginalText):
        spans = np.frombuffer(b"".join(s.span_bytes for s in sentences), np.int32)
        n_words = [len(sentence) for sentence in sentences]
        return [s.text for s in sentences], spans.reshape(-1, 2), n_words
    texts = [" ".join(filter(None, words)) for words in sentences]
    n_words = [len(words) for words in sentences]
    words = chain.from_iterable(sentences)
    sizes = np.fromiter(map(len, words), np.int64, sum(n_words))
    begins = offsets_of(sizes + (sizes > 0))
    starts = begins[:-1] - np.repeat(begins[offsets_of(n_words)[:-1]], n_words)
    spans = np.column_stack([starts, starts + sizes])
    spans[sizes == 0] = -1
    return texts, spans, n_words


def _has_offsets(tokenizer):
    """Return whether a text's subwords can be assigned to words by their characters.

    This requires a fast tokenizer that splits texts at spaces. Some tokenizers that
    drop unknown characters return offsets that are too small after them.
    """
    if not tokenizer.is_fast:
        return False
    [text], words, _ = _texts_and_spans([[_UNKNOWN_WORD, *_PROBE_WORDS]])
    spans = _with_next(text, split_texts(tokenizer, [text]).spans)
    at, _ = overlapping(words, spans)
    in_one_word = len(np.unique(at)) == len(at)
    return in_one_word and len(at) > 0 and spans[-1, 1] == len(text)


def _space_of(tokenizer):
    """Return "" or " ", the prefix with which a word is split as within a text."""
    whole = split_texts(tokenizer, [" ".join(_PROBE_WORDS)]).ids
    for space in ("", " "):
        parts = [_PROBE_WORDS[0], *(space + word for word in _PROBE_WORDS[1:])]
        if np.array_equal(split_texts(tokenizer, parts).ids, whole):
            return space
    return ""


def _special_tokens_of(tokenizer):
    """Return the SpecialTokens that a tokenizer adds to a probe."""
    probe, inner = _probe(tokenizer)
    encoded = tokenizer(probe, verbose=False)
    ids = list(encoded["input_ids"])
    types = encoded.get("token_type_ids") or [0] * len(ids)
    framed = list(zip(ids, types, strict=True))
    starts = (i for i in range(len(ids)) if ids[i : i + len(inner)] == inner)
    start = next(starts, None)
    if start is None:
        raise ValueError(
            f"{type(tokenizer).__name__} returns different subwords for a text with "
            "special tokens than without, so the subwords of a word cannot be found."
        )
    stop = start + len(inner)
    cls = tokenizer.cls_token_id
    place = ids.index(cls) if cls is not None and cls in ids else None
    if place is not None and place >= stop:
        place -= len(ids)
    return SpecialTokens(
        left=tuple(framed[:start]),
        right=tuple(framed[stop:]),
        type=types[start],
        typed="token_type_ids" in encoded,
        cls=place,
        cuts_left=tokenizer.truncation_side == "left",
    )


def _probe(tokenizer):
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    for probe in (*_PROBES, *list(tokenizer.get_vocab())[:1000]):
        inner = split_texts(tokenizer, [probe]).ids.tolist()
        if inner and not special.intersection(inner):
            return probe, inner
    raise ValueError(
        f"{type(tokenizer).__name__} returns no subwords for any of {_PROBES} or of "
        "the words of its own vocabulary. Check that it belongs to the model."
    )


def _with_next(text, offsets):
    """Extend the offsets of subwords that are a space to the next word.

    Some tokenizers trim spaces from offsets, which makes such subwords empty.
    """
    starts, stops = offsets.T
    stops = np.maximum(stops, starts + 1)
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    is_space = _SPACES[np.minimum(codes, len(_SPACES) - 1)]
    others = offsets_of(~is_space)  # characters before each position
    first, last = (np.minimum(places, len(text)) for places in (starts, stops))
    is_space = (others[first] == others[last]) & (first < last)
    return np.column_stack([starts, stops + is_space])


def encodable(text):
    """Replace lone surrogates, which tokenizers reject; keep the length."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def are_readable(ids, offsets, tokenizer):
    """Return whether each word, with subwords at `offsets`, has a known subword."""
    unknown = tokenizer.unk_token_id
    # SentencePiece separates the space mark from an unknown word after it.
    nothing = [unknown, *tokenizer.convert_tokens_to_ids(["\u2581", "\u0120"])]
    nothing = [id_ for id_ in nothing if id_ is not None]
    has_unknown = np.diff(offsets_of(ids == unknown)[offsets]) > 0
    has_more = np.diff(offsets_of(~np.isin(ids, nothing))[offsets]) > 0
    return (np.diff(offsets) > 0) & (has_more | ~has_unknown)


def readable_types(tokens, aligner):
    """Return whether the tokenizer knows a subword of each type, (n_types,) bool.

    A type may be readable as it is or as its text spells it. A warning is issued if
    most tokens are not readable.
    """
    readable = aligner.readable(tokens.types.tolist())
    if tokens.texts is not None and not readable.all():
        rest = np.flatnonzero(~readable)
        readable[rest] = aligner.readable(_spellings(tokens, rest))
    n_unreadable = int((~readable[tokens.codes]).sum())
    if n_unreadable * 2 > tokens.n_tokens:
        counts = np.where(readable, 0, tokens.type_counts())
        most = np.argsort(-counts, kind="stable")[:_EXAMPLES]
        examples = ", ".join(repr(str(tokens.types[i])) for i in most if counts[i])
        warnings.warn(
            f"TransformerEmbedding: {n_unreadable:,} of {tokens.n_tokens:,} tokens of "
            f"the training fold, such as {examples}, are unknown to "
            f"{type(aligner.tokenizer).__name__}: the model reads all of them as the "
            "same subword. Check that the tokenizer belongs to the model, and that the "
            "texts are in its language and case.",
            stacklevel=2,
        )
    return readable


def _spellings(tokens, types):
    """Return how the texts spell the first occurrence of each type, given by number."""
    first = np.unique(tokens.codes, return_index=True)[1][types]
    rows = np.searchsorted(tokens.offsets, first, "right") - 1
    part = tokens[rows]
    spans = part.spans()[part.offsets[:-1] + first - tokens.offsets[rows]]
    return [
        text[start:end] if start >= 0 else word
        for text, (start, end), word in zip(
            part.texts, spans.tolist(), tokens.types[types].tolist(), strict=True
        )
    ]
