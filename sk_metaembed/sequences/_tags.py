"""Tags of tokens: validation, encoding, spans, and conversion between schemes.

A tagger's y is a list of tag lists, one per sentence. Internally it is a
`TokenSequences` with the offsets of the sentences.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core._errors import plural, prefix_errors, prefix_input_errors, short_repr
from .._core._typing import Tags
from ._row_errors import is_token_list, kind, plain_tokens
from ._token_sequences import TokenSequences
from ._validation import read_rows


def read_tags(y, tokens=None, *, name="y"):
    """Return tags as a TokenSequences, or raise an error that names a row.

    With `tokens`, their offsets must be those of the tags; None skips the check. `name`
    is the name of the tags in messages.
    """
    if y is None:
        raise ValueError(
            f"this estimator requires {name} to be passed, but the target {name} is "
            "None. Pass one list of tags per sentence, one tag per token."
        )
    tags = y if isinstance(y, TokenSequences) else _from_rows(y, name)
    if tokens is not None:
        _check_lengths(tags, tokens, name)
    return tags


def _from_rows(y, name):
    is_matrix = isinstance(y, np.ndarray) and y.ndim == 2 and y.size > 0
    if is_matrix and isinstance(y[0, 0], str):
        rows = list(y)  # NumPy made a matrix of sentences of equal length
    else:
        with prefix_input_errors(name):
            rows = read_rows(y)
    for i, row in enumerate(rows):
        if not is_token_list(row):
            raise TypeError(
                f"row {i} of {name} is {kind(row)}: {short_repr(row)}. "
                "Every row must be a list of str, one tag per token of its sentence."
            )
    return TokenSequences.from_lists(
        plain_tokens(row, f"row {i} of {name}", part="tag")
        for i, row in enumerate(rows)
    )


def _check_lengths(tags, tokens, name):
    if len(tags) != len(tokens):
        raise ValueError(
            f"{name} has {plural(len(tags), 'row')} for "
            f"{plural(len(tokens), 'sentence')}. Pass one list of tags per sentence, "
            "[] for an empty one."
        )
    wrong = np.flatnonzero(tags.lengths != tokens.lengths)
    if len(wrong):
        i = wrong[0]
        more = f" ({len(wrong)} rows are wrong in total.)" if len(wrong) > 1 else ""
        raise ValueError(
            f"row {i} of {name} has {plural(tags.lengths[i], 'tag')} for a "
            f"sentence of {plural(tokens.lengths[i], 'token')}: {short_repr(tags[i])} "
            f"for {short_repr(tokens[i])}. Pass one tag per token.{more}"
        )


def tag_classes(tags):
    """Return the distinct tags that occur, sorted, object (n_classes,)."""
    return np.array(sorted(tags.types[np.unique(tags.codes)]), dtype=object)


def encode_tags(tags, classes, *, name="y"):
    """Return the index of each tag among the classes, int64 (n_tokens,), or raise."""
    places = {tag: place for place, tag in enumerate(classes)}
    codes = np.array([places.get(t, -1) for t in tags.types], dtype=np.int64)
    codes = codes[tags.codes]
    invalid = np.flatnonzero(codes < 0)
    if len(invalid):
        raise ValueError(
            f"{token_place(tags, invalid[0], name)}, which is not among the "
            f"tags seen in fit: {short_repr(list(classes))}."
        )
    return codes


def token_place(tags, position, name="y"):
    """Return a phrase for messages with the row, position and value of a tag."""
    row = int(np.searchsorted(tags.offsets, position, side="right")) - 1
    tag = tags.types[tags.codes[position]]
    return f"row {row} of {name}, tag {position - tags.offsets[row]} is {tag!r}"


def decode_tags(codes, classes, offsets):
    """Return tags as an object array of lists, (n_sequences,), which taggers predict.

    ``cross_val_predict`` can concatenate arrays of lists, but not lists of lists.
    """
    rows = TokenSequences._from_unchecked(classes, codes, offsets).to_list()
    return np.fromiter(rows, object, len(rows))


_LETTERS = {"IOB2": "BIO", "IOBES": "BIESO"}
SCHEMES = tuple(_LETTERS)
_NO_LABEL = "_"  # of spans with the tags "B" and "I" alone, as in seqeval


class Spans(NamedTuple):
    """Labelled spans of tokens in reading order, one array entry per span."""

    rows: np.ndarray  # the sentence, int64
    starts: np.ndarray  # first token, counted from the sentence's first, int64
    stops: np.ndarray  # the token after the last one, int64
    labels: np.ndarray  # such as "person", object of str
    valid: np.ndarray  # whether the span begins and ends as the scheme requires, bool


class _Parts(NamedTuple):
    """The letter and the label of each distinct tag, such as "B" and "person"."""

    letters: np.ndarray
    labels: np.ndarray

    def among(self, letters):
        return np.isin(self.letters, list(letters))


def _letters_of(scheme):
    if scheme is not None and scheme not in _LETTERS:
        raise ValueError(f"scheme must be one of {list(SCHEMES)}, got {scheme!r}.")
    return _LETTERS.get(scheme, "BIESO")


def _split(types, letters):
    """Return the parts of each tag; the letter is "" for tags outside the scheme."""
    parts = [_split_tag(tag, letters) for tag in types]
    pairs = np.array(parts, dtype=object).reshape(-1, 2)
    return _Parts(pairs[:, 0].astype("U1"), pairs[:, 1])


def _split_tag(tag, letters):
    letter, dash, label = tag.partition("-")
    whole = not (letter == "O" and dash) and not (dash and not label)
    if len(letter) != 1 or letter not in letters or not whole:
        return "", ""
    return letter, "" if letter == "O" else label or _NO_LABEL


def _parts_of(tags, scheme, name):
    letters = _letters_of(scheme)
    parts = _split(tags.types, letters)
    invalid = np.flatnonzero((parts.letters == "")[tags.codes])
    if len(invalid):
        allowed = '"O"' + "".join(f', "{letter}-..."' for letter in letters[:-1])
        raise ValueError(
            f"{token_place(tags, invalid[0], name)}, which is not a tag of "
            f"{scheme or 'IOB2 or IOBES'}. Allowed are {allowed}."
        )
    return parts


def tags_to_spans(tags, scheme=None, *, name="y"):
    """Return the `Spans` of tags, read like the scorer conlleval.

    A span begins at B, at S, and at an I or E without a preceding span of the same
    label; so an I after O begins one. `scheme` restricts the letters and defines
    `Spans.valid`; None allows the letters of both schemes and validates against IOB2.
    """
    parts = _parts_of(tags, scheme, name)
    codes, rows = tags.codes, tags.segment_ids()
    inside = parts.among("BIES")[codes]
    label_codes = np.unique(parts.labels.astype(str), return_inverse=True)[1][codes]
    # Whether a token continues the span of the token before it.
    joined = inside[1:] & inside[:-1] & (rows[1:] == rows[:-1])
    joined &= label_codes[1:] == label_codes[:-1]
    joined &= parts.among("IE")[codes][1:] & parts.among("BI")[codes][:-1]
    first = inside & ~np.concatenate([[False], joined])[: len(codes)]
    last = inside & ~np.concatenate([joined, [False]])[: len(codes)]
    starts, ends = np.flatnonzero(first), np.flatnonzero(last)
    valid = parts.among("BS")[codes][starts]
    if scheme == "IOBES":
        valid &= parts.among("ES")[codes][ends]
    begin = tags.offsets[rows[starts]]
    return Spans(
        rows[starts],
        starts - begin,
        ends + 1 - begin,
        parts.labels[codes[starts]],
        valid,
    )


def allowed_transitions(classes, scheme):
    """Return which tags may begin a sentence, follow each other, and end a sentence.

    Bool arrays of shapes (n_classes,), (n_classes, n_classes) and (n_classes,); rows
    are the tags that come first.
    """
    parts = _split(classes, _letters_of(scheme))
    if (parts.letters == "").any():
        invalid = np.asarray(classes, dtype=object)[parts.letters == ""].tolist()
        raise ValueError(f"{invalid} are not tags of {scheme}.")
    inner, opened = parts.among("IE"), parts.among("BI")
    joined = opened[:, None] & (parts.labels[:, None] == parts.labels)
    between = joined | ~inner
    end = np.ones(len(opened), dtype=bool)
    if scheme == "IOBES":
        between &= inner | ~opened[:, None]
        end = ~opened
    return ~inner, between, end


def check_scheme(tags, scheme, *, name="y"):
    """Raise a ValueError with row, position and tag unless tags obey a scheme."""
    _parts_of(tags, scheme, name)
    expected = _written(tags, scheme)
    wrong = np.flatnonzero(tags.types[tags.codes] != expected)
    if len(wrong):
        place = token_place(tags, wrong[0], name)
        raise ValueError(
            f"{place}, but in {scheme} it must be {expected[wrong[0]]!r} in this "
            "sentence. Repair the tags, for example with convert_tags, which reads "
            "invalid spans like conlleval."
        )


def _written(tags, scheme):
    """Return tags rewritten in another scheme, object (n_tokens,)."""
    spans = tags_to_spans(tags)
    starts = tags.offsets[spans.rows] + spans.starts
    lengths = spans.stops - spans.starts
    letters = np.full(tags.n_tokens, "O")
    inside = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    inside += np.arange(len(inside))
    letters[inside] = "I"
    letters[starts] = "B"
    if scheme == "IOBES":
        letters[starts + lengths - 1] = "E"
        letters[starts[lengths == 1]] = "S"
    written = np.full(tags.n_tokens, "O", dtype=object)
    written[inside] = [
        letter if label == _NO_LABEL else f"{letter}-{label}"
        for letter, label in zip(
            letters[inside], np.repeat(spans.labels, lengths), strict=True
        )
    ]
    return written


@prefix_errors
def convert_tags(y: Tags, to: Literal["IOB2", "IOBES"]) -> NDArray[np.object_]:
    """Convert tags to another scheme.

    Spans are read like the scorer conlleval reads them, so input may be in IOB1, IOB2
    or IOBES, and invalid tags are repaired: an I without a preceding span of its label
    begins one.

    Parameters
    ----------
    y : list of lists of str, array of such lists, Series or TokenSequences
        One tag per token.
    to : {"IOB2", "IOBES"}
        The scheme of the result; "IOBES" is also known as BIOES.

    Returns
    -------
    ndarray of object, shape (n_sequences,)
        One list of tags per row.

    Raises
    ------
    TypeError
        If y is not a collection of lists of str.
    ValueError
        If a tag does not belong to any of these schemes; the message names its row.

    See Also
    --------
    sk_metaembed.metrics.span_f1_score : Scores tags of all these schemes alike.
    sk_metaembed.datasets.load_conll : Loads tagged sentences.

    Examples
    --------
    >>> from sk_metaembed.sequences import convert_tags
    >>> convert_tags([["B-place", "I-place", "O", "B-person"]], to="IOBES").tolist()
    [['B-place', 'E-place', 'O', 'S-person']]
    >>> convert_tags([["I-place", "I-person", "B-person"]], to="IOB2").tolist()
    [['B-place', 'B-person', 'B-person']]
    """
    _letters_of(to)  # raises for an unknown scheme
    tags = read_tags(y)
    classes, codes = np.unique(_written(tags, to).astype(str), return_inverse=True)
    return decode_tags(codes, classes, tags.offsets)
