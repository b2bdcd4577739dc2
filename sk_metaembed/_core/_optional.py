"""Packages that an installation may lack: pandas and tqdm."""

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


class _NoBar:
    """Replaces a progress bar if tqdm is not installed."""

    def __init__(self, iterable):
        self._iterable, self.n = iterable, 0

    def __iter__(self):
        return iter(self._iterable)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass

    def update(self, n=1):
        self.n += n

    def set_postfix(self, **values):
        pass

    def close(self):
        pass


def progress_bar(iterable=None, **options):
    """Return a progress bar of tqdm, or one that shows nothing if tqdm is missing.

    >>> list(progress_bar("abc", disable=True))
    ['a', 'b', 'c']
    """
    try:
        from tqdm import tqdm
    except ImportError:
        return _NoBar(iterable)
    return tqdm(iterable, **options)
