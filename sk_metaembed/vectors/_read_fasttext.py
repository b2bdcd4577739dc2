"""Reader of fastText's ``.bin`` models, n-gram vectors included."""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

import numpy as np

from ._detect_format import FASTTEXT_MAGIC, MAX_DIM, MAX_WORD, SourceStream
from ._store_files import StoreWriter
from ._word_index import MAX_NGRAM, mean_ngrams, pack_spans

_CHUNK_BYTES = 1 << 23
_EOS = "</s>"


class _Header(NamedTuple):
    dim: int
    bucket: int
    min_n: int
    max_n: int
    versioned: bool


def read_fasttext(stream: SourceStream, writer: StoreWriter) -> None:
    """Append all words, composed with their n-grams, and write the n-gram vectors."""
    header = _read_header(stream)
    n_words, packed = _read_dictionary(stream, header.versioned)
    n_buckets = _check_matrix(stream, header, n_words)
    keep = n_words if writer.limit is None else min(n_words, writer.limit)
    own_path = writer.directory / "own.raw"
    with open(own_path, "wb") as file:
        for chunk in _rows(stream, n_words, header.dim, "word vectors"):
            file.write(chunk.data)
    own = np.memmap(own_path, np.float32, "r", shape=(n_words, header.dim))
    has_subwords = n_buckets and header.max_n >= max(1, header.min_n)
    if has_subwords:
        chunks = _rows(stream, n_buckets, header.dim, "n-gram vectors")
        writer.write_buckets(chunks, header.min_n, header.max_n)
    _compose(writer, packed, own[:keep], header, bool(has_subwords))
    del own
    own_path.unlink()


def _unpack(stream, fields, what):
    return struct.unpack(fields, stream.read_exactly(struct.calcsize(fields), what))


def _read_header(stream):
    first, second = _unpack(stream, "<2i", "the header")
    versioned = first == FASTTEXT_MAGIC
    if versioned and second not in (11, 12):
        raise ValueError(
            f"{stream.path}: fastText model of version {second}; versions 11 and 12 "
            f"are supported."
        )
    dim = _unpack(stream, "<2i", "the header")[0] if versioned else first
    # epoch, min_count, neg, word_ngrams, loss, model, then the fields used here
    fields = _unpack(stream, "<10id", "the header")
    bucket, min_n, max_n = fields[6:9]
    valid = 1 <= dim <= MAX_DIM and bucket >= 0
    if not valid or not 0 <= min(min_n, max_n) <= max(min_n, max_n) <= MAX_NGRAM:
        raise ValueError(
            f"{stream.path}: the fastText header is corrupt: dim={dim}, "
            f"bucket={bucket}, minn={min_n}, maxn={max_n}."
        )
    return _Header(dim, bucket, min_n, max_n, versioned)


def _read_dictionary(stream, versioned):
    """Return the number of words and the packed words; labels are skipped."""
    what = "the dictionary"
    size, n_words, n_labels = _unpack(stream, "<3i", what)
    _unpack(stream, "<q", what)
    pruned = _unpack(stream, "<q", what)[0] if versioned else -1
    if pruned > 0:
        raise _compressed_error(stream, "pruned")
    if size != n_words + n_labels or min(size, n_words, n_labels) < 0:
        raise ValueError(
            f"{stream.path}: the fastText dictionary is corrupt: {size} entries, but "
            f"{n_words} words and {n_labels} labels."
        )
    buf, spans = _read_entries(stream, size)
    words = pack_spans(np.frombuffer(buf, np.uint8), *spans[:, :n_words])
    return n_words, words


def _read_entries(stream, size):
    """Read null-terminated names, each followed by a count and a type (9 bytes)."""
    stream.require(10 * size, f"the {size:,} entries of the dictionary")
    data = bytearray()
    starts, ends = array("q"), array("q")  # grow with the entries read, not with `size`
    at = 0
    for entry in range(size):
        while (end := data.find(b"\0", at)) < 0 or end + 10 > len(data):
            if len(data) - at > MAX_WORD:
                raise ValueError(
                    f"{stream.path}: word {entry} of the dictionary has over "
                    f"{MAX_WORD:,} bytes; the file is corrupt."
                )
            block = stream.read(1 << 16)
            if not block:
                raise ValueError(
                    f"{stream.path}: unexpected end of file within word {entry} of "
                    f"{size} of the dictionary. The file is truncated; download or "
                    f"copy it again."
                )
            data += block
        starts.append(at)
        ends.append(end)
        at = end + 10
    stream.push_back(bytes(data[at:]))
    return bytes(data[:at]), np.array([starts, ends], np.int64).reshape(2, -1)


def _check_matrix(stream, header, n_words):
    """Read the shape of the matrix and return the number of bucket rows."""
    if header.versioned and _unpack(stream, "<?", "the matrix")[0]:
        raise _compressed_error(stream, "quantized")
    n_rows, dim = _unpack(stream, "<2q", "the matrix")
    if dim != header.dim or n_rows not in (n_words, n_words + header.bucket):
        raise ValueError(
            f"{stream.path}: the fastText matrix is {n_rows} x {dim}, but {n_words} "
            f"words and {header.bucket} buckets of {header.dim} numbers need "
            f"{n_words + header.bucket} x {header.dim}; the file is corrupt."
        )
    stream.require(4 * n_rows * dim, f"the {n_rows:,} rows of the matrix")
    return n_rows - n_words


def _compressed_error(stream, kind):
    return ValueError(
        f"{stream.path}: {kind} fastText models (usually named .ftz) have compressed "
        f"vectors, which are not supported. Use the full .bin model, or export the "
        f"vectors to text."
    )


def _rows(stream, n_rows, dim, what):
    step = max(1, _CHUNK_BYTES // (4 * dim))
    for start in range(0, n_rows, step):
        size = min(step, n_rows - start)
        data = stream.read_exactly(4 * dim * size, f"{what} {start} to {start + size}")
        yield np.frombuffer(data, "<f4").reshape(size, dim).astype(np.float32)


def _compose(writer, packed, own, header, has_subwords):
    """Append for each word the mean of its own vector and its n-grams.

    Only the end-of-sentence mark has no n-grams in fastText, except in models from
    before files had a version.
    """
    table = None
    if has_subwords:
        table = np.load(writer.directory / "buckets.npy", mmap_mode="r")
    step = max(1, _CHUNK_BYTES // (4 * header.dim))
    for start in range(0, len(own), step):
        chunk = packed.take(np.arange(start, min(start + step, len(own))))
        vectors = np.array(own[start : start + step])
        if table is not None:
            mean_ngrams(chunk, table, header.min_n, header.max_n, vectors, own=True)
            marks = []
            if header.versioned:
                same_size = np.flatnonzero(np.diff(chunk.offsets) - 1 == len(_EOS))
                marks = [row for row in same_size if chunk.word(row) == _EOS]
            vectors[marks] = own[start : start + step][marks]
        writer.append(chunk, vectors)
