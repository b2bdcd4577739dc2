"""Reader of fastText's ``.bin`` models, n-gram vectors included."""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

import numpy as np

from ._read_word2vec import FLORET_SEED, MAX_DIM, MAX_WORD, SourceStream
from ._store import MAX_NGRAM, Floret, StoreWriter, pack, pack_spans
from ._subwords import floret_rows, mean_ngrams

FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_CHUNK_BYTES = 1 << 23
_EOS = "</s>"
_FASTTEXT_MODE = 1  # floret then writes the format of fastText


class _Header(NamedTuple):
    dim: int
    bucket: int
    min_n: int
    max_n: int
    floret: Floret | None = None


def read_fasttext(stream: SourceStream, writer: StoreWriter) -> None:
    """Append all words, composed with their n-grams, and write the n-gram vectors."""
    header = _read_header(stream)
    n_words, packed = _read_dictionary(stream)
    n_buckets = _check_matrix(stream, header, n_words)
    keep = n_words if writer.limit is None else min(n_words, writer.limit)
    if header.floret is not None and n_words:
        own = next(_rows(stream, 1, header.dim, "word vectors"))
        for _ in _rows(stream, n_words - 1, header.dim, "word vectors"):
            pass  # floret stores all rows, but uses only the first
        chunks = _rows(stream, n_buckets, header.dim, "n-gram vectors")
        writer.write_buckets(chunks, header.min_n, header.max_n, header.floret)
        _append_floret_words(writer, packed, own, header)
        return
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
    _, version, dim, _ = _unpack(stream, "<4i", "the header")
    if version not in (11, 12):
        raise ValueError(
            f"{stream.path}: fastText model of version {version}; versions 11 and 12 "
            f"are supported."
        )
    # epoch, min_count, neg, word_ngrams, loss, model, then the fields used here
    fields = _unpack(stream, "<10id", "the header")
    bucket, min_n, max_n = fields[6:9]
    valid = 1 <= dim <= MAX_DIM and bucket >= 0
    if not valid or not 0 <= min(min_n, max_n) <= max(min_n, max_n) <= MAX_NGRAM:
        raise ValueError(
            f"{stream.path}: the fastText header is corrupt: dim={dim}, "
            f"bucket={bucket}, minn={min_n}, maxn={max_n}."
        )
    return _Header(dim, bucket, min_n, max_n, _floret_settings(stream, fields))


def _floret_settings(stream, fields):
    """Return the settings of a floret model, None for fastText's; skip its fields.

    floret has fastText's magic number and version, but writes its mode and number of
    hashes before the last two fields, so the sizes of the dictionary follow 8 bytes
    later. These sizes must add up, so they reveal the format.
    """
    data = stream.read_exactly(20, "the header")
    stream.push_back(data)
    if _adds_up(*struct.unpack("<3i", data[:12])):
        return None
    if not _adds_up(*struct.unpack("<3i", data[8:])):
        return None
    stream.read(8)
    mode, hash_count = fields[9], struct.unpack("<i", struct.pack("<d", fields[10])[:4])
    if mode == _FASTTEXT_MODE:
        return None
    return Floret(hash_count[0], FLORET_SEED, "<", ">", spacy=False, lowercase=False)


def _adds_up(size, n_words, n_labels):
    return size > 0 and min(n_words, n_labels) >= 0 and size == n_words + n_labels


def _read_dictionary(stream):
    """Return the number of words and the packed words; labels are skipped."""
    what = "the dictionary"
    size, n_words, n_labels, _, pruned = _unpack(stream, "<3i2q", what)
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
    starts, ends = array("q"), array("q")  # `size` may be corrupt
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
    is_quantized, n_rows, dim = _unpack(stream, "<?2q", "the matrix")
    if is_quantized:
        raise _compressed_error(stream, "quantized")
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
        f"vectors, which are not supported. Use the full .bin model, or load this one "
        f"with the package fasttext, and pass your words and "
        f"[model.get_word_vector(word) for word in words] to WordVectors.from_arrays."
    )


def _rows(stream, n_rows, dim, what):
    step = max(1, _CHUNK_BYTES // (4 * dim))
    for start in range(0, n_rows, step):
        size = min(step, n_rows - start)
        data = stream.read_exactly(4 * dim * size, f"{what} {start} to {start + size}")
        yield np.frombuffer(data, "<f4").reshape(size, dim).astype(np.float32)


def _append_floret_words(writer, packed, own, header):
    """Append the words that floret composes differently.

    The first word has its own row in addition to its n-grams, and the end-of-sentence
    mark has no n-grams.
    """
    table = np.load(writer.directory / "buckets.npy", mmap_mode="r")
    sizes = header.min_n, header.max_n
    first = packed.take([0])
    total = own[0].astype(np.float32)
    if packed.word(0) != _EOS:
        _, rows = floret_rows(first, header.floret, *sizes, len(table))
        total = (total + table[rows].astype(np.float32).sum(axis=0)) / (1 + len(rows))
    writer.append(first, total[None])
    if packed.word(0) != _EOS and _EOS in packed.to_list("replace"):
        writer.append(pack([_EOS]), np.zeros((1, header.dim), np.float32))


def _compose(writer, packed, own, header, has_subwords):
    """Append for each word the mean of its own vector and its n-grams.

    Only the end-of-sentence mark has no n-grams in fastText.
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
            same_size = np.flatnonzero(np.diff(chunk.offsets) - 1 == len(_EOS))
            marks = [row for row in same_size if chunk.word(row) == _EOS]
            vectors[marks] = own[start : start + step][marks]
        writer.append(chunk, vectors)
