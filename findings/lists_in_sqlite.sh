#!/bin/sh
# A column of lists that pandas writes to SQLite.
#
# Guess: to_sql refuses a column of lists with an error, as it refuses Python's lists.
# pandas 3.1.1, pyarrow 26.0.1, NumPy 2.4.6, 2026-11-28: lists of a Parquet file are
# arrays of objects in pandas. They are stored as a BLOB of 8 bytes per item without a
# warning: the addresses of the strings in the memory of the process, whose texts are
# lost.
#
#     stored: 16 bytes, 2 addresses; are these the addresses of the items: True
. "$(dirname "$0")/_run.sh"
run_with pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6 <<'PROGRAM'
import sqlite3
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

pq.write_table(pa.table({"tags": [["first", "second"]]}), "tags.parquet")
frame = pd.read_parquet("tags.parquet")
cell = frame["tags"].iloc[0]
assert isinstance(cell, np.ndarray)
assert cell.dtype == object
connection = sqlite3.connect(":memory:")
with warnings.catch_warnings():
    warnings.simplefilter("error")
    frame.to_sql("data", connection, index=False)
stored = connection.execute("select tags from data").fetchone()[0]
addresses = np.frombuffer(stored, dtype=np.uintp).tolist()
same = addresses == [id(item) for item in cell]
print(
    f"stored: {len(stored)} bytes, {len(addresses)} addresses; "
    f"are these the addresses of the items: {same}"
)
assert same

try:
    pd.DataFrame({"tags": [["first"]]}).to_sql("other", connection, index=False)
except Exception as error:
    print("a Python list:", error)
else:
    raise AssertionError("lists are stored")
PROGRAM
