"""Split texts into TokenSequences: small input in Python, large by compiled code."""

import unicodedata
from functools import partial
from itertools import filterfalse
from operator import is_

import numpy as np

from .._kernels._compiled import use_compiled
from ._characters import ASCII_WORDS, word_rule
from ._late import LateTokens
from ._text_scan import TextScan
from ._text_spans import locate_words, word_spans
from ._token_sequences import TokenSequences

# Estimated time in Python, by which `use_compiled` decides.
_SECONDS = 6e-8  # per character
_MORE_SECONDS = 1e-7  # in addition, if its text is not ASCII


def prepare_texts(texts, *, lowercase=True, normalize="NFC"):
    """Return texts in lower case and in a Unicode normal form, as requested."""
    if lowercase:
        texts = [text.lower() for text in texts]
    if normalize is None:
        return texts
    form = partial(unicodedata.normalize, normalize)
    return [text if text.isascii() else form(text) for text in texts]


def canonical_words(words):
    """Return words in NFC, the form of split texts, as a list.

    Steps that learn words count and look them up in this form: token lists may spell
    accented letters in one character or several.
    """
    return prepare_texts(words, lowercase=False)


def canonical(tokens):
    """Return a TokenSequences over words in NFC."""
    words = canonical_words(tokens.types)
    same = all(map(is_, words, tokens.types))
    return tokens if same else tokens._with_words(words)


def split_texts(texts, *, rule, split, prepare, locate):
    """Return the tokens of texts, together with the texts and how they were split.

    Parameters
    ----------
    texts : list of str
    rule : Rule or None
        The same splitting for compiled code, which large input is left to until its
        tokens are read. None if there is no such rule.
    split : callable
        From a list of prepared texts to an iterable of lists of tokens.
    prepare : callable
        From a list of texts to the texts to split, such as `prepare_texts`.
    locate : callable
        Locates tokens in a prepared text, see `text_spans`.
    """
    original = np.fromiter(texts, object, len(texts))
    seconds = _SECONDS * sum(map(len, texts))
    seconds += _MORE_SECONDS * sum(map(len, filterfalse(str.isascii, texts)))
    if rule is None or not use_compiled(seconds):
        tokens = TokenSequences.from_lists(split(prepare(texts)))
    else:
        tokens = LateTokens.of_texts(TextScan(original, rule, prepare))
    return tokens._with_row_info(texts=original, prepare=prepare, locate=locate)


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
