"""Checks of the arguments of metrics: rows of words or texts, and scores."""

from collections.abc import Mapping

import numpy as np

from .._core._frames import is_missing, plain_str


def check_word_pairs(pairs):
    """Return distinct words in order, and int64 codes into them, (n_pairs, 2).

    The pairs are a list of tuples, an array or a DataFrame of str. Anything else raises
    an error, and so do empty pairs and rows that do not have two words.
    """
    rows = _as_list(pairs)
    table = {}
    codes = np.empty((len(rows), 2), dtype=np.int64)
    for i, row in enumerate(rows):
        if isinstance(row, str) or np.size(row) != 2:
            raise ValueError(f"pairs, row {i}: expected 2 words; got {row!r:.80}.")
        for j, word in enumerate(row):
            if not isinstance(word, str):
                raise TypeError(
                    f"pairs, row {i}: expected 2 words; got "
                    f"{type(word).__name__} {word!r:.40}."
                )
            codes[i, j] = table.setdefault(plain_str(word), len(table))
    return list(table), codes


def check_text_pairs(pairs):
    """Return the first and the second texts of pairs, as two lists."""
    rows = _as_list(pairs)
    for i, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 2:
            raise ValueError(f"pairs, row {i}: expected two texts; got {row!r:.80}.")
        missing = [text for text in row if is_missing(text)]
        if missing:
            raise TypeError(
                f"pairs, row {i}: a text is missing ({missing[0]!r}). Drop the pair "
                'and its score, or replace the text by "".'
            )
    return [row[0] for row in rows], [row[1] for row in rows]


def check_scores(scores, n_pairs):
    """Return scores as finite float64, (n_pairs,)."""
    try:
        scores = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"scores must be numbers. {error}") from error
    if scores.shape != (n_pairs,):
        raise ValueError(
            f"got {n_pairs} pairs and scores of shape {scores.shape}; "
            f"expected one score per pair, ({n_pairs},)."
        )
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"score {row} is {scores[row]}; drop or correct it.")
    return scores


def _as_list(rows):
    if isinstance(rows, str | Mapping) or not hasattr(rows, "__iter__"):
        raise TypeError(
            "pairs must be rows, such as a list of tuples, an array or a DataFrame; "
            f"got {type(rows).__name__}. For the result of a loader, pass its "
            "attributes data and target."
        )
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
    rows = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    if not rows:
        raise ValueError("pairs got no rows; at least one is required.")
    return rows
