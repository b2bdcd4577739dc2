"""export_vectors: the vectors of any embedding, written for other programs to read."""

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..sequences._word_vectors import word_vectors_of
from ._words import pack
from ._write import check_words, format_of, write_vectors

_BATCH = 1 << 16
_UNKNOWN = ("warn", "skip", "raise", "keep")
_WHOSE = "export_vectors"


@dataclass(frozen=True)
class ExportReport:
    """What `export_vectors` wrote, and what it left out.

    Unknown words are what an export loses without a sound: the report says how many
    there were, and which. It is for reading; changing it changes no file.

    Parameters
    ----------
    path : str
        The file, or the directory of a store.
    format : str
        The format it was written in.
    n_words, dim : int
        Number of words in it, and length of a vector.
    n_unknown, n_repeated : int
        Words that the embedding does not know (left out, or kept if that was asked
        for), and words given again after the first time.
    unknown : tuple of str
        The words that are not known.

    See Also
    --------
    export_vectors : Writes the file and returns the report.
    WordVectors.open : Reads the file again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sk_metaembed import export_vectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> export_vectors({"tea": [1.0]}, ["tea"], pathlib.Path(folder.name, "a.bin"))
    ExportReport(path='...a.bin', format='word2vec-binary', n_words=1, dim=1,
        n_unknown=0, n_repeated=0)
    >>> folder.cleanup()
    """

    path: str
    format: str
    n_words: int
    dim: int
    n_unknown: int
    n_repeated: int
    unknown: tuple = field(repr=False)


