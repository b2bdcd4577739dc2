"""Texts as lines of UTF-8 in one buffer, which are decoded only if they are read."""

import numpy as np

_NEWLINE = ord("\n")
_AT_ONCE = 1024  # lines that are decoded at a time, which stay in the cache


class Lines:
    """A sequence of texts: the lines of valid UTF-8.

    Splitting needs no str object per text, which saves a tenth of its time.

    Parameters
    ----------
    data : bytes
        The lines, each with a newline at its end.
    """

    def __init__(self, data):
        self.data = data
        self._decoded = None
        # Where the line after each one starts, (n_lines,)
        self.ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE) + 1

    def __len__(self):
        return len(self.ends)

    def __iter__(self):
        return iter(self.to_list())

    def __getitem__(self, rows):
        return self.to_array()[rows]

    def __reduce__(self):
        return type(self), (self.data,)

    def to_list(self):
        """Return the texts as a list of str."""
        return self.to_array().tolist()

    def to_array(self):
        """Return the texts as an array of str objects, (n_lines,), which is kept."""
        if self._decoded is None:
            decoded = np.empty(len(self), dtype=object)
            start = 0
            for first in range(0, len(self), _AT_ONCE):
                end = self.ends[first : first + _AT_ONCE][-1]
                texts = str(self.data[start:end], "utf-8").split("\n")[:-1]
                decoded[first : first + _AT_ONCE] = texts
                start = end
            decoded.flags.writeable = False
            self._decoded = decoded
        return self._decoded

    def decode(self, rows):
        """Return the texts of some rows, by number, as a list of str."""
        ends = self.ends[rows]
        starts = np.where(rows > 0, self.ends[rows - 1], 0)
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return [str(self.data[start : end - 1], "utf-8") for start, end in spans]
