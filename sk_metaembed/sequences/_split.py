"""Split texts: a few in plain Python, many by compiled code."""

import unicodedata
from functools import partial
from itertools import filterfalse

import numpy as np

from .._io._compiled import use_compiled
from ._characters import ASCII_WORDS, word_rule
from ._late import LateTokens
from ._text_scan import TextScan
from ._text_spans import locate_words, word_spans
from ._token_sequences import TokenSequences

_SECONDS = 6e-8  # for a character in plain Python
_MORE_SECONDS = 1e-7  # if its text is not in ASCII


def prepare_texts(texts, *, lowercase=True, normalize="NFC"):
    """Return texts in lower case and in a Unicode normal form, as requested."""
    if lowercase:
        texts = [text.lower() for text in texts]
    if normalize is None:
        return texts
    form = partial(unicodedata.normalize, normalize)
    return [text if text.isascii() else form(text) for text in texts]


def split_texts(texts, *, rule, plain, prepare, locate):
    """Return the tokens of texts, which know their texts and how they were split.

    Parameters
    ----------
    texts : list of str
    rule : Rule or None
        Splits large input, by compiled code, when its tokens are needed.
    plain : callable
        Splits prepared texts into an iterable of lists of tokens.
    prepare : callable
        Prepares texts.
    locate : callable
        Locates tokens in a prepared text, see `text_spans`.
    """
    written = np.fromiter(texts, object, len(texts))
    written.flags.writeable = False
    seconds = _SECONDS * sum(map(len, texts))
    seconds += _MORE_SECONDS * sum(map(len, filterfalse(str.isascii, texts)))
    if rule is None or not use_compiled(seconds):
        tokens = TokenSequences.from_lists(plain(prepare(texts)))
    else:
        tokens = LateTokens.of_texts(TextScan(written, rule, prepare))
    return tokens._with_row_info(texts=written, prepare=prepare, locate=locate)


def words_splitter(punctuation, prepare):
    """Return the function that splits texts into Unicode words."""
    return partial(
        split_texts,
        rule=word_rule(punctuation),
        plain=partial(split_words, punctuation=punctuation),
        prepare=prepare,
        locate=partial(locate_words, punctuation=punctuation),
    )


def split_words(texts, punctuation):
    """Split a few texts into Unicode words."""
    in_ascii = ASCII_WORDS[punctuation].findall
    return [
        in_ascii(text)
        if text.isascii()
        else [text[start:end] for start, end in word_spans(text, punctuation)]
        for text in texts
    ]
