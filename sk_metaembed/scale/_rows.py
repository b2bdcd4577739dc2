"""Source of rows of any iterable: lists, containers, generators."""

from itertools import islice

from ._batch import Batch, check_rows, digest_of


class Rows:
    """Rows of an iterable, that may be one that can be gone through only once.

    Parameters
    ----------
    iterable : iterable of str or of token lists
    missing : bool, default=False
        Whether rows may be missing.
    """

    def __init__(self, iterable, missing=False):
        self._iterable, self._missing = iterable, missing
        self.n_rows = len(iterable) if hasattr(iterable, "__len__") else None

    @property
    def name(self):
        """What messages call it."""
        return f"the {type(self._iterable).__name__} of rows"

    def identity(self):
        """Return what the source is known by: its rows are, by their digests."""
        return ["rows"]

    def no_rows(self):
        """Return the columns that are carried along: none."""

    def batches(self, size, cursor=None):
        """Yield a Batch of up to `size` rows at a time, from a cursor on.

        Rows before the cursor are looked at, for a generator has to pass them: those
        of each batch that was finished must have the digest that they had.
        """
        finished = list((cursor or {}).get("digests", ()))
        start, number = 0, -1
        for number, rows in enumerate(self._pieces(size)):
            check_rows(rows, start, self.name, self._missing)
            digest = digest_of(rows)
            if number >= len(finished):
                stop = start + len(rows)
                where = f"{self.name}, rows {start:,} to {stop - 1:,}"
                yield Batch(start, rows, None, {}, where, digest)
            elif digest != finished[number]:
                raise other_rows(self.name, start, len(rows))
            start += len(rows)
        if number + 1 < len(finished):
            raise other_rows(self.name, start, size)

    def _pieces(self, size):
        if hasattr(self._iterable, "codes"):  # a TokenSequences stays one
            for start in range(0, len(self._iterable), size):
                yield self._iterable[start : start + size]
            return
        rows = iter(self._iterable)
        while some := list(islice(rows, size)):
            yield some


def other_rows(name, start, count):
    """Return the error for a source that is not what it was."""
    return ValueError(
        f"transform_in_batches: {name} gives other rows than before among rows "
        f"{start:,} to {start + count - 1:,}. To go on, it must give the same rows in "
        "the same order again, from the first one on. resume=False begins anew."
    )
