"""The packages of the extra `files`."""

from importlib import import_module


def needed_packages(*names):
    """Import what files are written or read with.

    Parameters
    ----------
    *names : str
        Modules.

    Raises
    ------
    ImportError
        If something is not.
    """
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            raise ImportError(
                f"Saving and loading need {name.partition('.')[0]}: pip install "
                "'sk_metaembed[files]'."
            ) from error
