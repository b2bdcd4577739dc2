"""CoNLL files: a token a line with its tags, sentences apart by empty lines."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from .._core._messages import plural
from .._io._compression import MAX_RATIO, is_decompression_bomb
from ..sequences import TokenSequences

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_BLOCK = 1 << 22
_DOCUMENT = "-DOCSTART-"


def load_conll(
    path,
    columns=("tokens", "tags"),
    *,
    separator=None,
    comment=None,
    encoding="utf-8",
):
    r"""Load a CoNLL file: a token and its tags a line, sentences apart by empty lines.

    Nothing is left out silently: a line that does not fit is an error that names it.

    Parameters
    ----------
    path : str or path-like
        The file; ``.gz``, ``.bz2`` and ``.xz`` are unpacked.
    columns : sequence of str, or dict of str to int, default=("tokens", "tags")
        The name of every column, None for one that is not wanted; or names and
        numbers of columns, from 0, negative from the right. One must be "tokens".
        CoNLL-2003 has ``("tokens", "pos", "chunks", "tags")``, or
        ``{"tokens": 0, "tags": -1}``.
    separator : str, default=None
        What stands between columns. None means tabs if the file has any, and else
        spaces, one or several.
    comment : str, default=None
        How lines begin that are passed over, such as "# " in CoNLL-U. None reads
        every line: "#" is a token in many files.
    encoding : str, default="utf-8"
        The file's encoding. A byte order mark is left out.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        tokens : TokenSequences
            The sentences.
        groups : ndarray of int64, shape (n_sentences,)
            The document of each, counted by lines that begin with ``-DOCSTART-``; all
            0 in a file without them. For ``GroupKFold``.

        and one attribute for each further column, by its name:

        tags : ndarray of object, shape (n_sentences,)
            A list of str a sentence, as long as the sentence.

    Raises
    ------
    ValueError
        If `columns` does not fit, a line has more or fewer columns than the others, a
        field is empty, a byte cannot be decoded, a packed file is cut off, or there is
        no sentence at all.

    See Also
    --------
    fetch_wnut17 : Tagged tweets and posts by name.
    sk_metaembed.sequences.convert_tags : Writes the tags in another scheme.
    TokenClassifier : A tagger of any classifier.

    References
    ----------
    E. Tjong Kim Sang, F. De Meulder (2003). Introduction to the CoNLL-2003 shared
    task. CoNLL.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sk_metaembed.datasets import load_conll
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.conll")
    ...     _ = file.write_text("To O\nRome B-place\n\nAda B-person\n")
    ...     bunch = load_conll(file)
    >>> bunch.tokens.to_list()
    [['To', 'Rome'], ['Ada']]
    >>> bunch.tags.tolist()
    [['O', 'B-place'], ['B-person']]
    """
    names, places, width = _read_columns(columns)
    text = _decode(path, encoding)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if separator is None and any("\t" in line.strip(" \t") for line in lines):
        separator = "\t"
    rows, groups = [], []
    document = 0
    sentence = []
    for number, line in enumerate(lines, 1):
        if comment is not None and line.startswith(comment):
            continue
        if line.startswith(_DOCUMENT) or not line.strip():
            _close(sentence, document, rows, groups)
            sentence = []
            # Sentences before the first mark, if any, are a document too.
            document += line.startswith(_DOCUMENT) and bool(rows)
            continue
        fields = _split(line, separator)
        width = width or len(fields)
        if len(fields) != width or not all(fields[p] for p in places if p < width):
            raise ValueError(_complaint(path, number, line, width, names))
        sentence.append(_pick(fields, places, path, number))
    _close(sentence, document, rows, groups)
    if not rows:
        raise ValueError(f"{path} holds no sentence.")
    return _bunch(names, rows, groups)


def _read_columns(columns):
    """Return names, their places, and how many columns there must be (None: any)."""
    if isinstance(columns, Mapping):
        names, places, width = list(columns), list(columns.values()), None
    elif isinstance(columns, str):
        raise ValueError(f"columns must be a list of names or a dict, got {columns!r}.")
    else:
        columns = list(columns)
        wanted = [(name, i) for i, name in enumerate(columns) if name is not None]
        names, places = [n for n, _ in wanted], [i for _, i in wanted]
        width = len(columns)
    if not all(isinstance(p, int) for p in places):
        raise ValueError(f"columns must number the columns by int, got {places}.")
    strange = [n for n in names if not isinstance(n, str) or n == "groups"]
    if strange or "tokens" not in names or len(set(names)) < len(names):
        raise ValueError(
            f'columns must name each column once, one of them "tokens" and none '
            f'"groups", got {names}.'
        )
    return names, places, width


def _decode(path, encoding):
    opener = _OPENERS.get(Path(path).suffix, _as_it_is)
    try:
        with open(path, "rb") as raw, opener(raw, "rb") as file:
            content = _unpacked(file, raw, path)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if getattr(error, "errno", None) is not None:  # not of what is in the file
            raise
        raise ValueError(f"{path} is damaged or cut off ({error}).") from error
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {content[error.start]:#04x} is no {encoding} "
            f"({error.reason}). Pass the file's own encoding=, for example 'latin-1'."
        ) from None


def _as_it_is(raw, mode):
    return raw


def _unpacked(file, raw, path):
    blocks, size = [], 0
    while block := file.read(_BLOCK):
        blocks.append(block)
        size += len(block)
        if is_decompression_bomb(size, raw.tell()):
            raise ValueError(
                f"{path} unpacks to more than {MAX_RATIO} times its size, which text "
                "does not. Unpack it yourself if you trust it."
            )
    return b"".join(blocks)


def _split(line, separator):
    if separator is None:
        # Not at no-break spaces and their like, which stand within tokens.
        return [field for field in line.strip("\t").split(" ") if field]
    return [field.strip(" ") for field in line.split(separator)]


def _complaint(path, number, line, width, names):
    fields = "a column" if width == 1 else f"{width} columns"
    return (
        f"{path}, line {number}: expected {fields}, none of them empty, got "
        f"{line[:60]!r}. `columns` asks for {names}; name every column of the file, "
        'None for one that is not wanted, or number those that are: {"tokens": 0, '
        '"tags": -1}.'
    )


def _pick(fields, places, path, number):
    try:
        return [fields[place] for place in places]
    except IndexError:
        raise ValueError(
            f"{path}, line {number}: has {plural(len(fields), 'column')}, but "
            f"`columns` asks for the numbers {places}, counted from 0."
        ) from None


def _close(sentence, document, rows, groups):
    if sentence:
        rows.append(sentence)
        groups.append(document)


def _bunch(names, rows, groups):
    bunch = Bunch()
    for place, name in enumerate(names):
        column = np.empty(len(rows), dtype=object)
        for i, sentence in enumerate(rows):
            column[i] = [fields[place] for fields in sentence]
        bunch[name] = TokenSequences.from_lists(column) if name == "tokens" else column
    bunch["groups"] = np.array(groups, dtype=np.int64)
    return bunch
