"""Write words and their vectors in each format of `export_vectors`."""

import gzip

from .._io._atomic import atomic_path

# Numbers hardly shrink further: level 6 takes three times as long for a few percent.
_GZIP_LEVEL = 1


def write_file(words, matrix, path, fmt):
    """Write words and their (n_words, dim) float32 vectors, replacing what exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as part, open(part, "wb") as file:
        if path.suffix != ".gz":
            FILE_WRITERS[fmt](words, matrix, file)
            return
        # Without name and time, equal vectors give equal files.
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as compressed:
            FILE_WRITERS[fmt](words, matrix, compressed)


def _write_word2vec_text(words, matrix, file):
    file.write(_header(matrix))
    _write_glove(words, matrix, file)


def _write_glove(words, matrix, file):
    for word, row in zip(words, matrix, strict=True):
        # str of a float32 has the fewest digits that represent it exactly.
        file.write(f"{word} {' '.join(map(str, row))}\n".encode())


def _write_word2vec_binary(words, matrix, file):
    file.write(_header(matrix))
    for word, row in zip(words, matrix, strict=True):
        file.write(f"{word} ".encode() + row.astype("<f4").tobytes())


def _header(matrix):
    return b"%d %d\n" % matrix.shape


FILE_WRITERS = {
    "word2vec-text": _write_word2vec_text,
    "word2vec-binary": _write_word2vec_binary,
    "glove": _write_glove,
}
