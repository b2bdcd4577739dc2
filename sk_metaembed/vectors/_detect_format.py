"""Telling a file's format from its content; its name is never asked.

Reading a source file: decompression, progress, and honest ends of file.
"""

import lzma
import os
import re
import struct
import zlib
from collections import Counter
from typing import NamedTuple

from .._io._compression import detect_compression
from ._store_files import is_store

MOST_GROWTH = 100  # numbers and tagged text shrink to a third or a tenth
_HARMLESS = 1 << 28


def is_bomb(unpacked, packed):
    """Tell whether so many bytes came of so few that no honest file would do it.

    >>> is_bomb(10**9, 10**8), is_bomb(10**9, 10**6), is_bomb(10**6, 10**3)
    (False, True, False)
    """
    return unpacked > _HARMLESS and unpacked > MOST_GROWTH * packed


class SourceStream:
    """A binary source file, decompressed, with a progress bar over its bytes.

    Attributes
    ----------
    size : int or None
        Length of the content; None where it is compressed.
    position : int
        Bytes of content read so far.
    """

    def __init__(self, path, verbose=0):
        self.path = os.fspath(path)
        self.position = 0
        self._ahead = b""
        self.compression, opener = detect_compression(path)
        length = os.path.getsize(path)
        self.size = None if opener else length
        self._raw = open(path, "rb")  # noqa: SIM115 (closed in __exit__)
        self._file = opener(self._raw, "rb") if opener else self._raw
        self._bar = _progress_bar(self.path, length) if verbose else None

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        if self._bar is not None:
            self._bar.update(self._raw.tell() - self._bar.n)
            self._bar.close()
        self._file.close()
        self._raw.close()

    def read(self, size):
        """Return ``size`` bytes, fewer only at the end of the content."""
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        try:
            data = ahead + self._file.read(size - len(ahead))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if self.compression is None:
                raise
            raise ValueError(
                f"{self.path}: the {self.compression} data breaks off or is damaged "
                f"after {self.position:,} decompressed bytes ({error}). Fetch or "
                f"copy the file again."
            ) from error
        self.position += len(data)
        if self.compression is not None:
            self._check_growth()
        if self._bar is not None:
            self._bar.update(self._raw.tell() - self._bar.n)
        return data

    def _check_growth(self):
        if is_bomb(self.position, self._raw.tell()):
            raise ValueError(
                f"{self.path}: the {self.compression} data unpack to more than "
                f"{MOST_GROWTH} times their size, which vectors do not. Unpack the "
                "file yourself if you trust it."
            )

    def push_back(self, data):
        """Give back bytes that were read too far, to be read again."""
        self._ahead = data + self._ahead
        self.position -= len(data)

    def exactly(self, size, what):
        """Return ``size`` bytes or raise, naming what was being read and where."""
        left = size if self.size is None else self.size - self.position
        data = self.read(size) if size <= left else b""
        if len(data) < size:
            raise ValueError(
                f"{self.path}: the file ends too early: at byte {self.position:,} "
                f"{size:,} bytes were needed for {what}. It looks cut short; fetch "
                f"or copy it again."
            )
        return data


def _progress_bar(path, total):
    from tqdm import tqdm

    name = os.path.basename(path)
    return tqdm(total=total, unit="B", unit_scale=True, desc=f"Converting {name}")


FASTTEXT_MAGIC = 793712314
MAX_DIM = 1 << 20
MAX_WORD = 1 << 20  # bytes
MAX_NGRAM = 999  # characters
_SAMPLE = 1 << 20
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_READ_ARE = (
    "Read are: word2vec text and binary, GloVe text, fastText .vec and .bin (each also "
    "gzip, bzip2 or xz compressed), gensim files saved with .save (trusted=True), and "
    "store directories"
)
_HINTS = {
    b"version https://git-lfs": "It is a Git LFS pointer: run git lfs pull",
    b"<": "It looks like a web page: the download failed, or led to one",
    b"PK\x03\x04": "It is a zip archive: unpack it and give one of its files",
    b"\x93NUMPY": "It is a numpy array: load it, and pass words and array to "
    "WordVectors.from_arrays",
    b"\x89HDF": "It is an HDF5 file",
    b"PAR1": "It is a Parquet file: read it, and pass words and array to "
    "WordVectors.from_arrays",
}


class Format(NamedTuple):
    """What a source is: its kind, and what its first lines promise.

    ``kind`` is "store", "gensim", "fasttext", "binary" or "text"; ``start`` is
    where the first row begins, ``header_lines`` how many lines come before it,
    ``promised`` the number of rows the header announces, if there is one.
    """

    kind: str
    dim: int | None = None
    promised: int | None = None
    start: int = 0
    header_lines: int = 0


