"""Read a source file as a stream, and detect its format from the content."""

import glob
import lzma
import os
import re
import struct
import zlib
from collections import Counter
from typing import NamedTuple

from .._core._optional import progress_bar
from .._io._compression import MAX_RATIO, detect_compression, is_decompression_bomb
from ._foreign_formats import hint_of_file, hint_of_folder
from ._read_spacy import FILES as SPACY_FILES
from ._read_spacy import is_pipeline, no_vectors, spacy_folder
from ._store_files import is_store

FASTTEXT_MAGIC = 793712314
MAX_DIM = 1 << 20
MAX_WORD = 1 << 20  # bytes
_SAMPLE = 1 << 20
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_FLORET = re.compile(
    rb"\d{1,9} (\d{1,9}) \d{1,9} \d{1,9} [1-4] \d{1,10} [!-~]+ [!-~]+[ \r]*"
)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_INTEGER = re.compile(rb"[+-]?\d+")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SUPPORTED = (
    "Supported formats: word2vec text and binary, GloVe text, fastText .vec and .bin, "
    "floret (each also compressed by gzip, bzip2 or xz), files of gensim's save, and "
    "directories of stores and of spaCy"
)


class SourceStream:
    """A source file, decompressed, with a progress bar over its bytes.

    Attributes
    ----------
    size : int or None
        Length of the content in bytes; None if it is compressed.
    position : int
        Number of content bytes read so far.
    """

    def __init__(self, path, verbose=0):
        self.path = os.fspath(path)
        self.position = 0
        self._pushed = b""
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
        pushed, self._pushed = self._pushed[:size], self._pushed[size:]
        try:
            data = pushed + self._file.read(size - len(pushed))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if self.compression is None:
                raise
            raise ValueError(
                f"{self.path}: the {self.compression} data is truncated or corrupt "
                f"after {self.position:,} decompressed bytes ({error}). Download or "
                f"copy the file again."
            ) from error
        self.position += len(data)
        if self.compression is not None:
            self._check_ratio()
        if self._bar is not None:
            self._bar.update(self._raw.tell() - self._bar.n)
        return data

    def _check_ratio(self):
        if is_decompression_bomb(self.position, self._raw.tell()):
            raise ValueError(
                f"{self.path}: the {self.compression} data unpacks to more than "
                f"{MAX_RATIO} times its size, which vectors do not. Unpack the file "
                "yourself if you trust it."
            )

    def push_back(self, data):
        """Return bytes to the stream, to be read again."""
        self._pushed = data + self._pushed
        self.position -= len(data)

    def require(self, size, what):
        """Raise a ValueError that names `what` if less than ``size`` bytes are left.

        How many are left is not known if the content is compressed.
        """
        if self.size is not None and size > self.size - self.position:
            raise self._truncated(size, what, self.size - self.position)

    def read_exactly(self, size, what):
        """Return ``size`` bytes, or raise a ValueError that names `what`."""
        self.require(size, what)
        data = self.read(size)
        if len(data) < size:
            raise self._truncated(size, what, len(data))
        return data

    def _truncated(self, size, what, left):
        return ValueError(
            f"{self.path}: at least {size:,} bytes are needed for {what}, but only "
            f"{left:,} are left. The file is truncated or corrupt; download or copy it "
            "again."
        )


def _progress_bar(path, total):
    name = os.path.basename(path)
    shown = {"unit": "B", "unit_scale": True, "desc": f"Converting {name}"}
    return progress_bar(total=total, **shown)


class Format(NamedTuple):
    """Format of a source, and what its first lines state.

    ``kind`` is "store", "spacy", "gensim", "fasttext", "floret", "binary" or "text";
    ``n_rows`` is the number of rows in the header, if there is one; ``start`` is the
    position of the first row, after ``header_lines`` lines; ``has_tabs`` means that a
    tab ends each word; ``files`` are those of a format of several files.
    """

    kind: str
    dim: int = 0
    n_rows: int | None = None
    start: int = 0
    header_lines: int = 0
    has_tabs: bool = False
    files: tuple[str, ...] = ()


