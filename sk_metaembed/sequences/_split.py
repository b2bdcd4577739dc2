"""Split texts by a rule: a few in plain Python, many by compiled code."""

import unicodedata
from functools import partial

import numpy as np

from .._io._compiled import use_compiled
from ._characters import ASCII_WORDS, word_rule
from ._late import LateTokens, is_late
from ._text_scan import TextScan
from ._text_spans import as_lists, locate_words, word_spans
from ._token_sequences import TokenSequences

_SECONDS = 6e-8  # for a character in plain Python


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

    These are split when their tokens are needed. `plain` splits prepared texts into
    lists of tokens otherwise; `prepare` is the function that prepares texts.
    """
    if rule is None or not use_compiled(_SECONDS * sum(map(len, texts))):
        return TokenSequences.from_lists(plain(prepare(texts)))
    return LateTokens.of_texts(TextScan(_as_array(texts), rule, prepare))


def _as_array(texts):
    written = np.empty(len(texts), dtype=object)
    written[:] = texts
    written.flags.writeable = False
    return written


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
    written = tokens._scan.texts if is_late(tokens) else _as_array(texts)
    return tokens._with_row_info(texts=written, prepare=prepare, locate=locate)


def split_words(texts, rule):
    """Split a few texts into Unicode words."""
    in_ascii = ASCII_WORDS[bool(rule.emits[-1])].findall
    rule = as_lists(rule)
    return [
        in_ascii(text)
        if text.isascii()
        else [text[start:end] for start, end in word_spans(text, rule)]
        for text in texts
    ]
