"""NpyOutput: rows one behind the other in a .npy file."""

import io

import numpy as np


class NpyOutput:
    """What a .npy file holds: a head with the shape, and the rows.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        self._path = path

    release = "numpy"  # the format has not changed in years

    def check(self, keep):
        """Refuse columns that are to be carried along."""
        if keep:
            raise ValueError(
                f"transform_in_batches: {self._path.name} is one array, and has no "
                f"place for the columns {keep!r}. Write .parquet, or leave keep out."
            )

    def spec(self, result, kept, schema=None):
        """Return what all rows have in common, as JSON has it, from the first ones."""
        dtype = result.values.dtype
        if dtype.hasobject:
            raise ValueError(
                f"transform_in_batches: {self._path.name} cannot hold {result.name}s "
                "of Python objects. Write .parquet, or fit on labels that are a numpy "
                "array of str or of numbers."
            )
        return {"dtype": dtype.str, "shape": list(result.values.shape[1:])}

    def encode(self, spec, result, kept):
        """Return the bytes of some rows, and None."""
        values, dtype = result.values, np.dtype(spec["dtype"])
        if list(values.shape[1:]) != spec["shape"] or values.dtype != dtype:
            raise ValueError(
                f"the pipeline gave {values.dtype} of shape {values.shape} after "
                f"{dtype} with rows of shape {tuple(spec['shape'])}. All batches must "
                "be alike; labels of any length fit into .parquet."
            )
        return memoryview(np.ascontiguousarray(values)).cast("B"), None

    def head(self, spec, n_rows=0):
        """Return the head; it is as long for any number of rows."""
        file = io.BytesIO()
        told = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(spec["dtype"])),
            "fortran_order": False,
            "shape": (n_rows, *spec["shape"]),
        }
        np.lib.format.write_array_header_1_0(file, told)
        return file.getvalue()

    def tail(self, spec, pieces, n_rows):
        """Return what stands behind the last row: nothing."""
        return b""