def detect(path):
    """Return the `Format` of a source; the error for an unknown one lists the known."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"No word-vector file or store at {path} (working directory "
            f"{os.getcwd()!r})."
        )
    if is_store(path):
        return Format("store")
    folder = spacy_folder(path)
    if folder is not None and not hint_of_folder(path):
        names = [name for name in SPACY_FILES if (folder / name).is_file()]
        return Format("spacy", files=tuple(str(folder / name) for name in names))
    if os.path.isdir(path):
        raise _unknown_directory(path)
    with SourceStream(path) as stream:
        sample = stream.read(_SAMPLE)
    return _detect_sample(path, sample, is_whole=len(sample) < _SAMPLE)


def holds_vectors(folder):
    """Return whether `detect` reads a folder, or names the tool that wrote it."""
    own = is_store(folder) or is_pipeline(folder) or spacy_folder(folder) is not None
    return own or hint_of_folder(folder) is not None


def _unknown_directory(path):
    if is_pipeline(path):
        return no_vectors(path)
    hint = hint_of_folder(path)
    if hint is not None:
        return ValueError(f"{path} {hint}.")
    return ValueError(
        f"{path} is a directory but not a word-vector store, nor one of spaCy's "
        f"vectors. {_SUPPORTED}."
    )


def _detect_sample(path, sample, is_whole):
    if not sample.strip():
        raise ValueError(f"{path}: the file is empty; it contains no words.")
    if _PICKLE.match(sample):
        return Format("gensim", files=_saved_files(path))
    if _is_fasttext(sample):
        return Format("fasttext")
    skip = len(_BOM) if sample.startswith(_BOM) else 0
    first, newline, rest = sample[skip:].partition(b"\n")
    floret = _FLORET.fullmatch(first)
    if floret:
        _check_dim(path, int(floret[1]))
        return Format("floret", int(floret[1]), None, len(first) + len(newline))
    header = _HEADER.fullmatch(first)
    if header:
        start = skip + len(first) + len(newline)
        return _with_header(path, header, rest, start, is_whole)
    lines = [] if b"\0" in sample else _sample_lines(sample[skip:], is_whole)
    dim, has_tabs = _tab_dim(lines), True
    if dim is None:
        dim, has_tabs = _headerless_dim(lines), False
    if dim is None:
        hint = hint_of_file(sample)
        raise ValueError(
            f"{path}: unknown format; the file begins with {sample[:24]!r}. "
            f"{hint + '. ' if hint else ''}{_SUPPORTED}."
        )
    _check_dim(path, dim)
    _check_words(path, lines)
    return Format("text", dim, None, skip, 0, has_tabs)


def _saved_files(path):
    """Return a file and the arrays that gensim's ``save`` wrote next to it."""
    path = os.fspath(path)
    return (path, *sorted(glob.glob(glob.escape(path) + ".*.np[yz]")))


def _is_fasttext(sample):
    """Return whether it begins like a fastText model, of before 2017 or later."""
    if len(sample) < 56:
        return False
    magic, *fields = struct.unpack("<13i", sample[:52])
    if magic == FASTTEXT_MAGIC:
        return True
    loss, model = fields[5], fields[6]
    small = all(0 <= field < 1 << 16 for field in (magic, *fields[:5]))
    return small and magic > 0 and 1 <= loss <= 4 and 1 <= model <= 3


def _with_header(path, header, rest, start, is_whole):
    n_rows, dim = int(header[1]), int(header[2])
    if n_rows == 0:
        raise ValueError(f"{path}: the header states 0 words; the file is empty.")
    _check_dim(path, dim)
    row = rest.partition(b"\n")[0]
    # Float32 values without control characters can look like text in a short sample.
    is_utf8 = row.decode(errors="ignore").encode() == row
    has_no_control = not _CONTROL.search(rest[: 4 * dim + 512])
    if _trailing_numbers(row) < dim and not (is_utf8 and has_no_control):
        return Format("binary", dim, n_rows, start, 1)
    lines = _sample_lines(rest, is_whole)
    _check_stated_dim(path, dim, lines)
    return Format("text", dim, n_rows, start, 1, _tab_dim(lines) == dim)


def _check_dim(path, dim):
    if not 1 <= dim <= MAX_DIM:
        raise ValueError(
            f"{path}: vectors must have 1 to {MAX_DIM:,} dimensions; got {dim}. The "
            f"first line is corrupt, or this is not a word-vector file."
        )