def export_vectors(
    embedding, words, path, *, format=None, unknown="warn", overwrite=False
):
    """Write the vectors that an embedding gives to words, for other programs.

    For a fitted meta-embedding that is to be used elsewhere: gensim, spaCy, fastText
    and whatever reads GloVe take one of these formats, and `WordVectors.open` reads
    them all. The words are computed in batches, and the file appears under its name
    when it is complete: nothing is left of an export that fails.

    Parameters
    ----------
    embedding : fitted estimator, WordVectors, KeyedVectors or dict
        An estimator, perhaps a Pipeline without its predictor (``pipeline[:-1]``),
        that gives one block or an array; each word is a sequence of its own for it.
    words : sequence of str
        What to write, in this order: for example the `words` of a `WordVectors`, or
        the `types` of a `TokenSequences`. Of a word given again the first is kept.
    path : str or path-like
        The file, or for a store the directory, to make.
    format : str, default=None
        "word2vec-text", "word2vec-binary", "glove", "gensim" or "store"; see Notes.
        None goes by the suffix: ``.vec`` or ``.w2v``, ``.bin``, ``.glove``, ``.kv``
        and ``.store``. With ``.gz`` behind it a text or binary file is compressed.
    unknown : {"warn", "skip", "raise", "keep"}, default="warn"
        What to do about words that the embedding does not know: leave them out and
        warn, or say so in the report only, or raise; or write the vector that the
        embedding gives them all the same, in many cases zeros.
    overwrite : bool, default=False
        Replace what is at `path`.

    Returns
    -------
    ExportReport
        `path`, `format`, `n_words`, `dim`, `n_unknown`, `n_repeated`, and `unknown`,
        the words that are not known. ``WordVectors.open(report.path)`` reads the file
        again, with ``trusted=True`` for gensim's.

    Raises
    ------
    FileExistsError
        If something is at `path` and it is not to be overwritten.
    TypeError
        If the embedding has no vectors of words, or a word is no str.
    ValueError
        If the format is unclear or cannot hold a word, no word is known, a vector is
        not finite, or a word is unknown and ``unknown="raise"``.

    Warns
    -----
    UserWarning
        If words were left out and ``unknown="warn"``.

    See Also
    --------
    WordVectors : Reads every format that is written here.

    Notes
    -----
    ================= ============ ==================================================
    format            words        read by
    ================= ============ ==================================================
    "word2vec-text"   no blanks    a line of sizes first; gensim, fastText, spaCy
    "word2vec-binary" no blanks    gensim's ``load_word2vec_format(binary=True)``
    "glove"           no blanks    as word2vec-text, without the line of sizes
    "gensim"          any          gensim's ``KeyedVectors.load``; a pickle
    "store"           any          `WordVectors.open`, which maps it into memory
    ================= ============ ==================================================

    All hold the float32 numbers exactly: as text, each is written with the fewest
    digits, nine at most, that any reader turns into the same float32 again, be it by
    way of float64 (a decimal right between two float32 is not used, and below 1e-38
    six digits are the fewest). Blanks are what ASCII calls white space; in binary
    files, space and newline alone. The matrix is built in memory.

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
    path = _checked_path(path)
    format = format_of(path, format)
    if unknown not in _UNKNOWN:
        raise ValueError(
            f"{_WHOSE}: unknown must be one of {_UNKNOWN}, got {unknown!r}."
        )
    _check_place(path, format, overwrite)
    given = _checked_words(words)
    words = list(dict.fromkeys(given))
    matrix, known = _vectors(embedding, words)
    left_out = tuple(words[i] for i in np.flatnonzero(~known))
    if unknown != "keep" and left_out:
        _report_unknown(left_out, len(words), unknown)
        matrix = matrix[known]
        words = [word for word, is_known in zip(words, known, strict=True) if is_known]
    check_words(words, format)
    _check_finite(words, matrix)
    write_vectors(words, matrix, path, format)
    return ExportReport(
        path=os.fspath(path),
        format=format,
        n_words=len(words),
        dim=matrix.shape[1],
        n_unknown=len(left_out),
        n_repeated=len(given) - len(known),
        unknown=left_out,
    )


def _checked_path(path):
    if isinstance(path, str | os.PathLike):
        return Path(path).expanduser().absolute()
    raise TypeError(
        f"{_WHOSE}: path must be a str or a path, got {type(path).__name__}: {path!r}."
    )


def _check_place(path, format, overwrite):
    if not path.exists():
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists already. Pass overwrite=True to replace it, or give "
            "another path."
        )
    # A folder is replaced whole: only a store may go that way.
    is_ours = (path / "meta.json").is_file() if format == "store" else path.is_file()
    if not is_ours:
        what = "word-vector store" if format == "store" else "file"
        raise FileExistsError(
            f"{path} is no {what}, so it is not replaced by one. Give another path."
        )


def _checked_words(words):
    if not hasattr(words, "__iter__"):
        raise TypeError(
            f"{_WHOSE}: words must be a sequence of str, got {type(words).__name__}."
        )
    if not isinstance(words, str | bytes | np.ndarray):
        words = list(words)
    pack(words)  # refuses what is no str, and a single one
    words = [str(word) for word in words]
    if not words:
        raise ValueError(f"{_WHOSE}: words is empty; give at least one word.")
    return words


def _vectors(embedding, words):
    """Return the float32 matrix of the words and which are known, in batches."""
    matrix, known = None, np.zeros(len(words), dtype=bool)
    for start in range(0, len(words), _BATCH):
        batch = words[start : start + _BATCH]
        values, found = word_vectors_of(embedding, batch, whose=_WHOSE)
        if matrix is None:
            matrix = np.empty((len(words), values.shape[1]), np.float32)
        matrix[start : start + len(batch)] = values
        known[start : start + len(batch)] = found
    if not matrix.shape[1]:
        raise ValueError(f"{_WHOSE}: the embedding's vectors have no dimensions.")
    return matrix, known


def _report_unknown(left_out, n_words, unknown):
    shown = ", ".join(repr(word) for word in left_out[:5])
    shown += ", ..." if len(left_out) > 5 else ""
    message = (
        f"{_WHOSE}: {len(left_out):,} of {n_words:,} words are not known to the "
        f"embedding: {shown}."
    )
    keep = 'unknown="keep" writes whatever the embedding gives them.'
    if len(left_out) == n_words:
        raise ValueError(f"{message} Nothing is left to write; {keep}")
    if unknown == "raise":
        raise ValueError(f'{message} unknown="skip" leaves them out, {keep}')
    if unknown == "warn":
        warnings.warn(f"{message} They are left out.", UserWarning, stacklevel=3)


def _check_finite(words, matrix):
    # A sum is finite unless some entry is not (or it overflows, then look again).
    if not np.isfinite(matrix.sum(dtype=np.float64)):
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        if len(bad):
            raise ValueError(
                f"{_WHOSE}: the vector of {words[bad[0]]!r} holds NaN or infinity, and "
                f"so do {len(bad) - 1:,} more. Nothing was written."
            )
