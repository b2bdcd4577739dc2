"""`export_vectors`: write the vectors of any embedding in formats of other programs."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from sklearn.utils import Bunch

from .._core._errors import prefix_errors
from .._core._frames import plain_str
from .._core._typing import StrPath, WordEmbedding
from .._io._atomic import atomic_path
from .._pipelines import lookup_vectors
from ._convert import store_arrays
from ._store import holds_only_a_store, pack

Format: TypeAlias = Literal["word2vec-text", "word2vec-binary", "glove", "store"]

_SUFFIXES = {
    ".vec": "word2vec-text",
    ".w2v": "word2vec-text",
    ".bin": "word2vec-binary",
    ".glove": "glove",
    ".store": "store",
}
_FILES = ("word2vec-text", "word2vec-binary", "glove")  # "glove" has no header
_FORBIDDEN, _FORBIDDEN_IN_BINARY = re.compile("[\t-\r \0]"), re.compile("[ \n]")
_BATCH = 1 << 16  # words per batch
_UNKNOWN = ("warn", "skip", "raise", "keep")


@prefix_errors
def export_vectors(
    embedding: WordEmbedding,
    words: Iterable[str],
    path: StrPath,
    *,
    format: Format | None = None,
    unknown: Literal["warn", "skip", "raise", "keep"] = "warn",
    overwrite: bool = False,
) -> Bunch:
    """Write the vectors that an embedding gives to words, for other programs.

    Use it for a fitted meta-embedding that other programs need: gensim, spaCy, fastText
    and all programs that read GloVe files support one of these formats, and
    `WordVectors.open` reads all of them. The vectors are computed in batches, and the
    file appears under its name when it is complete; a failed export leaves nothing.

    Parameters
    ----------
    embedding : fitted estimator, WordVectors, KeyedVectors or dict
        An estimator, for example a Pipeline without its predictor (``pipeline[:-1]``),
        with one output block or an array; each word is a sequence of its own.
    words : sequence of str
        Words to write, in this order: for example the `words` of a `WordVectors`, or
        the `types` of a `TokenSequences`. Repetitions are skipped.
    path : str or path-like
        The file, or for "store" the directory, to create.
    format : {"word2vec-text", "word2vec-binary", "glove", "store"}, default=None
        See Notes. None infers it from the suffix: ``.vec`` or ``.w2v``, ``.bin``,
        ``.glove`` and ``.store``.
    unknown : {"warn", "skip", "raise", "keep"}, default="warn"
        How to treat words that the embedding does not know: "warn" drops them with a
        warning, "skip" drops them and only reports them, "raise" is an error, and
        "keep" writes the vectors that the embedding gives them, often zeros.
    overwrite : bool, default=False
        Whether to replace an existing file or store.

    Returns
    -------
    Bunch
        With the attributes `path` and `format` of the file, `n_words` (written), `dim`,
        and `unknown`, a tuple of the words that the embedding does not know.

    Raises
    ------
    FileExistsError
        If `path` exists and `overwrite` is False.
    TypeError
        If `embedding` has no word vectors, or a word is not a str.
    ValueError
        If the format is unknown or cannot represent a word, all words are unknown, a
        vector is not finite, or a word is unknown and ``unknown="raise"``.

    Warns
    -----
    UserWarning
        If words were dropped and ``unknown="warn"``.

    See Also
    --------
    WordVectors : Reads all formats.

    Notes
    -----
    ================= ============ ==================================================
    format            words        read by
    ================= ============ ==================================================
    "word2vec-text"   no spaces    gensim, fastText, spaCy; the first line is a header
    "word2vec-binary" no spaces    gensim's ``load_word2vec_format(binary=True)``
    "glove"           no spaces    programs for GloVe; "word2vec-text" without header
    "store"           any          `WordVectors.open`, which maps it into memory
    ================= ============ ==================================================

    All formats represent the float32 values exactly; text has the fewest digits that a
    reader turns into the same float32. "No spaces" means no ASCII whitespace; in binary
    files, no space and no newline. The matrix is built in memory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sk_metaembed import WordVectors, export_vectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "drinks.vec")
    >>> drinks = {"tea": [0.1, 2.0], "coffee": [-1.5, 0.25]}
    >>> report = export_vectors(drinks, ["tea", "coffee", "rain"], path, unknown="skip")
    >>> report.n_words, report.unknown
    (2, ('rain',))
    >>> print(path.read_text())
    2 2
    tea 0.1 2.0
    coffee -1.5 0.25
    >>> WordVectors.open(path, cache_dir=folder.name)["tea"]
    array([0.1, 2. ], dtype=float32)
    >>> folder.cleanup()
    """
    target = Path(path).expanduser().absolute()
    fmt = _resolve_format(target, format)
    if unknown not in _UNKNOWN:
        raise ValueError(f"unknown must be one of {_UNKNOWN}; got {unknown!r}.")
    _check_target(target, fmt, overwrite)
    if not isinstance(words, str | bytes | np.ndarray):
        words = list(words)
    pack(words)  # raises for a single str, and for elements that are not str
    selected = list(dict.fromkeys(map(plain_str, words)))
    if not selected:
        raise ValueError("words is empty; pass at least one word.")
    matrix, known = _compute(embedding, selected)
    missing = tuple(selected[i] for i in np.flatnonzero(~known))
    if unknown != "keep" and missing:
        _report_unknown(missing, len(selected), unknown)
        matrix = matrix[known]
        selected = [selected[i] for i in np.flatnonzero(known)]
    _check_format_words(selected, fmt)
    if fmt == "store":
        store_arrays(selected, matrix, path=target, overwrite=overwrite)
    else:
        _write_file(selected, matrix, target, fmt)
    return Bunch(
        path=os.fspath(target),
        format=fmt,
        n_words=len(selected),
        dim=matrix.shape[1],
        unknown=missing,
    )


def _resolve_format(path, fmt):
    """Return the given format, or the format of the path's suffix."""
    known = (*_FILES, "store")
    if fmt is None:
        fmt = _SUFFIXES.get(path.suffix)
        if fmt is None:
            suffixes = ", ".join(f"{s} ({f})" for s, f in _SUFFIXES.items())
            raise ValueError(
                f"cannot infer the format from the name {path.name!r}; known "
                f"suffixes are {suffixes}. Pass format=, one of {', '.join(known)}; a "
                '.txt file with a header is "word2vec-text", one without "glove".'
            )
    if fmt not in known:
        raise ValueError(
            f"format must be one of {', '.join(known)} or None; got {fmt!r}."
        )
    return fmt


