"""Split texts by a rule: a few in plain Python, many by compiled code."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from ._characters import ASCII_WORDS, character_classes, word_rule
from ._text_spans import as_lists, locate_words, word_spans
from ._token_sequences import TokenSequences

# Below this many characters plain Python is faster than loading numba.
SMALL = 1 << 15
# Characters per chunk of the compiled passes: bounds the memory of encoded copies and
# gives several threads work.
CHUNK = 1 << 20
# After each buffer, so that eight bytes can be read wherever a token begins.
_PADDING = bytes(8)


class _Chunk(NamedTuple):
    """Tokens of one chunk of texts, as codes into its own types."""

    codes: np.ndarray
    counts: np.ndarray
    types: np.ndarray
    hashes: np.ndarray


def prepare_texts(texts, *, lowercase=True, normalize="NFC"):
    """Return texts in lower case and in a Unicode normal form, as requested."""
    if lowercase:
        texts = [text.lower() for text in texts]
    if normalize is None:
        return texts
    form = partial(unicodedata.normalize, normalize)
    return [text if text.isascii() else form(text) for text in texts]


def split_texts(texts, *, rule, plain, prepare):
    """Split texts by the compiled rule if there is one and the input is large.

    `plain` splits prepared texts into lists of tokens otherwise; `prepare` is the
    function that prepares texts.
    """
    if rule is None or sum(map(len, texts)) < SMALL:
        return TokenSequences.from_lists(plain(prepare(texts)))
    return split_compiled(texts, rule, prepare)


def split_by_default(texts):
    """Split texts as a `Tokenizer` without parameters does."""
    rule = word_rule(False)
    plain = partial(split_words, rule=rule)
    tokens = split_texts(texts, rule=rule, plain=plain, prepare=prepare_texts)
    return with_texts(
        tokens, texts, prepare_texts, partial(locate_words, punctuation=False)
    )


def with_texts(tokens, texts, prepare, locate):
    """Return tokens that know their original texts and how they were split."""
    written = np.empty(len(texts), dtype=object)
    written[:] = texts
    return tokens._with_row_info(texts=written, prepare=prepare, locate=locate)


def split_words(texts, rule):
    """Split a few texts into Unicode words: ASCII by `re`, others per character."""
    findall, rule = ASCII_WORDS[bool(rule.emits[-1])].findall, as_lists(rule)
    return [
        findall(text)
        if text.isascii()
        else [text[start:end] for start, end in word_spans(text, rule)]
        for text in texts
    ]


def split_compiled(texts, rule, prepare=list):
    """Split at least one text by a rule, chunk by chunk in threads.

    `prepare` is applied to the texts of each chunk; ASCII texts must stay ASCII.
    """
    from numba import config

    is_ascii = all(map(str.isascii, texts))
    classes = rule.ascii_classes if is_ascii else character_classes(rule.name)

    def scan(span):
        return _scan_chunk(prepare(texts[slice(*span)]), rule, classes)

    spans = _chunk_spans(texts)
    # joblib lowers this number in its workers, so nested pools do not multiply.
    n_threads = min(config.NUMBA_NUM_THREADS, len(spans))
    if n_threads < 2:
        return _merged([scan(span) for span in spans], rule)
    with ThreadPoolExecutor(n_threads) as pool:
        return _merged(list(pool.map(scan, spans)), rule)


def _chunk_spans(texts):
    """Return (first, last + 1) of runs of texts of about `CHUNK` characters."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, count=len(texts)))
    cuts = np.flatnonzero(np.diff(ends // CHUNK, prepend=0)) + 1
    bounds = np.unique(np.concatenate([[0], cuts, [len(texts)]])).tolist()
    return list(zip(bounds, bounds[1:], strict=False))


def _scan_chunk(texts, rule, classes):
    from ._split_numba import (
        code_spans,
        find_tokens,
        gather_spans,
        hash_spans,
    )

    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    text_ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, count=len(encoded)))
    buffer = np.frombuffer(b"".join([*encoded, _PADDING]), dtype=np.uint8)
    del encoded
    starts, ends, counts = find_tokens(
        buffer, text_ends, classes, rule.steps, rule.emits, rule.min_length
    )
    hashes = hash_spans(buffer, starts, ends)
    codes, firsts = code_spans(buffer, starts, ends, hashes)
    types = gather_spans(buffer, starts[firsts], ends[firsts], rule.separator)
    return _Chunk(codes, counts, types, hashes[firsts])


def _merged(chunks, rule):
    """Return the chunks' sequences over one table of types, in first-seen order."""
    types, codes = chunks[0].types, chunks[0].codes
    if len(chunks) > 1:
        types, codes = _merged_types(chunks, rule.separator)
    names = types.tobytes().decode("utf-8", "surrogatepass").split(chr(rule.separator))
    table = np.empty(len(names) - 1, dtype=object)
    table[:] = names[:-1]
    counts = np.concatenate([[0], *(chunk.counts for chunk in chunks)])
    return TokenSequences._trusted(table, codes, np.cumsum(counts, dtype=np.int64))


def _merged_types(chunks, separator):
    """Return the bytes of all types, and the codes of all tokens into them."""
    from ._split_numba import code_spans, gather_spans

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
    return gather_spans(buffer, starts[firsts], ends[firsts], separator), codes
