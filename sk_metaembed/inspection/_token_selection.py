"""Which tokens of embedded sequences a picture compares: their vectors and labels."""

from collections import Counter

import numpy as np

from .._core._parameters import is_integer
from ..sequences import EmbeddedSequences
from ..sequences._find_step import find_embedded

_MANY = 1000


def select_vectors(embedded, block, tokens, caller):
    """Return the vectors of chosen tokens, or of chosen sequences.

    Parameters
    ----------
    embedded : EmbeddedSequences
    block : str or None
        Name of the block. None takes the only one.
    tokens : sequence or None
        Entries as `PairsDisplay.from_embedded` describes them. None takes all.
    caller : str
        Begins the error messages.

    Returns
    -------
    values : ndarray of shape (n, dim)
    labels : list of str, length n
    name : str
        The block's name.
    """
    check_embedded(embedded, caller)
    block = _one_block(embedded, block, caller)
    if block.level == "sequence":
        rows = _sequences(len(embedded), tokens, caller)
        labels = [str(row) for row in rows]
    else:
        is_type = block.level == "type"
        places = _places(embedded.tokens, tokens, is_type, caller)
        labels = _labels(embedded.tokens, places)
        rows = embedded.tokens.codes[places] if is_type else places
    check_number(len(rows), caller)
    refuse_unknown(block.known[rows], labels, caller)
    return block.take(rows).values, labels, block.name


def embed_until_last(estimator, X, caller, hint=""):
    """Return the last EmbeddedSequences that an estimator makes of X.

    Parameters
    ----------
    estimator : fitted estimator
        Or a Pipeline, search or ColumnTransformer around it.
    X : what the estimator takes
    caller : str
        Begins the error message.
    hint : str
        Ends it.

    Raises
    ------
    TypeError
        If there is none.
    """
    found = find_embedded(estimator, X, caller)
    if not found:
        raise TypeError(
            f"{caller}.from_estimator takes a fitted estimator that gives "
            "EmbeddedSequences, or a Pipeline, search or ColumnTransformer with such "
            f"a step; got {type(estimator).__name__}.{hint}"
        )
    return found[-1]


def check_number(n, caller):
    """Refuse to compare nothing, or more than a picture can show."""
    if not 1 <= n <= _MANY:
        raise ValueError(
            f"{caller} compares each with each, between 1 and {_MANY} of them, got "
            f"{n}. Choose which."
        )


def refuse_unknown(known, labels, caller):
    """Raise a ValueError that names what has no vector."""
    unknown = [str(labels[i]) for i in np.flatnonzero(~np.asarray(known))]
    if unknown:
        raise ValueError(
            f"{caller}: no vector is known for {len(unknown)} of {len(labels)}: "
            f"{', '.join(unknown[:10])}. What is unknown is like nothing: leave it out."
        )


def check_embedded(embedded, caller):
    if isinstance(embedded, EmbeddedSequences):
        return
    hint = ""
    if isinstance(embedded, np.ndarray):
        hint = f" Compare the rows of an array with {caller}.from_vectors."
    raise TypeError(
        f"{caller} chooses tokens from EmbeddedSequences, got "
        f"{type(embedded).__name__}.{hint}"
    )


def _one_block(embedded, name, caller):
    if name is not None:
        return embedded.block(name)
    if len(embedded.blocks) != 1:
        raise ValueError(
            f"{caller}: there are {len(embedded.blocks)} blocks, "
            f"{list(embedded.names)}. Name the one to show: block=."
        )
    return embedded.blocks[0]


def _sequences(n_sequences, chosen, caller):
    if chosen is None:
        return np.arange(n_sequences)
    rows = [_within(entry, n_sequences, "sequence", caller) for entry in chosen]
    return np.array(rows, dtype=np.int64)


def _places(tokens, chosen, any_will_do, caller):
    """Return where the chosen tokens stand in ``tokens.codes``."""
    if chosen is None:
        return np.arange(tokens.n_tokens)
    places = [_place(tokens, entry, any_will_do, caller) for entry in chosen]
    return np.array(places, dtype=np.int64)


def _place(tokens, entry, any_will_do, caller):
    if isinstance(entry, str):
        return _occurrence(tokens, entry, None, any_will_do, caller)
    try:
        sequence, token = entry
    except (TypeError, ValueError):
        raise TypeError(
            f"{caller}: a token is chosen by (sequence, position), (sequence, word) or "
            f"a word, got {entry!r}."
        ) from None
    sequence = _within(sequence, len(tokens), "sequence", caller)
    if isinstance(token, str):
        return _occurrence(tokens, token, sequence, any_will_do, caller)
    start, end = tokens.offsets[sequence : sequence + 2]
    part = f"position of sequence {sequence}"
    return int(start) + _within(token, int(end - start), part, caller)


def _within(number, n, what, caller):
    if not is_integer(number):
        raise TypeError(
            f"{caller}: a {what} is given by its number, got {number!r} of type "
            f"{type(number).__name__}."
        )
    if not 0 <= number < n:
        raise ValueError(
            f"{caller}: there is no {what} {number}; there are {n}, counted from 0."
        )
    return int(number)


def _occurrence(tokens, word, sequence, any_will_do, caller):
    """Return where a word stands; it must be clear which of its occurrences."""
    start, end, where = 0, tokens.n_tokens, "the sequences"
    if sequence is not None:
        start, end = tokens.offsets[sequence : sequence + 2]
        where = f"sequence {sequence}"
    code = np.flatnonzero(tokens.types == word)
    found = int(start) + np.flatnonzero(np.isin(tokens.codes[start:end], code))
    if not len(found):
        raise ValueError(f"{caller}: {word!r} does not stand in {where}.")
    if len(found) > 1 and not any_will_do:
        pairs = [_pair(tokens, place) for place in found[:5]]
        raise ValueError(
            f"{caller}: {word!r} stands in {where} {len(found)} times, at (sequence, "
            f"position) {', '.join(map(str, pairs))}{', ...'[: 5 * (len(found) > 5)]}, "
            "each time with another vector. Choose one of these."
        )
    return int(found[0])


def _pair(tokens, place):
    sequence = int(np.searchsorted(tokens.offsets, place, side="right")) - 1
    return sequence, int(place - tokens.offsets[sequence])


def _labels(tokens, places):
    """Return the words, and their places too where a word is there twice."""
    return unique_labels(tokens, places, tokens.types[tokens.codes[places]].tolist())


def unique_labels(tokens, places, names):
    """Return names of occurrences, with the place where a name is there twice."""
    counts = Counter(names)
    return [
        f"{name} {_pair(tokens, place)}" if counts[name] > 1 else name
        for name, place in zip(names, places, strict=True)
    ]
