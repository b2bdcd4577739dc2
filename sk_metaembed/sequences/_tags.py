"""Tags, one a token: reading what users pass as y, and what taggers give back.

A tagger's y is a list of tag lists, one list a sentence. Inside it is a
`TokenSequences` whose offsets are those of the sentences.
"""

import numpy as np

from ._tokens import TokenSequences
from ._validation import _is_token_list, _kind, _shown, counted, read_rows


def read_tags(y, tokens=None, *, whose, name="y"):
    """Return tags as a TokenSequences that fits the tokens, or say which row does not.

    Parameters
    ----------
    y : list of lists of str, array of such lists, Series or TokenSequences
        One tag a token.
    tokens : TokenSequences, default=None
        The sentences. None leaves the tags' number as it is.
    whose : str
        Begins the error messages, for example an estimator's name.
    name : str, default="y"
        What the tags are called in messages.

    Returns
    -------
    TokenSequences
        Of tags, with the offsets of `tokens`.

    Raises
    ------
    TypeError
        If y is no collection of lists of str.
    ValueError
        If y is missing, or rows or tags are more or fewer than sentences and tokens.
    """
    if y is None:
        raise ValueError(
            f"{whose} requires {name} to be passed, but the target {name} is None. "
            "Pass one list of tags a sentence, one tag a token."
        )
    tags = y if isinstance(y, TokenSequences) else _from_rows(y, whose, name)
    if tokens is not None:
        _check_lengths(tags, tokens, whose, name)
    return tags


def _from_rows(y, whose, name):
    if getattr(y, "ndim", 1) == 2 and isinstance(y, np.ndarray) and _holds_tags(y):
        rows = list(y)  # numpy made a table of sentences of one length
    else:
        rows = read_rows(y, whose=f"{whose}: {name}")
    kinds = set()
    for i, row in enumerate(rows):
        if not _is_token_list(row):
            raise TypeError(
                f"{whose}: row {i} of {name} is {_kind(row)}: {_shown(row)}. Every "
                "row must be a list of str, one tag a token of its sentence."
            )
        kinds.update(map(type, row))
    if kinds <= {str}:
        return TokenSequences.from_lists(rows)
    return TokenSequences.from_lists(
        [_plain(row, i, whose, name) for i, row in enumerate(rows)]
    )


def _holds_tags(y):
    return y.size > 0 and isinstance(y[0, 0], str)


def _plain(row, i, whose, name):
    for j, tag in enumerate(row):
        if not isinstance(tag, str):
            raise TypeError(
                f"{whose}: row {i} of {name}, tag {j} is {_kind(tag)} ({_shown(tag)}). "
                'Every tag must be a str, such as "O" or "B-person"; turn numbers '
                "into the names that they stand for."
            )
    return [str(tag) for tag in row]


def _check_lengths(tags, tokens, whose, name):
    if len(tags) != len(tokens):
        raise ValueError(
            f"{whose}: {name} has {counted(len(tags), 'row')} for "
            f"{counted(len(tokens), 'sentence')}. Pass one list of tags a sentence, "
            "also for an empty one: []."
        )
    wrong = np.flatnonzero(tags.lengths != tokens.lengths)
    if len(wrong):
        i = wrong[0]
        more = f" ({len(wrong)} rows are wrong in all.)" if len(wrong) > 1 else ""
        raise ValueError(
            f"{whose}: row {i} of {name} has {counted(tags.lengths[i], 'tag')} for a "
            f"sentence of {counted(tokens.lengths[i], 'token')}: {_shown(tags[i])} for "
            f"{_shown(tokens[i])}. Give every token one tag.{more}"
        )


def tag_classes(tags):
    """Return the distinct tags that occur, sorted.

    Parameters
    ----------
    tags : TokenSequences

    Returns
    -------
    ndarray of object, shape (n_classes,)
        Of str.
    """
    return np.array(sorted(tags.types[np.unique(tags.codes)]), dtype=object)


def tag_codes(tags, classes, *, whose, name="y"):
    """Return each tag's place among the classes, or say which is none of them.

    Parameters
    ----------
    tags : TokenSequences
    classes : array-like of str, shape (n_classes,)
    whose, name : str
        As for `read_tags`.

    Returns
    -------
    ndarray of int64, shape (n_tokens,)

    Raises
    ------
    ValueError
        If a tag is no class; the message names its row.
    """
    places = {tag: place for place, tag in enumerate(classes)}
    codes = np.array([places.get(t, -1) for t in tags.types], dtype=np.int64)
    codes = codes[tags.codes]
    strange = np.flatnonzero(codes < 0)
    if len(strange):
        raise ValueError(
            f"{whose}: {place_of(tags, strange[0], name)}, which is none of the tags "
            f"learned: {_shown(list(classes))}."
        )
    return codes


def place_of(tags, position, name="y"):
    """Return in words where a tag stands, for messages.

    Parameters
    ----------
    tags : TokenSequences
    position : int
        Among all tags.
    name : str, default="y"
        What the tags are called.

    Returns
    -------
    str
        Row, place in the row, and the tag itself.
    """
    row = int(np.searchsorted(tags.offsets, position, side="right")) - 1
    tag = tags.types[tags.codes[position]]
    return f"row {row} of {name}, tag {position - tags.offsets[row]} is {tag!r}"


def tag_lists(codes, classes, offsets):
    """Return tags as an array of lists, one list a sentence: what taggers predict.

    Arrays of lists can be concatenated, so that ``cross_val_predict`` puts folds
    together, which it does not with lists of lists.

    Parameters
    ----------
    codes : ndarray of int, shape (n_tokens,)
        Each token's place among `classes`.
    classes : array-like of str, shape (n_classes,)
    offsets : ndarray of int, shape (n_sequences + 1,)

    Returns
    -------
    ndarray of object, shape (n_sequences,)
        Each a list of str.
    """
    flat = np.asarray(classes, dtype=object)[codes].tolist()
    rows = np.empty(len(offsets) - 1, dtype=object)
    bounds = np.asarray(offsets).tolist()
    for i in range(len(rows)):
        rows[i] = flat[bounds[i] : bounds[i + 1]]
    return rows
