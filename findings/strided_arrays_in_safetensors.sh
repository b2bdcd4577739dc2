#!/bin/sh
# Arrays of NumPy that are not contiguous, saved by safetensors.
#
# Guess: safetensors.numpy writes the values of any array, or refuses those that are not
# contiguous, as safetensors.torch does.
# safetensors 0.8.0, numpy 2.4.6, 2026-11-28: the shape is right, and the values are the
# bytes in memory from the first element on: a transposed matrix is loaded with its
# values in another order, and every second row as the first rows. Nothing is said.
#
#     transposed: [[0. 3. 1.] [4. 2. 5.]] instead of [[0. 1. 2.] [3. 4. 5.]]
#     every second: [0. 1. 2.] instead of [0. 2. 4.]
. "$(dirname "$0")/_run.sh"
run_with safetensors==0.8.0 numpy==2.4.6 <<'PROGRAM'
import numpy as np
from safetensors.numpy import load, save

values = np.arange(6.0)
cases = {
    "transposed": np.asfortranarray(values.reshape(2, 3)),
    "every second": values[::2],
    "contiguous": values.reshape(2, 3),
}
equal = {}
for name, array in cases.items():
    loaded = load(save({"x": array}))["x"]
    assert loaded.shape == array.shape
    equal[name] = bool((loaded == array).all())
    print(f"{name}: {loaded.tolist()}, saved was {array.tolist()}")
assert equal == {"transposed": False, "every second": False, "contiguous": True}
PROGRAM
