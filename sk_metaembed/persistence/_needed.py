"""The packages of the extra `files`."""

from importlib import import_module


def needed_packages():
    """See that what files are written and read with is installed.

    Raises
    ------
    ImportError
        If something is not.
    """
    for name in ("skops.io", "safetensors"):
        try:
            import_module(name)
        except ImportError as error:
            raise ImportError(
                f"Saving and loading need {name.partition('.')[0]}: pip install "
                "'sk_metaembed[files]'."
            ) from error
