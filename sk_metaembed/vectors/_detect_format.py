"""Detect the format of a source by its content."""

import glob
import os
import re
from collections import Counter

from ._read_fasttext import FASTTEXT_MAGIC
from ._read_spacy import FILES as SPACY_FILES
from ._read_spacy import is_pipeline, no_vectors, spacy_folder
from ._read_word2vec import MAX_DIM, Format, SourceStream
from ._store import is_store

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
    "directories of stores and of spaCy. Read other files with the library that wrote "
    "them, and pass words and vectors to WordVectors.from_arrays(words, matrix)."
)


def detect(path):
    """Return the `Format` of a source; the error for an unknown one lists the known."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"No word-vector file or store at {path} (working directory "
            f"{os.getcwd()!r})."
        )
    if is_store(path):
        return Format("store")
    is_folder, folder = os.path.isdir(path), None
    if is_folder or os.path.basename(path) == "vectors":
        folder = spacy_folder(path)
    if folder is not None:
        names = [name for name in SPACY_FILES if (folder / name).is_file()]
        return Format("spacy", files=tuple(str(folder / name) for name in names))
    if is_folder and is_pipeline(path):
        raise no_vectors(path)
    if is_folder:
        raise ValueError(
            f"{path} is a directory but not a word-vector store, nor one of spaCy's "
            f"vectors. {_SUPPORTED}"
        )
    with SourceStream(path) as stream:
        sample = stream.read(_SAMPLE)
    fmt = _detect_sample(path, sample, is_whole=len(sample) < _SAMPLE)
    states_dim = fmt.kind in ("text", "binary", "floret")
    if states_dim and not 1 <= fmt.dim <= MAX_DIM:
        raise ValueError(
            f"{path}: vectors must have 1 to {MAX_DIM:,} dimensions; got {fmt.dim}. "
            "The first line is corrupt, or this is not a word-vector file."
        )
    return fmt


def holds_vectors(folder):
    """Return whether a folder is a store or a pipeline of spaCy."""
    return is_store(folder) or is_pipeline(folder) or spacy_folder(folder) is not None


def _detect_sample(path, sample, is_whole):
    if not sample.strip():
        raise ValueError(f"{path}: the file is empty; it contains no words.")
    if _PICKLE.match(sample):
        return Format("gensim", files=_saved_files(path))
    if sample.startswith(FASTTEXT_MAGIC):
        return Format("fasttext")
    skip = len(_BOM) if sample.startswith(_BOM) else 0
    first, newline, rest = sample[skip:].partition(b"\n")
    after_first = skip + len(first) + len(newline)
    floret = _FLORET.fullmatch(first)
    if floret:
        return Format("floret", int(floret[1]), None, after_first)
    header = _HEADER.fullmatch(first)
    lines = (rest if header else sample[skip:]).split(b"\n", 51)
    lines = lines[:50] if is_whole or len(lines) > 50 else lines[:-1]  # it may be cut
    lines = [line for line in lines if line.strip()]
    if header:
        return _with_header(path, header, rest, after_first, lines)
    if b"\0" in sample:
        lines = []
    dim, has_tabs = _tab_dim(lines), True
    if dim is None:
        counts = [min(_trailing_numbers(line), len(line.split()) - 1) for line in lines]
        dim, has_tabs = _most_common(counts), False
    if dim is None:
        raise ValueError(
            f"{path}: unknown format; the file begins with {sample[:24]!r}. "
            f"{_hint(sample)}{_SUPPORTED}"
        )
    _check_words(path, lines)
    return Format("text", dim, None, skip, 0, has_tabs)


def _saved_files(path):
    """Return a file and the arrays that gensim's ``save`` wrote next to it."""
    path = os.fspath(path)
    return (path, *sorted(glob.glob(glob.escape(path) + ".*.np[yz]")))


def _with_header(path, header, rest, start, lines):
    """Return the format of a file whose first line has two numbers."""
    n_rows, dim = int(header[1]), int(header[2])
    if n_rows == 0:
        raise ValueError(f"{path}: the header states 0 words; the file is empty.")
    row = rest.partition(b"\n")[0]
    # Float32 values without control characters can look like text in a short sample.
    is_utf8 = row.decode(errors="ignore").encode() == row
    has_no_control = not _CONTROL.search(rest[: 4 * dim + 512])
    if _trailing_numbers(row) < dim and not (is_utf8 and has_no_control):
        return Format("binary", dim, n_rows, start, 1)
    _check_stated_dim(path, dim, lines)
    return Format("text", dim, n_rows, start, 1, _tab_dim(lines) == dim)


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
    """Return the most common number, the smallest of a tie; None if it is below 1."""
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
            "vectors.tsv of TensorFlow's projector (its words are in metadata.tsv). "
            "Read both, and pass them to WordVectors.from_arrays(words, matrix)."
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


_HINTS = {
    "Git LFS": "It is a Git LFS pointer: run git lfs pull. ",
    "HTML": "It looks like a web page, as a failed download leaves. ",
    "archive": "It is an archive: unpack it, and pass one of its files. ",
    "HDF5": "It is an HDF5 file. For ELMo, use ElmoEmbedding. ",
    "safetensors": "It is a safetensors file, which has no words: pass the folder of a "
    "static model (model2vec, sentence-transformers) to make_embedding. ",
    "binary": "If it is a .bin of GloVe, it has no words: write text (-binary 0). ",
}
_MAGIC = {
    b"version https://git-lfs": "Git LFS",
    b"<": "HTML",
    b"PK\x03\x04": "archive",
    b"7z\xbc\xaf\x27\x1c": "archive",
    b"Rar!": "archive",
    b"\x28\xb5\x2f\xfd": "archive",  # of Zstandard
    b"\x89HDF": "HDF5",
}


def _hint(sample):
    """Return what a file that is not read may be, by its first bytes."""
    kind = next(
        (kind for magic, kind in _MAGIC.items() if sample.startswith(magic)), ""
    )
    if sample[257:262] == b"ustar":
        kind = "archive"  # of tar
    elif sample[8:10] == b'{"' and int.from_bytes(sample[:8], "little") < 1 << 30:
        kind = "safetensors"
    elif not kind and b"\0" in sample:
        kind = "binary"
    return _HINTS.get(kind, "")
