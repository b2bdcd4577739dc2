"""Split texts into TokenSequences: small input in Python, large input compiled.

Compiled code reads the texts chunk by chunk. It finds the tokens of a chunk in one
UTF-8 buffer and codes them by the distinct tokens of the chunk, which are then merged.
"""

import unicodedata
from functools import partial
from itertools import chain, filterfalse, repeat
from typing import NamedTuple

import numpy as np

from .._core._arrays import chunks
from .._kernels._compiled import in_threads, use_compiled
from ._characters import ASCII_WORDS, word_rule
from ._text_spans import find_compiled, locate_words, word_spans
from ._token_sequences import TokenSequences

# Estimated time in Python, by which `use_compiled` decides.
_SECONDS = 7e-8  # per character
_MORE_SECONDS = 1e-7  # per character in addition, if the text is not ASCII
# Characters per chunk: bounds the memory of encoded copies and gives several threads
# work.
_CHUNK = 1 << 20


def prepare_texts(texts, *, lowercase=True, normalize="NFC"):
    """Return texts in lower case and in a Unicode normal form, as requested."""
    if lowercase:
        texts = [text.lower() for text in texts]
    if normalize is None:
        return texts
    form = partial(unicodedata.normalize, normalize)
    return [text if text.isascii() else form(text) for text in texts]


def canonical_words(words, form="NFC"):
    """Return the words of a language in a Unicode form, as a list.

    Steps that read the spelling of words need one form of accented letters. Words of
    one character are not changed, because they may be ids.
    """
    normalize = unicodedata.normalize
    return [
        word if word.isascii() or len(word) == 1 else normalize(form, word)
        for word in words
    ]


def look_up(words, table, default):
    """Return the number of each word in a dict, (n_words,); `default` if it is unknown.

    Unknown words are looked up again in NFC and in NFD. A known word is never replaced
    by another one.
    """
    values = list(map(table.get, words, repeat(default)))
    for i, word in enumerate(words):
        if not word.isascii() and word not in table:
            others = [canonical_words([word], form)[0] for form in ("NFC", "NFD")]
            values[i] = table.get(others[0], table.get(others[1], default))
    return np.array(values, dtype=type(default))


def split_texts(texts, *, rule, split, prepare, locate):
    """Return the tokens of texts, together with the texts and how they were split.

    `split` turns a list of prepared texts into lists of tokens. `rule` is the same
    splitting for compiled code, which splits large input and locates its tokens, or
    None. `prepare` returns the texts to split, such as `prepare_texts`; `locate` finds
    tokens in a prepared text, see `text_spans`.
    """
    original = np.fromiter(texts, object, len(texts))
    seconds = _SECONDS * sum(map(len, texts))
    seconds += _MORE_SECONDS * sum(map(len, filterfalse(str.isascii, texts)))
    if rule is None or not use_compiled(seconds):
        parts = (split(prepare(texts[part])) for part in chunks(len(texts)))
        lists = chain.from_iterable(parts)
        # Only a user's function may return anything but lists of plain str.
        checked = TokenSequences.from_lists
        build = checked if rule is None else TokenSequences._from_unchecked_lists
        tokens = build(lists)
    else:
        tokens = TokenSequences._from_unchecked(
            *split_compiled(original, rule, prepare)
        )
    how = {"rule": rule, "prepare": prepare, "locate": locate}
    return tokens._with_row_info(texts=original, **how)


def words_splitter(punctuation, prepare):
    """Return the function that splits texts into Unicode words."""
    return partial(
        split_texts,
        rule=word_rule(punctuation),
        split=partial(split_words, punctuation=punctuation),
        prepare=prepare,
        locate=partial(locate_words, punctuation=punctuation),
    )


def split_words(texts, punctuation):
    """Return the Unicode words of each text, split in Python."""
    in_ascii = ASCII_WORDS[punctuation].findall
    return [
        in_ascii(text)
        if text.isascii()
        else [text[start:end] for start, end in word_spans(text, punctuation)]
        for text in texts
    ]


class _Chunk(NamedTuple):
    """Tokens of one chunk of texts, as codes into its own types."""

    codes: np.ndarray
    counts: np.ndarray  # tokens per text, (n_texts,)
    types: np.ndarray  # their bytes, each followed by a separator
    hashes: np.ndarray


def split_compiled(texts, rule, prepare):
    """Split texts, an array of at least one str; return types, codes and offsets.

    `prepare` may lowercase ASCII texts and change others in any way.
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))

    def split_chunk(first, last):
        rows = slice(first, last)
        return _split_chunk(texts[rows].tolist(), lengths[rows], rule, prepare)

    chunks = in_threads(split_chunk, _spans_of_chunks(lengths))
    types, codes = chunks[0].types, chunks[0].codes
    if len(chunks) > 1:
        types, codes = _merge_types(chunks, rule.separator)
    names = types.tobytes().decode("utf-8", "surrogatepass")
    table = np.fromiter(names.split(chr(rule.separator))[:-1], object)
    counts = np.concatenate([[0], *(chunk.counts for chunk in chunks)])
    return table, codes, np.cumsum(counts, dtype=np.int64)


def _spans_of_chunks(lengths):
    """Return (first, last + 1) of the texts of each chunk."""
    ends = np.cumsum(lengths)
    cuts = np.flatnonzero(np.diff(ends // _CHUNK, prepend=0)) + 1
    bounds = np.unique(np.concatenate([[0], cuts, [len(ends)]])).tolist()
    return list(zip(bounds, bounds[1:], strict=False))


def _split_chunk(texts, lengths, rule, prepare):
    from ._split_numba import code_spans, copy_spans, hash_spans

    found = find_compiled(texts, lengths, rule, prepare)
    buffer, _, starts, ends, counts = found
    hashes = hash_spans(buffer, starts, ends)
    codes, firsts = code_spans(buffer, starts, ends, hashes)
    types = copy_spans(buffer, starts[firsts], ends[firsts], rule.separator)
    return _Chunk(codes, counts, types, hashes[firsts])


def _merge_types(chunks, separator):
    """Return the types of all chunks as bytes, and the codes of all tokens."""
    from ._split_numba import code_spans, copy_spans

    # The types of all chunks are coded like the tokens of a text.
    buffer = np.concatenate([chunk.types for chunk in chunks])
    ends = np.flatnonzero(buffer == separator)
    starts = np.concatenate([[0], ends + 1])[:-1]
    hashes = np.concatenate([chunk.hashes for chunk in chunks])
    rows, firsts = code_spans(buffer, starts, ends, hashes)
    own_rows = np.split(rows, np.cumsum([len(chunk.hashes) for chunk in chunks])[:-1])
    codes = np.concatenate(
        [own[chunk.codes] for own, chunk in zip(own_rows, chunks, strict=True)]
    )
    return copy_spans(buffer, starts[firsts], ends[firsts], separator), codes
