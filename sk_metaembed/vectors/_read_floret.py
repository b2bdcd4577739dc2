"""Reader of floret's text tables: a header, then one row per bucket."""

from __future__ import annotations

import numpy as np

from ._detect_format import Format, SourceStream
from ._read_word2vec import line_blocks, parse_line
from ._store_files import StoreWriter, is_floret
from ._subwords import Floret

SEED = 2166136261  # in floret's files; the format leaves room for others


def read_floret(stream: SourceStream, fmt: Format, writer: StoreWriter) -> None:
    """Write the rows of a table, which compose all words."""
    *fields, begin, end = stream.read_exactly(fmt.start, "the header").split()
    n_rows, dim, min_n, max_n, hash_count, seed = map(int, fields)
    floret = Floret(hash_count, seed, begin.decode(), end.decode(), False, False)
    if not is_floret(floret._asdict(), max_n) or min_n > max_n:
        raise ValueError(
            f"{stream.path}: the header of the floret table is corrupt: minn={min_n}, "
            f"maxn={max_n}, hashCount={hash_count}, hashSeed={seed}."
        )
    stream.require(2 * n_rows * dim, f"the {n_rows:,} rows of {dim} numbers")
    writer.write_buckets(_rows(stream, n_rows, dim), min_n, max_n, floret)


def _rows(stream, n_rows, dim):
    """Yield the rows in chunks; raise ValueError unless they are numbered."""
    number = 0
    for lines in line_blocks(stream):
        rows = []
        for line in filter(bytes.strip, lines):
            where = f"{stream.path}, line {number + 2}"
            name, row = parse_line(line, dim, where, True)
            if name != b"%d" % number:
                raise ValueError(
                    f"{where}: expected row {number} of a floret table; got "
                    f"{name[:40].decode('utf-8', 'replace')!r}. The file is corrupt."
                )
            rows.append(row)
            number += 1
        if rows:
            yield np.stack(rows)
    if number != n_rows:
        raise ValueError(
            f"{stream.path}: the header states {n_rows:,} rows, but the file has "
            f"{number:,}. It is truncated; download or copy it again."
        )
