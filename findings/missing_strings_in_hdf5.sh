#!/bin/sh
# Missing values of NumPy's variable-length strings, in HDF5 files.
#
# Guess: h5py, which writes arrays of StringDType, keeps missing ones apart from empty
# ones, or refuses an array with na_object.
# h5py 3.16.0, numpy 2.4.6, 2026-11-28: a missing value is written as an empty string,
# and the array that is read has no na_object. A missing value in an array of objects is
# refused.
#
#     written ['tea', None, ''], read ['tea', '', '']
. "$(dirname "$0")/_run.sh"
run_with h5py==3.16.0 numpy==2.4.6 <<'PROGRAM'
import h5py
import numpy as np

strings = np.array(["tea", None, ""], np.dtypes.StringDType(na_object=None))
with h5py.File("strings.h5", "w") as file:
    file["words"] = strings
    try:
        file["objects"] = np.array(["tea", None, ""], object)
        refused = False
    except TypeError as error:
        refused = True
        print("objects:", error)
with h5py.File("strings.h5") as file:
    read = file["words"].astype(np.dtypes.StringDType())[:]
print("written", strings.tolist(), "read", read.tolist())
assert strings.tolist() == ["tea", None, ""] and read.tolist() == ["tea", "", ""]
assert refused
PROGRAM
