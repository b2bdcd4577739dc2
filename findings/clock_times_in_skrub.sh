#!/bin/sh
# Clock times and lists of one table, from pandas and from polars, in skrub.
#
# Guess: a TableVectorizer makes the same columns of a table whichever of the two
# libraries holds it, as its estimators accept both.
# skrub 0.11.0, pandas 3.1.1, polars 2.1.0, 2026-11-28: a column of datetime.time
# becomes one number if polars holds it, and one indicator per distinct time if pandas
# does. Lists become indicators of whole lists in both; from polars, the names of these
# columns are the printed form of a Series, of several lines.
#
#     pandas: 21 columns, polars: 2 columns
#     names with a line break: pandas 0, polars 3
. "$(dirname "$0")/_run.sh"
run_with skrub==0.11.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 scikit-learn==1.9.1 <<'PROGRAM'
import datetime

import numpy as np
import pandas as pd
import polars as pl
from skrub import TableVectorizer

times = {
    "opens": [datetime.time(hour, 15) for hour in range(20)],
    "seats": np.arange(20.0),
}
lists = {"tags": [["a", "b"], ["a"], ["c", "b"], ["a"]] * 5, "seats": np.arange(20.0)}
shapes, broken = {}, {}
for name, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
    shapes[name] = TableVectorizer().fit_transform(frame(times)).shape[1]
    columns = TableVectorizer().fit_transform(frame(lists)).columns
    broken[name] = sum("\n" in column for column in columns)
print("columns of clock times and seats:", shapes)
print("names with a line break:", broken)
assert shapes == {"pandas": 21, "polars": 2}
assert broken["pandas"] == 0 < broken["polars"]
PROGRAM