def _sample_lines(sample, is_whole):
    """Return the first lines that are not blank, without a line cut by the sample."""
    lines = sample.split(b"\n", 51)
    lines = lines[:50] if is_whole or len(lines) > 50 else lines[:-1]
    return [line for line in lines if line.strip()]


def _headerless_dim(lines):
    """Return the most common number of trailing numbers in the first lines."""
    return _most_common(
        min(_trailing_numbers(line), len(line.split()) - 1) for line in lines
    )


def _tab_dim(lines):
    """Return how many numbers follow the first tab of most lines, None without tabs."""
    counts = []
    for line in lines:
        fields = line.partition(b"\t")[2].split()
        counts.append(len(fields) if _trailing_numbers(line) >= len(fields) else 0)
    dim = _most_common(counts)
    if dim is None or counts.count(dim) <= len(counts) / 2:
        return None
    # A space may end the word if tabs separate the numbers only.
    last = [line.partition(b"\t")[0].split(b" ")[-1] for line in lines]
    heads = all(_trailing_numbers(field) and b"." in field for field in last)
    return None if heads else dim


def _most_common(numbers):
    """Return the most common number, the smaller of two; None if it is below 1."""
    counts = Counter(numbers)
    number = max(counts, key=lambda n: (counts[n], -n), default=0)
    return number if number >= 1 else None


def _check_words(path, lines):
    """Raise ValueError if the lines have only numbers, which are not ids."""
    fields = [line.split() for line in lines]
    only_numbers = all(_trailing_numbers(line) == len(line.split()) for line in lines)
    if only_numbers and not any(_INTEGER.fullmatch(row[0]) for row in fields):
        raise ValueError(
            f"{path}: the lines contain numbers only, without words, as the "
            "vectors.tsv of TensorFlow's projector (its words are in metadata.tsv) or "
            "the output of numpy.savetxt. Read words and numbers, and pass them to "
            "WordVectors.from_arrays(words, matrix)."
        )


def _check_stated_dim(path, dim, lines):
    """Raise ValueError if all lines are a word without spaces and more numbers.

    The additional numbers may belong to the words, as in "user 1", if they are integers
    and the others are not.
    """
    fields = [line.split() for line in lines]
    counts = {len(row) - 1 for row in fields}
    found = max(counts, default=dim)
    if len(counts) != 1 or found <= dim or b"\t" in b"".join(lines):
        return
    if any(_trailing_numbers(line) < found for line in lines):
        return
    extra = [field for row in fields for field in row[1:-dim]]
    rest = [field for row in fields for field in row[-dim:]]
    if all(map(_INTEGER.fullmatch, extra)) and not all(map(_INTEGER.fullmatch, rest)):
        return
    raise ValueError(
        f"{path}: the header states {dim} dimensions, but the lines have a word and "
        f"{found} numbers. Correct the first line, or remove it."
    )


def _trailing_numbers(line):
    count = 0
    for field in reversed(line.split()):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count


def check_header(stream, fmt, limit, row_bytes):
    """Skip the header; raise ValueError if it states more rows than can follow."""
    stream.read_exactly(fmt.start, "the header")
    if fmt.n_rows is not None:
        rows = fmt.n_rows if limit is None else min(limit, fmt.n_rows)
        what = f"the {rows:,} rows of {fmt.dim} numbers that the header states"
        stream.require(rows * row_bytes, what)


def check_row_count(path, fmt, limit, n_read, repairs):
    """Compare the number of rows read with that in the header.

    Fewer rows are an error, as the file is probably truncated; more are accepted and
    counted in the repairs.
    """
    if fmt.n_rows is None:
        return
    expected = fmt.n_rows if limit is None else min(limit, fmt.n_rows)
    if n_read < expected:
        raise ValueError(
            f"{path}: the header states {fmt.n_rows:,} rows, but the file ends after "
            f"{n_read:,}. It is truncated; download it again, or pass limit={n_read} "
            f"to use these rows."
        )
    if n_read > fmt.n_rows:
        repairs["rows_beyond_header"] += n_read - fmt.n_rows
