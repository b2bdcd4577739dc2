"""Files in CoNLL format: tokens with tags, one per line; WNUT 2017."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from .._core._errors import check_choice, plural, prefix_errors, short_repr
from .._core._typing import StrPath
from .._io._compression import detect_compression
from ..sequences import TokenSequences
from ._files import RemoteFile, data_file

_DOCUMENT = "-DOCSTART-"
_ATTRIBUTES = {"tokens": "data", "tags": "target"}  # of other columns: their name
_RESERVED = ("data", "target", "groups")
_NOT_A_WORD = re.compile(r"\d+[-.]\d+")  # ID of a multiword token or an empty node


def load_conll(
    path: StrPath,
    columns: Mapping[str, int] | None = None,
    *,
    separator: str | None = None,
    comment: str | None = None,
    encoding: str = "utf-8",
    return_X_y: bool = False,
) -> Bunch | Any:
    r"""Load a CoNLL file: a token and its tags per line, blank lines between sentences.

    An invalid line raises an error that names the line.

    Parameters
    ----------
    path : str or path-like
        The file, not compressed.
    columns : dict of str to int, default=None
        Names and indices of the columns to read, negative from the right. One name must
        be "tokens". None means a file of two columns, tokens and tags. For CoNLL-2003
        pass ``{"tokens": 0, "tags": -1}``; for its parts of speech add ``"pos": 1``.
    separator : str, default=None
        Separator of columns. None means tabs if the file contains any, else one or
        more spaces.
    comment : str, default=None
        Prefix of lines to skip, such as "# " in CoNLL-U. None reads every line: "#" is
        a token in many files.
    encoding : str, default="utf-8"
        Encoding of the file. A byte order mark is skipped.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : TokenSequences
            The sentences.
        target : ndarray of object, shape (n_sentences,)
            The column "tags": a list of str per sentence, one tag per token. Missing if
            `columns` does not name it.
        groups : ndarray of int64, shape (n_sentences,)
            Index of the document of each sentence, for ``GroupKFold``. Lines that begin
            with ``-DOCSTART-`` start a document; without them all are 0.

        and one attribute per further column, by its name, such as "pos", with lists as
        in `target`.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ValueError
        If `columns` does not match the file, lines differ in their number of columns, a
        field is empty, a byte cannot be decoded, the file is compressed or contains no
        sentence, or `return_X_y` is True without a column "tags".

    See Also
    --------
    fetch_wnut17 : Fetches tagged tweets and posts.
    sk_metaembed.sequences.convert_tags : Converts the tags to another scheme.
    TokenClassifier : Makes a tagger of any classifier.

    Notes
    -----
    For CoNLL-U, which has ten columns, pass ``{"tokens": 1, "tags": 3}`` and
    ``comment="#"``. Only its words are read: the lines of multiword tokens, such as
    "du" with the ID "1-2", which the words "de" and "le" follow, and of empty nodes,
    such as "8.1", are left out.

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
    >>> bunch.data.to_list()
    [['To', 'Rome'], ['Ada']]
    >>> bunch.target.tolist()
    [['O', 'B-place'], ['B-person']]
    """
    selected = {"tokens": 0, "tags": 1} if columns is None else columns
    names = _check_names(selected)
    if return_X_y and "tags" not in names:
        raise ValueError(f'return_X_y=True needs a column "tags"; got {names}.')
    text = _decode(path, encoding)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if separator is None and any("\t" in line.strip(" \t") for line in lines):
        separator = "\t"
    rows: list[list[list[str]]] = []
    groups: list[int] = []
    places = None
    for document, sentence in _sentences(lines, comment):
        rows.append([])
        groups.append(document)
        for number, line in sentence:
            fields, place = _split(line, separator), f"{path}, line {number}"
            is_conllu = len(fields) == 10 and selected["tokens"] % 10 > 0
            if is_conllu and _NOT_A_WORD.fullmatch(fields[0]):
                continue
            if columns is None and len(fields) != 2:
                raise ValueError(
                    f"{place}: expected 2 columns, a token and its tag; got "
                    f"{short_repr(line)}. For files with other columns pass columns, "
                    'such as {"tokens": 0, "tags": -1} for the first and the last.'
                )
            if places is None:
                width, places = len(fields), _places(selected, len(fields), place)
            if len(fields) != width or not all(fields[i] for i in places):
                raise ValueError(
                    f"{place}: expected {plural(width, 'column')}, as in the lines "
                    f"before, none of them empty; got {short_repr(line)}."
                )
            rows[-1].append([fields[i] for i in places])
    if not rows:
        raise ValueError(f"{path} contains no sentence.")
    bunch = _bunch(names, rows, groups)
    return (bunch.data, bunch.target) if return_X_y else bunch


def _sentences(lines, comment):
    """Yield the document and the numbered lines of each sentence."""
    document, sentence, is_first = 0, [], True
    for number, line in enumerate([*lines, ""], 1):
        if comment is not None and line.startswith(comment):
            continue
        is_mark = line.startswith(_DOCUMENT)
        if line.strip() and not is_mark:
            sentence.append((number, line))
            continue
        if sentence:
            yield document, sentence
            sentence, is_first = [], False
        # Sentences before the first mark are a document too.
        document += is_mark and not is_first


def _check_names(columns):
    """Return the names of columns, or raise a ValueError if they are invalid."""
    if not isinstance(columns, Mapping):
        raise ValueError(
            f"columns must be a dict of names to indices; got {columns!r}."
        )
    invalid = [n for n in columns if not isinstance(n, str) or n in _RESERVED]
    if invalid or "tokens" not in columns:
        raise ValueError(
            f'The names in columns must include "tokens" and none of {_RESERVED}; got '
            f"{[*columns]}."
        )
    if not all(isinstance(place, int) for place in columns.values()):
        raise ValueError(f"The values of columns must be int; got {columns}.")
    return [*columns]


def _places(columns, width, place):
    """Return the indices of columns, from 0, in a file with `width` columns."""
    inside = [index for index in columns.values() if -width <= index < width]
    places = [index % width for index in inside]
    if len({*places}) < len(columns):
        raise ValueError(
            f"{place}: has {plural(width, 'column')}, but columns selects {columns}, "
            "counted from 0, negative from the right, and all different."
        )
    return places


def _decode(path, encoding):
    if compression := detect_compression(path)[0]:
        raise ValueError(f"{path} is compressed ({compression}). Unpack it first.")
    content = Path(path).read_bytes()
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {content[error.start]:#04x} is not {encoding} "
            f"({error.reason}). Pass the encoding of the file, such as 'latin-1'."
        ) from None


def _split(line, separator):
    if separator is None:
        # Split at spaces only; tokens may contain no-break spaces.
        return [field for field in line.strip("\t").split(" ") if field]
    return [field.strip(" ") for field in line.split(separator)]


def _bunch(names, rows, groups):
    bunch = Bunch()
    for place, name in enumerate(names):
        lists = ([fields[place] for fields in sentence] for sentence in rows)
        column = np.fromiter(lists, object)
        is_tokens = name == "tokens"
        values = TokenSequences.from_lists(column) if is_tokens else column
        bunch[_ATTRIBUTES.get(name, name)] = values
    bunch["groups"] = np.array(groups, dtype=np.int64)
    return bunch


_URL = "https://raw.githubusercontent.com/leondz/emerging_entities_17/master"
# Checksums that Hugging Face's datasets publishes for these URLs.
_FILES = {
    "train": RemoteFile(
        "wnut17",
        (f"{_URL}/wnut17train.conll",),
        "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
    ),
    "dev": RemoteFile(
        "wnut17",
        (f"{_URL}/emerging.dev.conll",),
        "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8",
    ),
    "test": RemoteFile(
        "wnut17",
        (f"{_URL}/emerging.test.annotated",),
        "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0",
    ),
}


@prefix_errors
def fetch_wnut17(
    split: Literal["train", "dev", "test"] = "train", *, return_X_y: bool = False
) -> Bunch | Any:
    """Fetch the tweets and posts of WNUT 2017, with tags of new and rare names.

    Entities have six types: corporation, creative-work, group, location, person and
    product. Few entities of the test set occur in the training set, so it measures
    whether a tagger recognizes names, not whether it remembers them.

    Parameters
    ----------
    split : {"train", "dev", "test"}, default="train"
        3394, 1009 and 1287 sentences: tweets of 2010; comments on YouTube; posts on
        Reddit, Twitter, YouTube and Stack Exchange.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : TokenSequences
            The sentences.
        target : ndarray of object, shape (n_sentences,)
            A list of tags per sentence, in IOB2: "B-person", "I-person", "O", ...
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the file is missing and cannot be downloaded; the message says where to
        place it.
    ValueError
        If the split is unknown, or the checksum does not match.

    See Also
    --------
    load_conll : Reads other files in this format.
    sk_metaembed.metrics.span_f1_score : Scores predicted tags.

    Notes
    -----
    The file is read from ``wnut17/`` in the folder in ``SK_METAEMBED_DATA`` if it is
    there. Otherwise it is downloaded once into the cache, below ``SK_METAEMBED_CACHE``
    or ``~/.cache/sk_metaembed``.

    References
    ----------
    L. Derczynski, E. Nichols, M. van Erp, N. Limsopatham (2017). Results of the
    WNUT2017 shared task on novel and emerging entity recognition. W-NUT.

    Examples
    --------
    >>> from sk_metaembed.datasets import fetch_wnut17
    >>> dev = fetch_wnut17("dev")  # doctest: +SKIP
    >>> len(dev.data), dev.target[0][:3]  # doctest: +SKIP
    (1009, ['O', 'O', 'O'])
    """
    check_choice(split, tuple(_FILES), "split")
    result = load_conll(data_file(_FILES[split]), return_X_y=return_X_y)
    if not return_X_y:
        del result["groups"]  # the file does not mark documents
    return result
