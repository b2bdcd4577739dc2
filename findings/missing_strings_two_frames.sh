#!/bin/sh
# Missing strings from pandas and from polars, in encoders of scikit-learn.
#
# Guess: an encoder that is fitted on a column of strings of pandas treats a missing
# value of polars as the missing value that it knows, as both frames are accepted.
# scikit-learn 1.9.1, pandas 3.1.1, polars 2.1.0, 2026-11-28: NaN and None are two
# categories. OneHotEncoder(handle_unknown="ignore") gives a row of zeros, with a
# warning; TargetEncoder gives the mean of the target, without one; and SimpleImputer
# leaves the None of polars where it fills the NaN of pandas.
#
#     one-hot of a missing value: pandas [0, 0, 1], polars [0, 0, 0]
#     target encoding of a missing value: pandas 0.939, polars 0.333
#     imputed: pandas milk, polars None
. "$(dirname "$0")/_run.sh"
run_with scikit-learn==1.9.1 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 <<'PROGRAM'
import warnings

import pandas as pd
import polars as pl
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

warnings.simplefilter("ignore")
rows = {"kind": ["tea", None, "milk"] * 10}
both = pd.DataFrame(rows), pl.DataFrame(rows)
one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(both[0])
hot = [one_hot.transform(frame)[1].tolist() for frame in both]
target = TargetEncoder(cv=2, random_state=0, smooth=1.0).fit(both[0], [0, 1, 0] * 10)
means = [round(float(target.transform(frame)[1, 0]), 3) for frame in both]
fill = SimpleImputer(strategy="most_frequent")
filled = [fill.fit_transform(frame)[1, 0] for frame in both]
print("one-hot:", hot)
print("target encoding:", means)
print("imputed:", filled)
assert hot == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
assert means[0] != means[1] == 0.333
assert filled[0] in ("tea", "milk") and filled[1] is None
PROGRAM
