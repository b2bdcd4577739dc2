"""Packages that are imported on first use: pandas and tqdm."""

from importlib import import_module


class _Late:
    """A module that is imported on first use; its ImportError says what needs it."""

    def __init__(self, module, hint):
        self._module, self._hint = module, hint

    def __getattr__(self, name):
        try:
            module = import_module(self._module)
        except ImportError as error:
            raise ImportError(self._hint, name=self._module) from error
        value = getattr(module, name)
        vars(self)[name] = value
        return value


pandas = _Late("pandas", "Tables require pandas: pip install 'sk_metaembed[tables]'.")


def progress_bar(iterable=None, **options):
    """Return a progress bar of tqdm.

    >>> list(progress_bar("abc", disable=True))
    ['a', 'b', 'c']
    """
    from tqdm import tqdm

    return tqdm(iterable, **options)
