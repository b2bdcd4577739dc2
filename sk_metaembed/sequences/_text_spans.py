"""Locate tokens in the texts that they were split from.

A `Tokenizer` splits a prepared text: lower case, one Unicode form. Tokens are located
there first, then mapped to the characters of the original text.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain, takewhile

import numpy as np

from .._core._arrays import gather_index, offsets_of
from .._kernels._compiled import use_compiled
from ._characters import (
    ASCII_WORDS,
    BOUNDARY,
    character_classes,
    word_class,
    word_rule,
)

_NOT_FOUND = (-1, -1)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
# Hangul vowels and final consonants combine with the letter before them, although they
# are letters too.
_JAMO = range(0x1160, 0x1200)
_SECONDS = 8e-7  # estimated time per token in Python, by which `use_compiled` decides
_PADDING = 8  # bytes, which compiled code reads at a time
# Tokens matched with words at a time: bounds time, which grows with the square.
_AT_ONCE = 1024


class _Classes(dict):
    """The class of each character that occurred so far, by `word_class`."""

    def __missing__(self, character):
        self[character] = word_class(character)
        return self[character]


_CLASSES = _Classes()


def text_spans(tokens, rule, prepare, locate):
    """Return (start, end) of all tokens in their texts, int32 (n_tokens, 2), or -1.

    `rule` is as for `split_texts`, or None. `prepare` turns a list of original texts
    into the texts that were split; `locate` returns the (start, end) of each token in
    such a text.
    """
    texts, rows = tokens.texts.tolist(), range(len(tokens))
    spans = np.empty((tokens.n_tokens, 2), dtype=np.int32)
    if rule is not None and use_compiled(_SECONDS * tokens.n_tokens):
        rows = _locate_compiled(tokens, texts, rule, prepare, spans)
    rest = [texts[row] for row in rows]
    located = chain.from_iterable(
        _spans_in(text, prepared, words, prepare, locate)
        for text, prepared, words in zip(
            rest, prepare(rest), tokens[rows].to_list(), strict=True
        )
    )
    flat = np.fromiter(chain.from_iterable(located), np.int32)
    places, _ = gather_index(tokens.offsets, np.array(rows, dtype=np.int64))
    spans[places] = flat.reshape(-1, 2)
    return spans


def _locate_compiled(tokens, texts, rule, prepare, spans):
    """Set the spans of tokens, and return the rows of texts that are left out.

    Texts that are not prepared character by character are left out. All texts are left
    out if the rule finds other tokens, for example because words were replaced.
    """
    from ._split_numba import copy_spans

    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    found = find_compiled(texts, lengths, rule, prepare)
    buffer, text_ends, starts, ends, counts = found
    words = chr(rule.separator).join([*tokens.types[tokens.codes], ""])
    same = copy_spans(buffer, starts, ends, rule.separator).tobytes()
    if (
        same != words.encode("utf-8", "surrogatepass")
        or (counts != tokens.lengths).any()
    ):
        return range(len(texts))
    # Characters before each byte of UTF-8.
    before = offsets_of(buffer & 0xC0 != 0x80)
    begins = before[text_ends] - lengths - 1
    shift = np.repeat(begins, counts)
    spans[:, 0], spans[:, 1] = before[starts] - shift, before[ends] - shift
    changed = np.diff(before[text_ends], prepend=0) != lengths + 1
    others = [i for i, text in enumerate(texts) if not text.isascii()]
    characters = list(set("".join(texts[i] for i in others)))
    sizes = map(len, prepare(characters))
    clusters = {
        character
        for character, size in zip(characters, sizes, strict=True)
        if size != 1 or _combines(character)
    }
    changed[[i for i in others if not clusters.isdisjoint(texts[i])]] = True
    return np.flatnonzero(changed)


def find_compiled(texts, lengths, rule, prepare):
    """Find the tokens of texts by compiled code, in a buffer of UTF-8.

    Returns the prepared texts, each followed by a separator, as uint8; the ends of the
    texts; starts and ends of the tokens, (n_tokens,); and the number of tokens per
    text. `prepare` may lowercase ASCII texts and change others in any way.
    """
    from ._split_numba import find_ascii_tokens, find_tokens

    buffer, text_ends, is_ascii = _encode(texts, lengths, rule, prepare)
    if is_ascii:
        arguments = rule.ascii_kinds, rule.min_length
        found = find_ascii_tokens(buffer, text_ends, *arguments)
    else:
        classes = character_classes(rule.name)
        arguments = classes, rule.steps, rule.emits, rule.min_length
        found = find_tokens(buffer, text_ends, *arguments)
    return buffer, text_ends, *found


def _encode(texts, lengths, rule, prepare):
    """Return the bytes of some texts, their ends, and whether all are ASCII."""
    separator = chr(rule.separator)
    end = separator * _PADDING
    joined = separator.join([*texts, end])
    is_ascii = joined.isascii()
    if is_ascii:  # lowercasing the buffer takes less than half the time
        encoded = joined.encode()
        encoded = encoded.lower() if prepare(["A"]) == ["a"] else encoded
    else:
        prepared = [t.encode("utf-8", "surrogatepass") for t in prepare(texts)]
        lengths = np.fromiter(map(len, prepared), np.int64, len(prepared))
        encoded = separator.encode().join([*prepared, end.encode()])
    buffer = np.frombuffer(bytearray(encoded), dtype=np.uint8)
    ends = np.cumsum(lengths + 1)
    buffer[ends - 1] = rule.separator  # it may have been lowercased
    return buffer, ends, is_ascii


def _spans_in(text, prepared, tokens, prepare, locate):
    located = locate(prepared, tokens)
    starts, ends = _original_offsets(text, prepared, prepare)
    if not tokens or len(located) != len(tokens) or starts is None:
        return [_NOT_FOUND] * len(tokens)
    same = isinstance(starts, range) and "" not in tokens
    if same and [prepared[start:end] for start, end in located] == tokens:
        return located
    return [
        # An empty token has no characters.
        (starts[start], ends[end - 1])
        if start < end and prepared[start:end] == token
        else _NOT_FOUND
        for token, (start, end) in zip(tokens, located, strict=True)
    ]


@lru_cache(maxsize=2)
def _word_tables(punctuation):
    """Return the tables of `word_rule` as lists, which plain Python reads faster."""
    rule = word_rule(punctuation)
    return rule.steps.tolist(), rule.emits.tolist()


def word_spans(text, punctuation):
    """Return (start, end) of the Unicode words of a text.

    A pattern finds the words in ASCII. Parts between spaces that contain other
    characters are read character by character.
    """
    in_ascii = ASCII_WORDS[punctuation].finditer
    spans, at = [], 0
    for match in () if text.isascii() else _BEYOND_ASCII.finditer(text):
        if match.start() < at:
            continue
        start = max(text.rfind(" ", at, match.start()) + 1, at)
        spans += [word.span() for word in in_ascii(text, at, start)]
        at = text.find(" ", match.end())
        at = len(text) if at < 0 else at
        spans += _spans_by_character(text, start, at, punctuation)
    return spans + [word.span() for word in in_ascii(text, at)]


def _spans_by_character(text, first, last, punctuation):
    """Return (start, end) of the words in a part of a text."""
    steps, emits = _word_tables(punctuation)
    spans = []
    state, start = 0, first
    for i, character in enumerate(text[first:last], start=first):
        step = steps[state][_CLASSES[character]]
        if step & BOUNDARY:
            if emits[state]:
                spans.append((start, i))
            start = i
        state = step & ~BOUNDARY
    if emits[state]:
        spans.append((start, last))
    return spans


def locate_words(prepared, tokens, *, punctuation):
    """Return the spans of Unicode words, as the default splitting finds them."""
    return word_spans(prepared, punctuation)


def locate_matches(prepared, tokens, *, pattern):
    """Return the spans of the matches of a pattern, or of its group."""
    return [match.span(pattern.groups) for match in pattern.finditer(prepared)]


def locate_in_order(prepared, tokens):
    """Return the spans of tokens that a function returned."""
    for overlap in (False, True):  # tokens such as k-mers overlap
        located = _searched(prepared, tokens, 0, len(prepared), overlap=overlap)
        spans = list(takewhile(_NOT_FOUND.__ne__, located))
        if len(spans) == len(tokens):
            return spans
    # A token that is not in the text, such as a lemma, may be part of a later word, and
    # the search would skip the words in between. So whole words are located first.
    bounds = locate_words(prepared, tokens, punctuation=True)
    pairs = _matched([prepared[start:end] for start, end in bounds], tokens)
    bounds.append((len(prepared), len(prepared)))
    spans, at = [], 0
    for word, token in [*pairs, (len(bounds) - 1, len(tokens))]:
        stop, end = bounds[word]
        spans += _searched(prepared, tokens[len(spans) : token], at, stop)
        spans.append((stop, end))
        at = end
    return spans[:-1]


def _matched(words, tokens):
    """Return index pairs of equal words and tokens, in order."""
    pairs, word, token = [], 0, 0
    while token < len(tokens):
        size = _AT_ONCE
        matches = _longest_common(
            words[word : word + 4 * size], tokens[token : token + size]
        )
        if token + size < len(tokens):
            # The last tokens may be matched with words too far ahead: match them again.
            size //= 2
            matches = [(i, j) for i, j in matches if j < size]
        pairs += [(word + i, token + j) for i, j in matches]
        word = pairs[-1][0] + 1 if matches else word
        token += size
    return pairs


def _longest_common(words, tokens):
    """Return the index pairs of a longest common subsequence.

    Bit i of a row is 0 if word i extends the longest subsequence: one integer holds a
    row, so each token takes a few operations, regardless of the number of words.
    """
    places = {}
    for i, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << i
    every = (1 << len(words)) - 1
    rows = [every]
    for token in tokens:
        row = rows[-1]
        here = row & places.get(token, 0)
        rows.append(((row + here) | (row - here)) & every)
    pairs, i, j = [], len(words), len(tokens)
    while i and j:
        if words[i - 1] == tokens[j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif rows[j] >> (i - 1) & 1:
            i -= 1
        else:
            j -= 1
    return pairs[::-1]


def _searched(prepared, tokens, at, stop, *, overlap=False):
    """Yield the spans of tokens, each searched after the one before it."""
    for token in tokens:
        start = prepared.find(token, at, stop)
        if start < 0:
            yield _NOT_FOUND
            continue
        yield start, start + len(token)
        at = start + 1 if overlap else start + len(token)


def _original_offsets(text, prepared, prepare):
    """Return the start and end of each prepared character in the original text.

    Both are None if clusters of characters are not prepared one by one.
    """
    same = range(len(text)), range(1, len(text) + 1)
    if text.isascii():
        return same
    characters = list(set(text))
    one_by_one = not any(map(_combines, characters))
    if one_by_one and set(map(len, prepare(characters))) == {1}:
        return same if len(text) == len(prepared) else (None, None)
    starts, ends, lengths = [], [], {}
    for start, end in _clusters(text):
        cluster = text[start:end]
        if cluster not in lengths:
            lengths[cluster] = len(prepare([cluster])[0])
        starts += [start] * lengths[cluster]
        ends += [end] * lengths[cluster]
    return (starts, ends) if len(starts) == len(prepared) else (None, None)


def _clusters(text):
    """Return (start, end) of each character and the marks that combine with it."""
    bounds = [i for i, c in enumerate(text) if i == 0 or not _combines(c)]
    return zip(bounds, [*bounds[1:], len(text)], strict=True)


@lru_cache(2**12)
def _combines(character):
    # Compatibility forms, such as the half-width signs of Japanese, combine like the
    # characters that they stand for.
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first).startswith("M") or ord(first) in _JAMO
