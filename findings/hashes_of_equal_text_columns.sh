#!/bin/sh
# joblib's hash of equal columns of strings in pandas 3.
#
# Guess: two Series that are equal by every comparison of pandas have the same hash,
# whether one was cut out of a table or not, as numbers have.
# pandas 3.1.1, pyarrow 26.0.1, joblib 1.6.0, 2026-11-28: the hash of a Series of strings
# depends on the Arrow buffers that it was cut from. joblib.Memory, and the cache of
# Pipeline(memory=), compute again for the same texts.
#
#     numbers: equal True, equal hashes True
#     strings: equal True, equal hashes False
. "$(dirname "$0")/_run.sh"
run_with pandas==3.1.1 pyarrow==26.0.1 joblib==1.6.0 numpy==2.4.6 <<'PROGRAM'
import joblib
import pandas as pd

cases = {
    "numbers": [0.5, 1.5, 2.5, 3.5],
    "strings": ["tea", "milk", "rain", "honey"],
}
same = {}
for name, values in cases.items():
    cut, made = pd.Series(values).iloc[:2], pd.Series(values[:2])
    pd.testing.assert_series_equal(cut, made)
    same[name] = joblib.hash(cut) == joblib.hash(made)
    print(f"{name}: equal {cut.equals(made)}, equal hashes {same[name]}")
assert same == {"numbers": True, "strings": False}
PROGRAM