def _check_target(path, fmt, overwrite):
    if not path.exists():
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists already. Pass overwrite=True to replace it, or pass "
            "another path."
        )
    # A directory is replaced as a whole, so it must contain nothing else.
    if not (holds_only_a_store(path) if fmt == "store" else path.is_file()):
        kind = "word-vector store without other files" if fmt == "store" else "file"
        raise FileExistsError(
            f"{path} is not a {kind}, so it is not replaced by one. Pass another path."
        )


def _compute(embedding, words):
    """Return the float32 matrix (n_words, dim) and the known mask, in batches."""
    matrix, known = None, np.zeros(len(words), dtype=bool)
    for start in range(0, len(words), _BATCH):
        batch = words[start : start + _BATCH]
        values, mask = lookup_vectors(embedding, batch)
        if matrix is None:
            matrix = np.empty((len(words), values.shape[1]), np.float32)
        matrix[start : start + len(batch)] = values
        known[start : start + len(batch)] = mask
    if not matrix.shape[1]:
        raise ValueError("the vectors of the embedding have 0 dimensions.")
    return matrix, known


def _report_unknown(missing, n_words, unknown):
    examples = ", ".join(repr(word) for word in missing[:5])
    examples += ", ..." if len(missing) > 5 else ""
    message = (
        f"the embedding does not know {len(missing):,} of {n_words:,} "
        f"words: {examples}."
    )
    keep = 'unknown="keep" writes the vectors that the embedding gives them.'
    if len(missing) == n_words:
        raise ValueError(f"{message} Nothing is left to write; {keep}")
    if unknown == "raise":
        raise ValueError(f'{message} unknown="skip" drops them, {keep}')
    if unknown == "warn":
        warnings.warn(f"{message} They are dropped.", stacklevel=3)


def _check_format_words(words, fmt):
    """Raise ValueError for the first word that the format cannot represent."""
    for row, word in enumerate(words):
        reason = _why_not(word, row, fmt)
        if reason:
            raise ValueError(
                f"the word {word!r} {reason}. Drop or change it; "
                'format="store" supports any valid text.'
            )


def _why_not(word, row, fmt):
    try:
        word.encode()
    except UnicodeEncodeError:
        return "is not valid Unicode (it contains half of a surrogate pair)"
    if fmt == "store":
        return None
    if not word:
        return f"is empty, which format {fmt!r} cannot represent"
    forbidden = _FORBIDDEN_IN_BINARY if fmt == "word2vec-binary" else _FORBIDDEN
    if match := forbidden.search(word):
        return f"contains {match[0]!r}, which format {fmt!r} cannot represent"
    if fmt == "glove" and row == 0 and (word[0] == "\ufeff" or word[:3] == "BZh"):
        return "begins the file like a byte-order mark or bzip2 data"
    return None


def _write_file(words, matrix, path, fmt):
    """Write words and their (n_words, dim) float32 vectors, replacing what exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as part, open(part, "wb") as file:
        if fmt != "glove":
            file.write(b"%d %d\n" % matrix.shape)
        for word, row in zip(words, matrix, strict=True):
            if fmt == "word2vec-binary":
                file.write(f"{word} ".encode() + row.astype("<f4").tobytes())
            else:
                # str of a float32 has the fewest digits that represent it exactly.
                file.write(f"{word} {' '.join(map(str, row))}\n".encode())
