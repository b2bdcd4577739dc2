"""Which occurrences of a word a picture shows, and what they are called."""

import numpy as np

from ._chosen import check_number, refuse_unknown, told_apart

_LONGEST = 15  # characters of a neighbour in a label


def occurrences(tokens, words, whose):
    """Return where a word, some words, or those that a function takes, stand.

    Parameters
    ----------
    tokens : TokenSequences
    words : str, collection of str, or callable
        A callable is given each distinct word once.
    whose : str
        Begins the error messages.

    Returns
    -------
    ndarray of int64, shape (n,)
        Rows of ``tokens.codes``, in the order of the text.
    """
    occurring = tokens.types[np.unique(tokens.codes)].tolist()
    if callable(words):
        chosen = {word for word in occurring if words(word)}
        if not chosen:
            name = getattr(words, "__name__", repr(words))
            raise ValueError(
                f"{whose}: {name} takes none of the {len(occurring)} distinct words of "
                f"the {len(tokens)} sequences."
            )
    else:
        chosen = _check_words(words, occurring, len(tokens), whose)
    code = np.flatnonzero([word in chosen for word in tokens.types])
    return np.flatnonzero(np.isin(tokens.codes, code))


def _check_words(words, occurring, n_sequences, whose):
    words = [words] if isinstance(words, str) else list(words)
    strange = [word for word in words if not isinstance(word, str)]
    if strange or not words:
        came = f"{strange[0]!r} among them" if strange else "none"
        raise TypeError(
            f"{whose}: words must be a str, several of them, or a function that takes "
            f"a str and tells whether it is meant; got {came}."
        )
    missing = [word for word in dict.fromkeys(words) if word not in set(occurring)]
    if missing:
        folded = {word.casefold() for word in missing}
        alike = [word for word in occurring if word.casefold() in folded]
        hint = f" There is {', '.join(map(repr, alike))}." if alike else ""
        raise ValueError(
            f"{whose}: {', '.join(map(repr, missing))} does not occur in the "
            f"{n_sequences} sequences.{hint} Words are compared letter by letter; a "
            "function can choose among those that are there."
        )
    return set(words)


def in_context(tokens, places):
    """Return each occurrence with the words beside it, and its place if that is twice.

    Parameters
    ----------
    tokens : TokenSequences
    places : ndarray of int, shape (n,)

    Returns
    -------
    list of str, length n
    """
    ends = tokens.offsets[np.searchsorted(tokens.offsets, places, side="right")]
    starts = tokens.offsets[np.searchsorted(tokens.offsets, places, side="right") - 1]
    labels = []
    for place, start, end in zip(places, starts, ends, strict=True):
        around = np.arange(max(place - 1, start), min(place + 2, end))
        words = tokens.types[tokens.codes[around]]
        short = [
            word if at == place or len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"
            for word, at in zip(words, around, strict=True)
        ]
        labels.append(" ".join(short))
    return told_apart(tokens, places, labels)


def occurrence_vectors(embedded, names, places, labels, whose):
    """Return the vectors that each block gives to occurrences.

    Parameters
    ----------
    embedded : EmbeddedSequences
    names : sequence of str or None
        Of the blocks. None takes all.
    places : ndarray of int, shape (n,)
        Rows of ``embedded.tokens.codes``.
    labels : list of str, length n
        What the occurrences are called in error messages.
    whose : str
        Begins the error messages.

    Returns
    -------
    dict of ndarray of shape (n, dim)
        By the block's name.
    """
    check_number(len(places), whose)
    if isinstance(names, str):
        names = [names]
    vectors = {}
    for name in embedded.names if names is None else names:
        block, rows = embedded.block(name), places
        if block.level == "type":
            rows = embedded.tokens.codes[places]
        elif block.level == "sequence":
            rows = embedded.tokens.segment_ids()[places]
        refuse_unknown(block.known[rows], labels, f"{whose}, block {name!r}")
        vectors[name] = block.take(rows).values
    return vectors
