"""Detect the format of a source by its content; name formats that are not read."""

import glob
import json
import os
import re
import struct
from collections import Counter
from pathlib import Path

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
    "directories of stores and of spaCy"
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
    if folder is not None and not _hint_of_folder(path):
        names = [name for name in SPACY_FILES if (folder / name).is_file()]
        return Format("spacy", files=tuple(str(folder / name) for name in names))
    if is_folder:
        raise _unknown_directory(path)
    with SourceStream(path) as stream:
        sample = stream.read(_SAMPLE)
    return _detect_sample(path, sample, is_whole=len(sample) < _SAMPLE)


def holds_vectors(folder):
    """Return whether `detect` reads a folder, or names the tool that wrote it."""
    own = is_store(folder) or is_pipeline(folder) or spacy_folder(folder) is not None
    return own or _hint_of_folder(folder) is not None


def _unknown_directory(path):
    if is_pipeline(path):
        return no_vectors(path)
    hint = _hint_of_folder(path)
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
        hint = _hint_of_file(sample)
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
    """Return whether a file with this beginning is a fastText model of any version."""
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


_ARRAYS = "WordVectors.from_arrays(words, matrix)"
# The types of files that are not vectors, by their first bytes.
_MAGIC = {
    b"version https://git-lfs": "It is a Git LFS pointer: run git lfs pull",
    b"<": "It looks like a web page, as a failed download leaves",
    b"\x93NUMPY": f"It is a NumPy array: load it, and pass words and it to {_ARRAYS}",
    b"\x89HDF": "It is an HDF5 file, as of ConceptNet Numberbatch or ELMo's weights: "
    f"read words and matrix with h5py or pandas, and pass them to {_ARRAYS}; for ELMo "
    "use ElmoEmbedding",
    b"PAR1": f"It is a Parquet file: read it, and pass words and array to {_ARRAYS}",
    b"ARROW1": f"It is an Arrow file: read it, and pass words and array to {_ARRAYS}",
    b"FiFu": "It is a finalfusion file: load it with finalfusion.load_finalfusion, and "
    "pass e.vocab.words and [e[word] for word in e.vocab.words] to "
    "WordVectors.from_arrays",
    b"SQLite format 3\0": "It is an SQLite database, as of magnitude (.magnitude) or "
    "staticvectors: load it with pymagnitude or staticvectors, and pass your words and "
    "the vectors that it gives them to WordVectors.from_arrays",
    b"\x28\xb5\x2f\xfd": "It is compressed by Zstandard: unpack it with zstd -d",
    b"\x1f\x9d": "It is compressed by compress: unpack it with uncompress",
    b"7z\xbc\xaf\x27\x1c": "It is a 7z archive: unpack it and pass one of its files",
    b"Rar!": "It is a RAR archive: unpack it and pass one of its files",
    b"GGUF": "It is a GGUF file of llama.cpp: use its Hugging Face model with "
    "TransformerEmbedding",
    b"{": f"It looks like JSON: load it, and pass words and matrix to {_ARRAYS}",
    b"[": f"It looks like JSON: load it, and pass words and matrix to {_ARRAYS}",
}
_TAR = (
    "It is a tar archive: unpack it and pass one of its files (of BPEmb the one named "
    ".w2v.bin). For navec, load it with the package navec, and pass navec.vocab.words "
    "and [navec[word] for word in navec.vocab.words] to WordVectors.from_arrays"
)
_ZIP = "It is a zip archive: unpack it and pass one of its files"
_NPZ = (
    "It is an .npz of NumPy: load it, and pass words and matrix to "
    f"{_ARRAYS}; of embeddings of pecanpy these are file['IDs'] and file['data'], with "
    "file = numpy.load(path). For its graphs, pass walks to Word2VecEmbedding"
)
_SAFETENSORS = (
    "It is a safetensors file, which has no words: pass the folder of a static model "
    "(model2vec, sentence-transformers) to make_embedding, or words and matrix to "
    f"{_ARRAYS}"
)
_SENTENCEPIECE = (
    "It is a SentencePiece model, as BPEmb has next to its vectors: pass the file of "
    "vectors (.w2v.bin), whose words are pieces, or a list of words and the vectors "
    f"that BPEmb gives them to {_ARRAYS}"
)
_CSV = f"It looks like CSV: read it with pandas, and pass words and matrix to {_ARRAYS}"
_NUMBERS = (
    "If it is a .bin of GloVe or Swivel, it has numbers without words: write text "
    "(GloVe: -binary 0)"
)


def _hint_of_file(sample):
    """Return the type of an unsupported file by its first bytes, and how to read it."""
    if sample.startswith(b"PK\x03\x04"):
        return _NPZ if b".npy" in sample[30:200] else _ZIP
    if sample[257:262] == b"ustar":
        return _TAR
    if sample[8:10] == b'{"' and 0 < int.from_bytes(sample[:8], "little") < 1 << 30:
        return _SAFETENSORS
    if sample.startswith(b"\n") and b"<unk>" in sample[:64]:
        return _SENTENCEPIECE
    for magic, hint in _MAGIC.items():
        if sample.startswith(magic):
            return hint
    if b"\0" in sample:
        return _NUMBERS
    lines = [line for line in sample.split(b"\n", 20)[1:20] if line]
    return _CSV if lines and all(line.count(b",") > 1 for line in lines) else None


_FILES = ("freqs.json", "key2row", "config.json", "saved_model.pb")


def _hint_of_folder(folder):
    """Return which tool wrote a folder, and how to read it; None if unknown."""
    folder = Path(folder)
    has = {name for name in _FILES if (folder / name).is_file()}
    if {"freqs.json", "key2row"} <= has:
        return (
            "is a folder of sense2vec, whose keys are words with a sense, as in "
            "'duck|NOUN'. Load it with sense2vec and choose one sense per word: pass "
            "words and [s2v[s2v.get_best_sense(word)] for word in words] to "
            "WordVectors.from_arrays. Its file vectors opens as WordVectors with these "
            "keys as words"
        )
    if "config.json" in has and _model_type(folder / "config.json") == "staticvectors":
        return (
            "is a model of staticvectors, which gives unknown words random vectors. "
            "Load it with StaticVectors(folder), and pass your words and "
            "model.embeddings(words) to WordVectors.from_arrays"
        )
    if "saved_model.pb" in has and "config.json" not in has:
        return (
            "is a SavedModel of TensorFlow. Load it with tensorflow_hub, and pass a "
            "function from texts to vectors to FunctionEmbedding"
        )
    return None


def _model_type(path):
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return config.get("model_type") if isinstance(config, dict) else None
