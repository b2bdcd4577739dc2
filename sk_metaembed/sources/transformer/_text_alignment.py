"""From texts as they were written to the pieces of a model's tokenizer, and back."""

from typing import NamedTuple

import numpy as np

from .._original_text import overlapping


class TextPieces(NamedTuple):
    """The pieces of a text, without the special tokens around it.

    As `Pieces`, but a piece may belong to several words, or to none.
    """

    ids: np.ndarray
    types: np.ndarray
    right: tuple
    n_prefix: int  # pieces of the prefix, before all others
    at: np.ndarray  # pieces of words, word by word
    words: np.ndarray  # the word of each of these


def encode_texts(aligner, sentences):
    """Return the pieces of texts.

    A text goes to the tokenizer unchanged, behind the prefix. Two texts with a
    separator between them go one by one, without the space around it.

    Parameters
    ----------
    aligner : Aligner
    sentences : list of OriginalText

    Returns
    -------
    list of TextPieces

    Raises
    ------
    ValueError
        If a text has more than one separator.
    """
    parts = [_parts(sentence, aligner) for sentence in sentences]
    texts = [text for row in parts for text, _ in row]
    encoded = iter(zip(*aligner.split_texts(texts), strict=True))
    found = []
    for sentence, row in zip(sentences, parts, strict=True):
        pieces = []
        for text, shift in row:
            ids, offsets = next(encoded)
            offsets = _with_next(text, offsets) + shift
            pieces.append((np.array(ids, dtype=np.int64), offsets))
        one = _one_text if len(row) == 1 else _two_texts
        found.append(one(sentence, pieces, aligner))
    return found


def _parts(sentence, aligner):
    """Return the strings to encode, and how far each begins from the text."""
    text, prefix = encodable(sentence.text), aligner.prefix
    if len(sentence.separators) > 1:
        raise ValueError(
            f"TransformerEmbedding: a text has {len(sentence.separators)} tokens that "
            f"equal separator={aligner.separator!r}. A pair has one; a text without "
            "any is one text."
        )
    if not sentence.separators:
        return [(prefix + text, -len(prefix))]
    ((start, stop),) = sentence.separators
    second = text[stop:].lstrip()
    return [
        (prefix + text[:start].rstrip(), -len(prefix)),
        (second, len(text) - len(second)),
    ]


def _with_next(text, offsets):
    """Return offsets where a piece that is a space reaches to the word behind it.

    Some tokenizers trim spaces from offsets: nothing is left of such a piece then.
    """
    starts, stops = offsets.T
    stops = np.maximum(stops, starts + 1)
    spans = zip(starts.tolist(), stops.tolist(), strict=True)
    spaces = np.array([text[slice(*span)].isspace() for span in spans], dtype=bool)
    return np.column_stack([starts, stops + spaces])


def _one_text(sentence, pieces, aligner):
    ((ids, offsets),) = pieces
    at, words = overlapping(sentence.spans, offsets)
    types = np.full(len(ids), aligner.frame.types[0])
    n_prefix = _n_prefix(offsets, ids, aligner)
    return TextPieces(ids, types, aligner.frame.right, n_prefix, at, words)


def _two_texts(sentence, pieces, aligner):
    (first, before), (second, behind) = pieces
    frame = aligner.frame
    middle = np.array(frame.middle, dtype=np.int64).reshape(-1, 2)
    between = np.tile(sentence.separators[0], (len(middle), 1))
    at, words = overlapping(
        sentence.spans, np.concatenate([before, between.reshape(-1, 2), behind])
    )
    second_type = frame.types[1] if frame.middle else frame.types[0]
    types = [np.full(len(first), frame.types[0]), middle[:, 1]]
    return TextPieces(
        np.concatenate([first, middle[:, 0], second]),
        np.concatenate([*types, np.full(len(second), second_type)]),
        frame.right_of_pair,
        _n_prefix(before, first, aligner),
        at,
        words,
    )


def _n_prefix(offsets, ids, aligner):
    """Return how many pieces are of the prefix alone."""
    if not aligner.prefix:
        return 0
    if not aligner.has_offsets:
        prefix = aligner.split_texts([aligner.prefix])[0][0]
        return len(prefix) if list(ids[: len(prefix)]) == list(prefix) else 0
    behind = offsets[:, 1] > 0
    return int(behind.argmax()) if behind.any() else len(offsets)


def encodable(text):
    """Return a text without lone surrogates, which tokenizers refuse; as long as it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
