#!/bin/sh
# Frames of float32 with missing values in scikit-learn's trees, with pandas 3.
#
# Guess: RandomForestClassifier, which accepts NaN, accepts a frame of float32 wherever
# it accepts the array that the frame was made of.
# scikit-learn 1.9.1, pandas 3.1.1, 2026-11-28: a frame made of an array of float32 in
# rows stops every tree and forest with "buffer source array is read-only" if a value is
# missing: pandas 3 gives out its values read-only, and the search for infinite values
# accepts only writable rows. Without NaN, as float64, or from an array in columns, it is
# accepted. So set_config(transform_output="pandas") stops a pipeline whose transformers
# return float32 and keep NaN.
#
#     rows of float32 with NaN: ValueError: buffer source array is read-only
#     array alone, without NaN, float64, columns: accepted
. "$(dirname "$0")/_run.sh"
run_with scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 pandas==3.1.1 <<'PROGRAM'
import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
y = np.arange(40) % 2
with_nan = rows.copy()
with_nan[3, 1] = np.nan
accepted = {
    "array": with_nan,
    "without NaN": pd.DataFrame(rows),
    "float64": pd.DataFrame(with_nan.astype(np.float64)),
    "columns": pd.DataFrame(np.asfortranarray(with_nan), copy=False),
}
for model in (RandomForestClassifier(3), ExtraTreesRegressor(3), DecisionTreeClassifier()):
    for X in accepted.values():
        model.fit(X, y)
    try:
        model.fit(pd.DataFrame(with_nan, copy=False), y)
    except ValueError as error:
        print(f"{type(model).__name__}: rows of float32 with NaN: {error}")
        assert "read-only" in str(error)
    else:
        raise SystemExit("rows of float32 with NaN are accepted")
print("accepted:", ", ".join(accepted))
PROGRAM
