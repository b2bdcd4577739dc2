#!/bin/sh
# Numbers of a table after a round trip through an Excel workbook.
#
# Guess: a workbook is XML with a double per cell, so that float64 comes back as it was,
# and an integer beyond 2**53 as the nearest double.
# openpyxl 3.1.5, XlsxWriter 3.3.1, pandas 3.1.1, 2026-11-28: both writers write 16
# digits, and a double needs 17. About every fourth random float comes back as another
# one, and integers come back up to 500 away, where the nearest double is at most 128 away.
# Readers return the changed integers as integers.
#
#     openpyxl: 1234567890123456789 -> 1234567890123457024, 0.30000000000000004 -> 0.3
#     774 of 1000 random floats are as they were
. "$(dirname "$0")/_run.sh"
run_with openpyxl==3.1.5 XlsxWriter==3.3.1 pandas==3.1.1 numpy==2.4.6 <<'PROGRAM'
import numpy as np
import pandas as pd

integer, total = 1234567890123456789, 0.1 + 0.2
floats = np.random.default_rng(0).random(1000)
for writer in ("openpyxl", "xlsxwriter"):
    pd.DataFrame({"id": [integer], "sum": [total]}).to_excel("a.xlsx", engine=writer)
    pd.DataFrame({"x": floats}).to_excel("b.xlsx", engine=writer)
    back = pd.read_excel("a.xlsx", engine="openpyxl").iloc[0]
    n_equal = int((pd.read_excel("b.xlsx", engine="openpyxl")["x"] == floats).sum())
    print(f"{writer}: {integer} -> {int(back['id'])}, {total} -> {back['sum']}")
    print(f"{n_equal} of 1000 random floats are as they were")
    assert int(back["id"]) == 1234567890123457024 != int(float(integer))
    assert back["sum"] == 0.3 != total
    assert 600 < n_equal < 900
PROGRAM
