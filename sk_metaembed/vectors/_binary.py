"""Reading word2vec's binary format: ``word``, a space, then float32 numbers."""

import numpy as np

from ._format import MAX_WORD, check_complete, check_promise
from ._words import pack_spans

_BLOCK = 1 << 23


def read_binary(stream, fmt, writer):
    """Push all rows of a word2vec binary to the writer."""
    width = 4 * fmt.dim
    check_promise(stream.path, fmt, writer.limit, stream.size, width + 1)
    stream.exactly(fmt.start, "the header")
    found, data = 0, b""
    left = writer.limit
    while left is None or left > 0:
        block = stream.read(_BLOCK)
        data += block
        packed, vectors, used = _split(data, width, left)
        if len(vectors):
            writer.append(packed, vectors)
        found += len(vectors)
        left = left if left is None else left - len(vectors)
        data = data[used:]
        if len(data) > width + MAX_WORD:
            raise ValueError(
                f"{stream.path}: word {found} has no end within {MAX_WORD:,} "
                f"bytes before byte {stream.position:,}; the file is damaged."
            )
        if not block:
            _check_rest(stream, data, left, found, width)
            break
    check_complete(stream.path, fmt, writer.limit, found, writer.repairs)


def _split(data, width, left):
    from ._kernel import parse_records

    buf = np.frombuffer(data, np.uint8)
    n_rows = len(buf) // (width + 1)
    n_rows = n_rows if left is None else min(left, n_rows)
    starts, ends = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    out = np.empty((n_rows, width), np.uint8)
    count, used = parse_records(buf, width, starts, ends, out)
    vectors = out[:count].view("<f4").astype(np.float32, copy=False)
    return pack_spans(buf, starts[:count], ends[:count]), vectors, used


def _check_rest(stream, data, left, found, width):
    if left == 0 or not data.strip(b"\r\n"):
        return
    word = data.lstrip(b"\n").partition(b" ")[0][:40].decode("utf-8", "replace")
    raise ValueError(
        f"{stream.path}: the file ends within word {found} ({word!r}), at byte "
        f"{stream.position:,}: a vector of {width} bytes is incomplete. It looks cut "
        f"short; fetch it again, or pass limit={found} to use the whole rows."
    )
