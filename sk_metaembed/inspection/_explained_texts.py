"""The texts to explain, and variants of them in which words are left out.

`read_texts` returns one of two classes with the same interface: `X` and its `tokens`,
the `column` of texts in a table, and two methods. ``without(i)`` yields the variants of
row i, each with a key that is equal for equal variants; ``join(variants)`` turns
variants into an input of the estimator.
"""

from functools import cached_property

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from .._core._errors import short_repr
from .._core._sklearn import safe_indexing
from .._pipelines import flat_steps, replace_steps
from ..sequences import (
    EmbeddedSequences,
    SequencePairs,
    SequencesInputMixin,
    Tokenizer,
    check_tokens,
)
from ..sequences._api import check_cells, read_rows, tokens_from_unchecked
from ._explain_linear import Outputs


def read_texts(estimator, X, column):
    """Return the input and its words as `_Tokens` or `_Strings`."""
    if column is not None:
        return _Strings(X, _split(estimator, _column(X, column)), column)
    if isinstance(X, SequencePairs):
        raise TypeError("explain takes single texts, got SequencePairs.")
    if isinstance(X, EmbeddedSequences):
        return _Tokens(X)
    entry = flat_steps(estimator)[0]
    if isinstance(entry, SequencesInputMixin) and _reads_texts(entry):
        if isinstance(entry, Tokenizer):
            return _Tokens(entry.transform(X))
        missing = getattr(entry, "missing", "raise")
        return _Tokens(check_tokens(X, missing=missing))
    if len(getattr(X, "shape", ())) == 2:
        raise ValueError(
            f"X is a table of shape {tuple(X.shape)}. Pass a data frame and the column "
            "with the texts: explain(estimator, X, column=...)."
        )
    rows = read_rows(X)
    texts, absent = check_cells([rows], [""], lists=False, missing="empty")
    if absent.any():
        _check_accepts_missing(estimator, rows, absent.argmax())
        texts = rows
    return _Strings(texts, _split(estimator, texts))


def _column(X, column):
    """Return a column of a frame, or raise a ValueError with its columns."""
    if not hasattr(X, "columns"):
        raise ValueError(
            f"column={column!r} is for data frames, but X is of type "
            f"{type(X).__name__}. Leave it out, or convert an array with pandas."
        )
    if column not in list(X.columns):
        raise ValueError(
            f"column={column!r} is not one of the columns {short_repr([*X.columns])}."
        )
    return X[column]


def _check_accepts_missing(estimator, rows, i):
    try:
        Outputs(estimator)(rows[i : i + 1])
    except Exception as error:
        raise TypeError(
            f"row {i} is missing ({rows[i]!r}), and the estimator does not "
            'accept missing texts. Drop the row or replace it by "" (an empty text).'
        ) from error


def _reads_texts(step):
    tags = get_tags(step).input_tags
    return tags.string and not tags.categorical


def _split(estimator, texts):
    """Return the words of texts, split by the estimator's Tokenizer if it has one."""
    tokenizers = [Tokenizer()]

    def collect(step):
        if isinstance(step, Tokenizer):
            tokenizers.append(step)
        return step

    replace_steps(estimator, collect)  # visits every step, and replaces none
    for tokenizer in reversed(tokenizers):
        tokens = clone(tokenizer).set_params(missing="empty").transform(texts)
        if tokens.texts is None:
            raise TypeError("the column must contain texts, not token lists.")
        if (tokens.spans() >= 0).all():  # lemmas cannot be cut from a text
            break
    return tokens


class _Tokens:
    """TokenSequences or EmbeddedSequences, and variants without some words."""

    column = None

    def __init__(self, X):
        self.X, self.tokens = X, getattr(X, "tokens", X)

    @cached_property
    def _spans(self):
        """Spans of the words in the texts; None if a word has no span, such as a lemma.

        Sources that read original texts then read the remaining words instead.
        """
        spans = self.tokens.spans()
        return spans if spans is not None and (spans >= 0).all() else None

    def without(self, i):
        """Yield (key, variant) of row i without each of its words, then without all."""
        start, end = self.tokens.offsets[i : i + 2].tolist()
        positions, text = np.arange(start, end), None
        for k in range(len(positions) + 1):
            is_last = k == len(positions)
            places = positions[:0] if is_last else np.delete(positions, k)
            if is_last:
                text = ""
            elif self._spans is not None:
                text = _drop(self.tokens.texts[i], *self._spans[start + k].tolist())
            key = self.tokens.codes[places].tobytes(), text
            if isinstance(self.X, EmbeddedSequences):  # vectors may differ by row
                key = i, places.tobytes()
            yield key, (i, places, text)

    def join(self, variants):
        """Return the input of an estimator with the variants as rows."""
        rows, places, texts = zip(*variants, strict=True)
        offsets = np.cumsum([0, *map(len, places)])
        places = np.concatenate(places)
        info = self.tokens._row_info._replace(index=None, missing=None, texts=None)
        if self._spans is not None:
            info = info._replace(texts=np.fromiter(texts, object))
        codes = self.tokens.codes[places]
        tokens = tokens_from_unchecked(self.tokens.types, codes, offsets, info)
        if self.X is self.tokens:
            return tokens
        return self.X._select_tokens(tokens, places, np.array(rows))


class _Strings:
    """Texts, alone or in a column of a table, and variants without some words."""

    def __init__(self, X, tokens, column=None):
        self.X, self.tokens, self.column = X, tokens, column
        self._spans = tokens.spans()

    def without(self, i):
        """Yield (key, variant) of row i without each of its words, then without all."""
        start, end = self.tokens.offsets[i : i + 2].tolist()
        text, spans = self.tokens.texts[i], self._spans[start:end].tolist()
        for span in [*spans, None]:
            shorter = "" if span is None else _drop(text, *span)
            yield (shorter if self.column is None else (i, shorter)), (i, shorter)

    def join(self, variants):
        """Return the input of an estimator with the variants as rows."""
        rows, texts = zip(*variants, strict=True)
        if self.column is None:
            return list(texts)
        return with_column(safe_indexing(self.X, list(rows)), self.column, list(texts))


def sizes_of(tokens):
    """Return the number of tokens per text; long tokens count per four characters."""
    texts = [""] * len(tokens) if tokens.texts is None else tokens.texts
    n_characters = np.array([len(text) for text in texts])
    return np.maximum(np.maximum(tokens.lengths, n_characters // 4), 1)


def _drop(text, start, end):
    """Return a text without the word from start to end.

    >>> _drop("a good film", 2, 6), _drop("good film!", 5, 9), _drop("it's", 2, 3)
    ('a film', 'good !', 'it s')
    """
    before, after = text[:start], text[end:]
    if after[:1].isspace() and (not before or before[-1].isspace()):
        return before + after[1:]
    joins = before[-1:].isalnum() and after[:1].isalnum()
    return before + " " * joins + after


def with_column(X, name, values):
    """Return a copy of a frame with other values in a column."""
    if hasattr(X, "iloc"):
        X = X.copy()
        X[name] = getattr(values, "array", values)
        return X
    return X.with_columns(type(X[name])(name, values))
