"""The pieces of texts; each distinct word is split once where that is exact."""

import json
import re
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..._core._arrays import gather_index, offsets_of

_LEAD = "a"  # before a word that is not the first of its text
_PROBES = ["The sun's a 1, b-c. Don't", "sun", ""]
_MOST_PIECES = 1 << 18  # that are remembered
_LONGEST = 64  # characters of a word that is remembered
# These split texts at whitespace, whatever is around it.
_AT_SPACES = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
_WITHIN = {*_AT_SPACES, "ByteLevel", "Digits", "Metaspace", "Punctuation"}
# These change no character because of one on the other side of a space.
_NORMALIZERS = {
    *("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Precompiled"),
    "StripAccents",
}
# This one changes only texts with several spaces in a row.
_OF_SPACES = {"Regex": " {2,}"}
_MODELS = {"BPE", "Unigram", "WordLevel", "WordPiece"}


class Split(NamedTuple):
    """The pieces of texts: those of text i are at ``offsets[i]:offsets[i + 1]``."""

    ids: np.ndarray  # int64 (n_pieces,)
    spans: np.ndarray  # int64 (n_pieces, 2), characters of the text
    offsets: np.ndarray  # int64 (n_texts + 1,)

    def take(self, rows):
        """Return the pieces of some texts."""
        places, offsets = gather_index(self.offsets, rows)
        return Split(self.ids[places], self.spans[places], offsets)

    def followed_by(self, other):
        """Return the pieces of these and of other texts."""
        ids, spans = map(np.concatenate, zip(self[:2], other[:2], strict=True))
        offsets = np.append(self.offsets[:-1], self.offsets[-1] + other.offsets)
        return Split(ids, spans, offsets)


# Of one text.
NO_PIECES = Split(np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros(2, int))


def split_texts(tokenizer, texts):
    """Return the `Split` of texts; its spans are zeros for a slow tokenizer."""
    if not texts:
        return NO_PIECES._replace(offsets=NO_PIECES.offsets[:1])
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
    return Split(ids, spans, offsets)


class WordSplitter:
    """Split texts at spaces, and remember the pieces of each word.

    A word begins with the space before it, unless it is the first of its text. A text
    is split as a whole if it has a word whose pieces may depend on other words.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        See `make_splitter`.
    marks : list of str
        Added tokens: they may absorb the spaces around them.
    any_space : bool
        Whether whitespace of any kind, and any amount of it, separates words.
    """

    def __init__(self, tokenizer, marks, *, any_space):
        self._tokenizer, self._any_space = tokenizer, any_space
        self._normalizer = tokenizer.backend_tokenizer.normalizer
        pattern = "|".join(re.escape(mark) for mark in marks if mark)
        self._find_mark = re.compile(pattern or "(?!)").search
        self._n_lead = len(split_texts(tokenizer, [_LEAD]).ids)
        self._forget()

    def _forget(self):
        # The first row is that of all words that depend on others. Because of its
        # length, the words of a text that has one are shorter than the text.
        self._codes, self._lengths = {}, np.array([-1])
        self._split = NO_PIECES

    def __call__(self, texts):
        """Return the `Split` of texts."""
        if max(len(self._split.ids), len(self._codes)) > _MOST_PIECES:
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
        split = Split(split.ids, spans, split.offsets[firsts])
        if known.all():
            return split
        others = np.flatnonzero(~known)
        rest = split_texts(self._tokenizer, [texts[i] for i in others])
        rows = np.arange(len(texts))
        rows[others] = len(texts) + np.arange(len(others))
        return split.followed_by(rest).take(rows)

    def _add(self, words):
        """Remember the pieces of new words."""
        added = [word for word in words if self._is_independent(word)]
        inner = np.array([word.startswith(" ") for word in added], dtype=bool)
        texts = [word if word[:1] != " " else _LEAD + word for word in added]
        split = split_texts(self._tokenizer, texts)
        lead = split.offsets[:-1][inner, None] + np.arange(self._n_lead)
        keep = np.ones(len(split.ids), dtype=bool)
        keep[lead] = False
        shift = np.repeat(inner * len(_LEAD), np.diff(split.offsets))
        spans, offsets = split.spans - shift[:, None], offsets_of(keep)[split.offsets]
        split = self._split.followed_by(Split(split.ids[keep], spans[keep], offsets))
        lengths = np.concatenate([self._lengths, [len(word) for word in added]])
        # After a word without pieces, ByteLevel does not trim spaces off spans.
        is_used = (np.diff(offsets) > 0) | self._any_space
        numbers = np.where(is_used, np.arange(len(self._lengths), len(lengths)), 0)
        self._split, self._lengths = split, lengths.astype(np.int64)
        self._codes |= dict.fromkeys(words, 0)
        self._codes.update(zip(added, numbers.tolist(), strict=True))

    def _is_independent(self, word):
        """Return whether the pieces of a word are the same in every text."""
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
    """Return the function from texts to their `Split`: a `WordSplitter` if it is exact.

    A tokenizer cannot split texts word by word if its normalizer, its rule for words,
    or an added token sees more than a word and the space before it.
    """
    whole = partial(split_texts, tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not tokenizer.is_fast or backend is None:
        return whole
    splits = _parts(backend.pre_tokenizer, "pretokenizers")
    forms = _parts(backend.normalizer, "normalizers")
    at_spaces = splits[:1] and splits[0]["type"] in _AT_SPACES
    at_spaces = at_spaces and {part["type"] for part in splits} <= _WITHIN
    replaces = [part for part in forms if part["type"] == "Replace"]
    others = {part["type"] for part in forms} - {"Replace"}
    tokens = backend.get_added_tokens_decoder().values()
    marks = [token.content for token in tokens]
    if backend.normalizer is not None:
        marks += list(map(backend.normalizer.normalize_str, marks))
    exact = (
        (at_spaces or len(splits) == 1 and _keeps_spaces(splits[0]))
        and others <= _NORMALIZERS
        and all(part["pattern"] == _OF_SPACES for part in replaces)
        and type(backend.model).__name__ in _MODELS
        and not getattr(backend.model, "dropout", None)
        and not any(character.isspace() for character in "".join(marks))
    )
    if exact:
        table = WordSplitter(
            tokenizer, marks, any_space=bool(at_spaces) and not replaces
        )
        pairs = zip(table(_PROBES), whole(_PROBES), strict=True)
        if all(map(np.array_equal, *zip(*pairs, strict=True))):
            return table
    return whole


def _keeps_spaces(part):
    """Return whether a pre-tokenizer makes each space the first character of a word."""
    kind = part["type"]
    if kind == "ByteLevel":
        return part.get("use_regex", True)
    return kind == "Metaspace" and part.get("split", True)


def _parts(component, key):
    """Return the settings of the parts of a normalizer or pre-tokenizer."""
    if component is None:
        return []
    state = json.loads(component.__getstate__())
    return state[key] if state["type"] == "Sequence" else [state]
