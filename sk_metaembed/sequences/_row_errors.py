"""Error messages for invalid rows of user input, with the remedy."""

import datetime
import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from enum import Enum

import numpy as np

from .._core._errors import short_repr
from .._core._frames import is_missing, plain_str

TEXT, TOKEN_LIST = "a str", "a list of str"
TEXT_OR_TOKENS = f"{TEXT} or {TOKEN_LIST}"
NUMBERS = numbers.Number | np.bool_ | datetime.date | datetime.timedelta
# How to turn a row into a text or tokens, and a token into a str, by package.
_ROWS_OF = {
    "spacy": "[token.text for token in row]",
    "stanza": "[token.text for token in row.iter_tokens()]",
    "Bio": "list(row), or split str(row.seq) of a SeqRecord into k-mers",
    "rdkit": "Chem.MolToSmiles(row)",
    "music21": "[str(note.pitch) for note in row.flatten().notes if note.isNote]",
}
_TOKENS_OF = {
    "spacy": "[token.text for token in row]",
    "music21": "[str(note.pitch) for note in row if note.isNote]",
    "rdkit": "[atom.GetSymbol() for atom in row]",
}
_TAG_REMEDY = (
    ', such as "O" or "B-person"; convert numbers to the names that they encode.'
)


def is_token_list(row):
    """Return whether a row is a list, tuple, array or Series, whatever it holds."""
    if isinstance(row, str | bytes):
        return False
    return isinstance(row, Sequence | np.ndarray) or hasattr(row, "to_list")


def kind(value):
    """Return "missing" or "of type ..."."""
    return "missing" if is_missing(value) else f"of type {type(value).__name__}"


def row_error(row, where, expected, *, part="row", reader="Tokenizer"):
    """Return the TypeError for a row; `reader` is a step that accepts missing rows."""
    shown = short_repr(row)
    shown = f" ({shown})" if is_missing(row) else f": {shown}"
    return TypeError(
        f"{where} is {kind(row)}{shown}. Every {part} must be {expected}; "
        + _row_remedy(row, expected, reader)
    )


def plain_tokens(row, where, *, part="token"):
    """Return tokens as a list of plain str, or raise for the first that is not one."""
    if set(map(type, row)) <= {str}:
        return list(row)
    for j, token in enumerate(row):
        if not isinstance(token, str):
            remedy = _TAG_REMEDY if part == "tag" else "; " + _token_remedy(token)
            raise TypeError(
                f"{where}, {part} {j} is {kind(token)} ({short_repr(token)}). Every "
                f"{part} must be a str{remedy}"
            )
    return [plain_str(token) for token in row]


def _row_remedy(row, expected, reader):
    if is_missing(row):
        empty = '"" (an empty text)' if expected == TEXT else "[] (no tokens)"
        return (
            f"drop the row, replace it, for example by {empty}, or read it as empty "
            f'with {reader}(missing="empty").'
        )
    if isinstance(row, bytes):
        return "decode bytes first, for example with row.decode('utf-8')."
    if isinstance(row, str) or (is_token_list(row) and expected == TEXT):
        return "rows of str and rows of token lists cannot be mixed."
    if isinstance(row, NUMBERS) and expected == TEXT_OR_TOKENS:
        return (
            "numbers and dates are not texts, so this is probably the wrong column. "
            "Select the column of texts; ids and categories can be converted with "
            "str(value)."
        )
    if isinstance(row, Mapping):
        return (
            "if rows are records, pass their texts: [row[name] for row in X], with the "
            "name of the field."
        )
    if isinstance(row, Set):
        return "sets have no order; pass lists, for example sorted(row)."
    conversion = _ROWS_OF.get(type(row).__module__.partition(".")[0])
    if conversion is None and isinstance(row, Iterable) and expected != TEXT:
        conversion = "list(row), if its items are str"
    if conversion is not None:
        return f"convert it, for example with {conversion}."
    return f"drop the row or convert it to {expected}."


def _token_remedy(token):
    if is_missing(token):
        return "leave missing tokens out."
    if isinstance(token, bytes):
        return "decode bytes first, for example with token.decode('utf-8')."
    if is_token_list(token):
        return (
            "the lists are nested one level too deep. Flatten each row, for example "
            "with [token for part in row for token in part], or pass each inner list "
            "as a row of its own. Keep only the words of (word, tag) pairs: "
            "[word for word, tag in row]."
        )
    if isinstance(token, NUMBERS):
        return (
            "numbers are not tokens. If they are ids, convert them to str, for example "
            "with [str(t) for t in row]; if they are features or vectors, pass the "
            "texts they were computed from."
        )
    if isinstance(token, Enum):
        return "pass names of the members: [t.name for t in row]."
    package = type(token).__module__.partition(".")[0]
    conversion = _TOKENS_OF.get(package, "[str(t) for t in row]")
    return f"convert it, for example with {conversion}."
