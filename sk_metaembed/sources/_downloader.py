"""Files behind the names that gensim.downloader knows."""

import os

from ._gensim import quiet_gensim

_PAGE = "https://github.com/piskvorky/gensim-data"


def file_of(path):
    """Return a path as it is if something is there, else the file of a model's name.

    Parameters
    ----------
    path : str
        A path, or the name of a gensim-downloader model.

    Returns
    -------
    str

    Raises
    ------
    FileNotFoundError
        If there is no such file, and no such model or no way to get it.
    """
    expanded = os.path.expanduser(path)
    if os.path.exists(expanded):
        return expanded
    if os.path.basename(path) != path or "." in path:
        raise FileNotFoundError(
            f"There is no file {path!r} (looked from {os.getcwd()!r}). Give the path "
            "of a vector file or store, or the name of a gensim-downloader model, "
            'such as "glove-wiki-gigaword-50".'
        )
    return _here_already(path) or _downloaded(path)


def _here_already(name):
    from gensim import downloader

    file = os.path.join(downloader.BASE_DIR, name, f"{name}.gz")
    return file if os.path.exists(file) else None


def _downloaded(name):
    from gensim import downloader

    try:
        with quiet_gensim:
            models = downloader.info()["models"]
    except Exception as error:  # gensim and urllib raise many kinds
        raise _out_of_reach(name, error) from error
    if name not in models:
        raise FileNotFoundError(
            f"{name!r} is neither a file (looked from {os.getcwd()!r}) nor a model of "
            f"gensim-downloader, which has {sorted(models)}."
        )
    try:
        with quiet_gensim:
            return downloader.load(name, return_path=True)
    except Exception as error:
        raise _out_of_reach(name, error) from error


def _out_of_reach(name, error):
    from gensim import downloader

    place = os.path.join(downloader.BASE_DIR, name, f"{name}.gz")
    return FileNotFoundError(
        f"{name!r} is no file here (looked from {os.getcwd()!r}), and asking "
        f"gensim-downloader for a model of that name failed ({error}). Without a "
        f"network, bring the file: download {name}.gz from the releases of {_PAGE} "
        f"elsewhere, and pass its path or put it at {place}."
    )
