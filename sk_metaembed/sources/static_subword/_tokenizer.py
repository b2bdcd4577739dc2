"""Tokenizers of static models, for subwords and for words.

If the tokenizer of subwords splits a word alike in every text, each distinct word is
split once.
"""

import json
from functools import lru_cache, partial
from itertools import chain
from string import punctuation
from typing import NamedTuple

import numpy as np

from ..._core._arrays import gather_index, gather_spans, offsets_of
from ..._kernels._compiled import use_compiled
from .._encoder_modules import read_json
from .._word_rule import find_word_rule


class SubwordIds(NamedTuple):
    """Ids of subwords: text i has ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: np.ndarray  # int32 (n_subwords,)
    offsets: np.ndarray  # int64 (n_texts + 1,)

    @classmethod
    def of_lists(cls, lists):
        """Return the subwords of texts, given as lists of ids."""
        offsets = offsets_of([len(ids) for ids in lists])
        ids = np.fromiter(chain.from_iterable(lists), np.int32, offsets[-1])
        return cls(ids, offsets)

    def take(self, rows):
        """Return the subwords of some texts, which may occur several times."""
        places, offsets = gather_index(self.offsets, rows)
        return SubwordIds(self.ids[places], offsets)

    def selected(self, keep):
        """Return only the subwords that a mask selects, (n_subwords,)."""
        return SubwordIds(self.ids[keep], offsets_of(keep)[self.offsets])

    def cut(self, limit, *, last):
        """Return the first `limit` subwords of each text, or the last ones."""
        lengths = np.diff(self.offsets)
        if lengths.max(initial=0) <= limit:
            return self
        position = np.arange(len(self.ids)) - np.repeat(self.offsets[:-1], lengths)
        if last:
            position = np.repeat(lengths, lengths) - 1 - position
        return self.selected(position < limit)


_MOST_WORDS = 1 << 17  # number of remembered words


class DistinctWordSplitter:
    """Split each distinct word of texts once, and remember its subwords.

    Words are separated by ASCII spaces and, if the tokenizer isolates it, punctuation.
    The rule must read texts by character. `read` returns the lists of ids of words, and
    of texts that contain an added token.
    """

    def __init__(self, tokenizer, rule, read):
        self._added, self._read = rule.marks, read
        normalizer = tokenizer.normalizer
        self._lowercase = bool(normalizer) and normalizer.normalize_str("A") == "a"
        # Kind of a UTF-8 byte: 0 between words, 1 in a word, 2 a word by itself.
        self._kinds = np.ones(256, dtype=np.uint8)
        self._kinds[list(b" \t\n\r")] = 0
        if rule.isolates:
            self._kinds[list(punctuation.encode())] = 2
        limit = tokenizer.model.max_input_chars_per_word
        self._lists = {
            subword: [number]
            for subword, number in tokenizer.get_vocab().items()
            if subword.isascii() and subword.isalnum() and len(subword) <= limit
        }

    def subwords(self, texts):
        """Return the `SubwordIds` of a list of texts."""
        from ...sequences import _split_numba as loops

        whole = [i for i, t in enumerate(texts) if any(a in t for a in self._added)]
        encoded = [text.encode("utf-8", "replace") + b" " for text in texts]
        for i in whole:
            encoded[i] = b" "
        joined = b"".join(encoded)
        data = np.frombuffer(joined.lower() if self._lowercase else joined, np.uint8)
        text_ends = np.cumsum([len(text) for text in encoded])
        starts, ends, counts = loops.find_ascii_tokens(data, text_ends, self._kinds, 1)
        hashes = loops.hash_spans(data, starts, ends)
        codes, firsts = loops.code_spans(data, starts, ends, hashes)
        words, _ = gather_spans(data, starts[firsts], ends[firsts], ord(" "))
        lists = self._split(words.tobytes().decode().split(" ")[:-1])
        if whole:  # each text replaces one word
            added = np.arange(len(lists), len(lists) + len(whole))
            codes = np.insert(codes, (np.cumsum(counts) - counts)[whole], added)
            counts[whole] = 1
            lists += self._read([texts[i] for i in whole])
        by_word = SubwordIds.of_lists(lists).take(codes)
        bounds = offsets_of(counts)
        return SubwordIds(by_word.ids, by_word.offsets[bounds])

    def _split(self, words):
        """Return the lists of ids of distinct words."""
        lists = list(map(self._lists.get, words))
        new = [i for i, ids in enumerate(lists) if ids is None]
        found = self._read([words[i] for i in new])
        for i, ids in zip(new, found, strict=True):
            lists[i] = ids
            if len(self._lists) < _MOST_WORDS:
                self._lists[words[i]] = ids
        return lists


_SECONDS_PER_CHARACTER = 2e-7  # time that tokenizers takes


class SubwordTokenizer:
    """A tokenizer read from a tokenizer.json file.

    Attributes
    ----------
    truncation : int or None
        The tokenizer's own limit.
    cuts_left : bool
        Whether it cuts texts on the left.
    n_ids : int
        One more than the largest id.
    median_length : int
        Median number of characters of a subword.
    unknown : int or None
        Id of the unknown subword.
    lead : str
        Separator to put before a single word, which is then split as within a text.
    """

    def __init__(self, path):
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing more specific
            raise ValueError(f"{path} is not a readable tokenizer: {error}.") from error
        cut = self._tokenizer.truncation
        self.truncation = cut and cut["max_length"]
        self.cuts_left = bool(cut) and cut["direction"] == "left"
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # The file itself may lack entries, such as the model's type.
        state = json.loads(self._tokenizer.to_str())
        vocabulary = self._tokenizer.get_vocab()
        self.n_ids = max(vocabulary.values()) + 1
        self.median_length = int(np.median([len(subword) for subword in vocabulary]))
        self.unknown = _unknown(self._tokenizer, state["model"])
        self.lead = " " if self._needs_space() else ""
        rule, self._words = find_word_rule(self._tokenizer), None
        if rule is not None and rule.by_character:
            self._words = DistinctWordSplitter(self._tokenizer, rule, self._lists)

    def _needs_space(self):
        """Return whether a word in a text is split as if a space were before it."""
        alone, spaced, pair = self._lists(["a", " a", "a a"])
        return pair == alone + spaced and alone != spaced

    def _lists(self, texts):
        split = partial(self._tokenizer.encode_batch_fast, add_special_tokens=False)
        try:
            encoded = split(texts)
        except TypeError:  # lone surrogates, which UTF-8 does not have
            encoded = split([t.encode("utf-8", "replace").decode() for t in texts])
        return [encoding.ids for encoding in encoded]

    def subwords(self, texts):
        """Return the `SubwordIds` of a list of texts, in full."""
        n_characters = sum(map(len, texts))
        seconds = _SECONDS_PER_CHARACTER * n_characters
        if self._words is None or not use_compiled(seconds):
            return SubwordIds.of_lists(self._lists(texts))
        return self._words.subwords(texts)


def _unknown(tokenizer, model):
    """Return the id of the unknown subword, None if there is none."""
    if model["type"] == "Unigram":
        return model.get("unk_id")
    token = model.get("unk_token")
    return None if token is None else tokenizer.token_to_id(token)


WORDS_FILE = "whitespacetokenizer_config.json"


class WordTokenizer:
    """Split texts at whitespace and look up words: as written, bare, in lowercase.

    A word has the row of the first of these forms that the vocabulary contains, unless
    a form before it is a stop word. These are the rules of the WhitespaceTokenizer that
    sentence-transformers saves with its module WordEmbeddings.
    """

    truncation = unknown = None  # texts have no limit, and unknown words no row
    lead, cuts_left = "", False

    def __init__(self, path):
        content = read_json(path, dict)
        for name in ("vocab", "stop_words"):
            words = content.get(name)
            if not isinstance(words, list) or {*map(type, words)} - {str}:
                raise ValueError(
                    f"{path} is corrupt: {name!r} must be a list of strings."
                )
        # As in the library, the last row of a repeated word counts.
        self._rows = {word: row for row, word in enumerate(content["vocab"])}
        self._stop_words = frozenset(content["stop_words"])
        self._lowercase = bool(content.get("do_lower_case"))
        self.n_ids = len(content["vocab"])
        self._row = lru_cache(_MOST_WORDS)(self._find)

    def subwords(self, texts):
        """Return the `SubwordIds` of a list of texts: the rows of their known words."""
        if self._lowercase:
            texts = [text.lower() for text in texts]
        rows = [[r for r in map(self._row, t.split()) if r is not None] for t in texts]
        return SubwordIds.of_lists(rows)

    def _find(self, word):
        """Return the row of a word, None if it has none."""
        bare = word.strip(punctuation)
        for form in (word, bare, bare.lower()):
            if form in self._stop_words:
                return None
            if form in self._rows:
                return self._rows[form]
        return None