def detect(path):
    """Return the `Format` of a source.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is nothing this library reads; the message lists what it reads.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"There is no word-vector file or store at {path} (looked from "
            f"{os.getcwd()!r})."
        )
    if os.path.isdir(path):
        if is_store(path):
            return Format("store")
        raise ValueError(
            f"{path} is a directory but not a word-vector store (it has no meta.json). "
            f"{_READ_ARE}."
        )
    with SourceStream(path) as stream:
        sample = stream.read(_SAMPLE)
        whole = len(sample) < _SAMPLE
    return _of_sample(path, sample, whole)


def _of_sample(path, sample, whole):
    if not sample.strip():
        raise ValueError(f"{path}: the file is empty, there are no words in it.")
    if sample[0] == 0x80 and sample[1:2] <= b"\x05":
        return Format("gensim")
    if _is_fasttext(sample):
        return Format("fasttext")
    skip = len(_BOM) if sample.startswith(_BOM) else 0
    first, newline, rest = sample[skip:].partition(b"\n")
    header = _HEADER.fullmatch(first)
    if header:
        start = skip + len(first) + len(newline)
        return _with_header(path, header, rest, start)
    dim = _headerless_dim(sample[skip:], whole)
    if dim is None:
        raise ValueError(_unknown(path, sample))
    _check_dim(path, dim)
    return Format("text", dim, None, skip)


def _is_fasttext(sample):
    """Say whether it starts like a fastText model, also of the time before 2017."""
    if len(sample) < 56:
        return False
    magic, *fields = struct.unpack("<13i", sample[:52])
    if magic == FASTTEXT_MAGIC:
        return True
    loss, model = fields[5], fields[6]
    small = all(0 <= field < 1 << 16 for field in (magic, *fields[:5]))
    return small and magic > 0 and 1 <= loss <= 4 and 1 <= model <= 3


def _with_header(path, header, rest, start):
    promised, dim = int(header[1]), int(header[2])
    if promised == 0:
        raise ValueError(f"{path}: the header announces 0 words; there are none.")
    _check_dim(path, dim)
    row = rest.partition(b"\n")[0]
    text = _trailing_numbers(row) >= dim or not _CONTROL.search(rest[: 4 * dim + 512])
    if text and _trailing_numbers(row) < dim and not _is_utf8(row):
        text = False
    return Format("text" if text else "binary", dim, promised, start, 1)


def _check_dim(path, dim):
    if not 1 <= dim <= MAX_DIM:
        raise ValueError(
            f"{path}: its vectors would have {dim} dimensions; 1 to {MAX_DIM:,} are "
            f"allowed. The first line is damaged or this is no word-vector file."
        )


def _is_utf8(row):
    try:
        row.decode()
    except UnicodeDecodeError:
        return False
    return True


def _headerless_dim(sample, whole):
    """Return the commonest number of trailing numbers in the first lines."""
    if b"\0" in sample:
        return None
    lines = sample.split(b"\n")
    lines = lines[:50] if whole or len(lines) > 50 else lines[:-1]
    counts = Counter(
        min(_trailing_numbers(line), len(line.split()) - 1)
        for line in lines
        if line.strip()
    )
    if not counts:
        return None
    dim = max(counts, key=lambda count: (counts[count], -count))
    return dim if dim >= 1 else None


def _trailing_numbers(line):
    count = 0
    for field in reversed(line.split()):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count


def _unknown(path, sample):
    hint = next((h for m, h in _HINTS.items() if sample.startswith(m)), None)
    return (
        f"{path}: not a word-vector file known here; it begins with {sample[:24]!r}. "
        f"{hint + '. ' if hint else ''}{_READ_ARE}."
    )


def check_promise(path, fmt, limit, size, row_bytes):
    """Refuse a header that announces more rows than the file can hold."""
    if size is None or fmt.promised is None:
        return
    rows = fmt.promised if limit is None else min(limit, fmt.promised)
    needed = rows * row_bytes
    if needed > size - fmt.start:
        raise ValueError(
            f"{path}: the header announces {fmt.promised:,} rows of {fmt.dim} "
            f"numbers; {rows:,} of them need at least {needed:,} bytes, but only "
            f"{size - fmt.start:,} follow. The file is cut short or the header "
            f"wrong; limit= reads the first rows only."
        )


def check_complete(path, fmt, limit, found, repairs):
    """Compare the rows found with the header's promise.

    Fewer rows are an error, as the file is likely cut short; more are read all
    the same and counted in the repairs.
    """
    if fmt.promised is None:
        return
    expected = fmt.promised if limit is None else min(limit, fmt.promised)
    if found < expected:
        raise ValueError(
            f"{path}: the header announces {fmt.promised:,} rows, but the file ends "
            f"after {found:,}. It looks cut short; fetch it again, or pass "
            f"limit={found} to use the rows that are there."
        )
    if found > fmt.promised:
        repairs["rows_beyond_header"] += found - fmt.promised
