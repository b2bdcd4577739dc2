"""Corpora that are read repeatedly instead of kept in memory: files and streams."""

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain

from .._io._compression import read_lines

# Suffixes of formats whose lines contain more than a text.
_RECORDS = {".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xml", ".html"}
_RECORDS |= {".npy", ".npz"}


def is_stream(X):
    """Return whether X is an iterable to iterate over repeatedly, not a collection."""
    if isinstance(X, Mapping | Set) or not isinstance(X, Iterable):
        return False
    is_collection = hasattr(X, "__len__") or hasattr(X, "__array__")
    return not is_collection and not isinstance(X, Iterator)


def text_files(path):
    """Return a list of the text files in a folder, or of one given file."""
    path = path.expanduser()
    if path.is_dir():
        files = sorted(p for p in path.rglob("*.txt") if p.is_file())
        if not files:
            raise FileNotFoundError(
                f"the folder {path} contains no *.txt files. Pass a folder "
                "of plain text, one sequence per line, or the path of one file."
            )
        return files
    if not path.is_file():
        raise FileNotFoundError(f"no file or folder {str(path)!r}.")
    is_compressed = path.suffix in (".gz", ".bz2", ".xz")
    plain = path.with_suffix("") if is_compressed else path
    if plain.suffix.lower() in _RECORDS:
        raise ValueError(
            f"{path} contains records, not plain text with one sequence per line. Pass "
            "its texts: the column of a DataFrame or, if they do not fit into memory, "
            "an object whose __iter__ reads them again in every pass."
        )
    return [path]


def refuse_text(X):
    """Raise a TypeError for a single text or a file that is named by a str."""
    if isinstance(X, str):
        raise TypeError(
            f"X must not be a single str; got {X[:60]!r}. Pass a text in a "
            "list, [text], and a file or folder as a path, pathlib.Path(...)."
        )


class Lines:
    """Lines of UTF-8 files that are not empty, to iterate over repeatedly."""

    def __init__(self, files):
        self._files = files

    def __iter__(self):
        lines = chain.from_iterable(map(read_lines, self._files))
        return filter(str.strip, lines)
