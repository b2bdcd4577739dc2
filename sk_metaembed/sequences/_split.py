"""Split texts into TokenSequences: small input in Python, large by compiled code."""

import unicodedata
from functools import partial
from itertools import filterfalse, repeat

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


def canonical_words(words, form="NFC"):
    """Return the words of a language in a Unicode form, as a list.

    For what reads the spelling of a word: token lists may write accented letters as one
    character or several. A single character is returned as it is: it may be an id.
    """
    normalize = unicodedata.normalize
    return [
        word if word.isascii() or len(word) == 1 else normalize(form, word)
        for word in words
    ]


def look_up(words, table, default):
    """Return the value of each word in a dict, a list; `default` for unknown words.

    Words that are unknown are looked up again in NFC and in NFD, so a word that is
    known is never taken for another.
    """
    values = list(map(table.get, words, repeat(default)))
    for i, word in enumerate(words):
        if not word.isascii() and word not in table:
            others = [canonical_words([word], form)[0] for form in ("NFC", "NFD")]
            values[i] = table.get(others[0], table.get(others[1], default))
    return values


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
