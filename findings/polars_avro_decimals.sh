#!/bin/sh
# Decimals in an Avro file of polars.
#
# Guess: polars reads the decimals that it has written to an Avro file, as it does with
# Parquet, and other readers agree.
# polars 2.1.0, fastavro 1.13.1, 2026-11-28: positive decimals whose unscaled number has
# the highest bit of its highest byte set, from two bytes on, are negative in both
# readers: 460.58 is 46058, or 0xB3EA, and is written in two bytes. Avro needs a third
# byte for the sign, which fastavro writes; polars reads the files of fastavro.
#
#     written:  ['1.28', '327.67', '327.68', '460.58', '-460.58']
#     fastavro: ['1.28', '327.67', '-327.68', '-194.78', '-460.58']
#     polars:   ['1.28', '327.67', '-327.68', '-194.78', '-460.58']
. "$(dirname "$0")/_run.sh"
run_with polars==2.1.0 fastavro==1.13.1 <<'PROGRAM'
import io
from decimal import Decimal

import fastavro
import polars as pl

written = [Decimal(text) for text in ("1.28", "327.67", "327.68", "460.58", "-460.58")]
file = io.BytesIO()
pl.DataFrame({"a": pl.Series(written, dtype=pl.Decimal(10, 2))}).write_avro(file)
file.seek(0)
by_fastavro = [row["a"] for row in fastavro.reader(file)]
file.seek(0)
by_polars = pl.read_avro(file)["a"].to_list()
for name, values in (
    ("written: ", written),
    ("fastavro:", by_fastavro),
    ("polars:  ", by_polars),
):
    print(name, [*map(str, values)])
assert by_fastavro == by_polars
assert by_polars[:2] == written[:2]
assert by_polars[2:4] == [Decimal("-327.68"), Decimal("-194.78")]

kind = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
file = io.BytesIO()
fastavro.writer(file, fastavro.parse_schema(schema), [{"a": v} for v in written])
file.seek(0)
assert pl.read_avro(file)["a"].to_list() == written
PROGRAM
