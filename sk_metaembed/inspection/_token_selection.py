"""Select tokens of embedded sequences for a display: their vectors and labels."""

from collections import Counter

import numpy as np

from .._core._checked_parameters import is_integer
from .._pipelines import find_embedded
from ..sequences import EmbeddedSequences

_MAX_VECTORS = 1000


def select_vectors(embedded, block, tokens):
    """Return vectors (n, dim) of tokens or sequences, n labels, and the block's name.

    `tokens` is as for `SimilarityDisplay.from_embedded`.
    """
    _check_embedded(embedded)
    block = _select_block(embedded, block)
    if block.level == "sequence":
        rows = _sequence_rows(len(embedded), tokens)
        labels = [str(row) for row in rows]
    else:
        is_type = block.level == "type"
        rows = _token_rows(embedded.tokens, tokens, is_type)
        codes = embedded.tokens.codes[rows]
        words = embedded.tokens.types[codes].tolist()
        labels = _unique_labels(embedded.tokens, rows, words)
        rows = codes if is_type else rows
    check_count(len(rows))
    refuse_unknown(block.known[rows], labels)
    return block.take(rows).values, labels, block.name


def embed_until_last(estimator, X, hint=""):
    """Return the last EmbeddedSequences that an estimator computes from X."""
    outputs = find_embedded(estimator, X)
    if not outputs:
        raise TypeError(
            f"from_estimator requires a fitted estimator that returns "
            "EmbeddedSequences, or a Pipeline or search with such a step; got "
            f"{type(estimator).__name__}.{hint}"
        )
    return outputs[-1]


def check_count(n):
    """Raise a ValueError unless there are between 1 and 1000 vectors."""
    if not 1 <= n <= _MAX_VECTORS:
        raise ValueError(f"compares between 1 and {_MAX_VECTORS} vectors; got {n}.")


def check_vectors(vectors, labels):
    """Return nonzero vectors as float64 (n, dim) and labels as n str, or raise."""
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub":
        raise ValueError(
            f"vectors must be numbers of shape (n, dim); got shape "
            f"{vectors.shape} and dtype {vectors.dtype}."
        )
    vectors = vectors.astype(np.float64)
    check_count(len(vectors))
    if labels is None:
        labels = range(len(vectors))
    labels = [str(label) for label in labels]
    if len(labels) != len(vectors):
        raise ValueError(
            f"got {len(labels)} labels for {len(vectors)} vectors. Pass one "
            "label per vector."
        )
    is_infinite = ~np.isfinite(vectors).all(axis=1)
    if is_infinite.any():
        raise ValueError(
            f"the vector of {labels[int(is_infinite.argmax())]!r} contains "
            "NaN or infinity."
        )
    is_zero = ~vectors.any(axis=1)
    if is_zero.any():
        raise ValueError(
            f"the vector of {labels[int(is_zero.argmax())]!r} is zero, so "
            "that its cosines are undefined. Leave it out."
        )
    return vectors, labels


def refuse_unknown(known, labels):
    """Raise a ValueError that names the labels without a vector."""
    unknown = [str(labels[i]) for i in np.flatnonzero(~np.asarray(known))]
    if unknown:
        raise ValueError(
            f"no vector for {len(unknown)} of {len(labels)}: "
            f"{', '.join(unknown[:10])}. Leave out unknown ones."
        )


def _check_embedded(embedded):
    """Raise a TypeError unless the input of `from_embedded` is EmbeddedSequences."""
    if isinstance(embedded, EmbeddedSequences):
        return
    hint = ""
    if isinstance(embedded, np.ndarray):
        hint = " Pass an array to from_vectors."
    raise TypeError(
        f"from_embedded requires EmbeddedSequences; got "
        f"{type(embedded).__name__}.{hint}"
    )


def _select_block(embedded, name):
    if name is not None:
        return embedded.block(name)
    if len(embedded.blocks) != 1:
        raise ValueError(
            f"there are {len(embedded.blocks)} blocks, "
            f"{list(embedded.names)}. Select one with block=."
        )
    return embedded.blocks[0]


def _sequence_rows(n_sequences, entries):
    if entries is None:
        return np.arange(n_sequences)
    rows = [_check_index(entry, n_sequences, "sequence") for entry in entries]
    return np.array(rows, dtype=np.int64)


def _token_rows(tokens, entries, any_occurrence):
    """Return the rows of ``tokens.codes`` (n,) of the selected tokens."""
    if entries is None:
        return np.arange(tokens.n_tokens)
    rows = [_token_row(tokens, entry, any_occurrence) for entry in entries]
    return np.array(rows, dtype=np.int64)


def _token_row(tokens, entry, any_occurrence):
    if isinstance(entry, str):
        return _word_row(tokens, entry, None, any_occurrence)
    try:
        sequence, token = entry
    except (TypeError, ValueError):
        raise TypeError(
            f"tokens must be (sequence, position), (sequence, word) or a "
            f"word; got {entry!r}."
        ) from None
    sequence = _check_index(sequence, len(tokens), "sequence")
    if isinstance(token, str):
        return _word_row(tokens, token, sequence, any_occurrence)
    start, end = tokens.offsets[sequence : sequence + 2]
    name = f"position in sequence {sequence}"
    return int(start) + _check_index(token, int(end - start), name)


def _check_index(number, n, name):
    if not is_integer(number):
        raise TypeError(
            f"{name} must be an integer; got {number!r} of type "
            f"{type(number).__name__}."
        )
    if not 0 <= number < n:
        raise ValueError(f"{name} must be at least 0 and below {n}; got {number}.")
    return int(number)


def _word_row(tokens, word, sequence, any_occurrence):
    """Return the row of a word in ``tokens.codes``, or raise if it is ambiguous."""
    start, end, where = 0, tokens.n_tokens, "the sequences"
    if sequence is not None:
        start, end = tokens.offsets[sequence : sequence + 2]
        where = f"sequence {sequence}"
    code = np.flatnonzero(tokens.types == word)
    rows = int(start) + np.flatnonzero(np.isin(tokens.codes[start:end], code))
    if not len(rows):
        raise ValueError(f"{word!r} does not occur in {where}.")
    if len(rows) > 1 and not any_occurrence:
        positions = ", ".join(str(_position(tokens, row)) for row in rows[:5])
        positions += ", ..." * (len(rows) > 5)
        raise ValueError(
            f"{word!r} occurs in {where} {len(rows)} times, each with its "
            f"own vector. Pass one of its (sequence, position): {positions}."
        )
    return int(rows[0])


def _position(tokens, row):
    sequence = int(np.searchsorted(tokens.offsets, row, side="right")) - 1
    return sequence, int(row - tokens.offsets[sequence])


def _unique_labels(tokens, rows, names):
    """Return names of occurrences, with (sequence, position) if a name is repeated."""
    counts = Counter(names)
    return [
        f"{name} {_position(tokens, row)}" if counts[name] > 1 else name
        for name, row in zip(names, rows, strict=True)
    ]
