#!/bin/sh
# Long integers next to None in a pandas column of objects.
#
# Guess: convert_dtypes makes exact nullable integers of Python integers and None, as
# pandas.array does, since Int64 exists to hold integers next to missing values.
# pandas 3.1.1, NumPy 2.4.6, 2026-11-28: convert_dtypes goes through float64, whichever
# backend is asked for. The result is of Int64, its missing value is kept, and integers
# beyond 2**53 are rounded, so that two ids become one. infer_objects gives float64.
# Without None, and by pandas.array or astype("Int64"), all digits are kept.
#
#     convert_dtypes: [1234567890123456768, 1234567890123456768, <NA>] Int64
#     pandas.array:   [1234567890123456789, 1234567890123456790, <NA>] Int64
. "$(dirname "$0")/_run.sh"
run_with pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 <<'PROGRAM'
import pandas as pd

ids = [1234567890123456789, 1234567890123456790]
column = pd.Series([*ids, None], dtype=object)
for backend in ("numpy_nullable", "pyarrow"):
    converted = column.convert_dtypes(dtype_backend=backend)
    print("convert_dtypes:", converted.tolist(), converted.dtype)
    assert converted.nunique() == 1
    assert converted[0] != ids[0]
exact = pd.array([*ids, None])
print("pandas.array:", exact.tolist(), exact.dtype)
assert exact.tolist()[:2] == column.astype("Int64").tolist()[:2] == ids
assert pd.Series(ids, dtype=object).convert_dtypes().tolist() == ids
assert column.infer_objects().dtype == "float64"
PROGRAM
