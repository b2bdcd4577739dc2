"""Ids of the pieces of texts, one text after another."""

from itertools import chain
from typing import NamedTuple

import numpy as np

from ..._core._arrays import gather_index, offsets_of


class Pieces(NamedTuple):
    """Ids of pieces: text i has ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: np.ndarray  # int32 (n_pieces,)
    offsets: np.ndarray  # int64 (n_texts + 1,)

    @classmethod
    def of_lists(cls, lists):
        """Return the pieces of texts, given as lists of ids."""
        offsets = offsets_of([len(ids) for ids in lists])
        ids = np.fromiter(chain.from_iterable(lists), np.int32, offsets[-1])
        return cls(ids, offsets)

    def take(self, rows):
        """Return the pieces of some texts, which may occur several times."""
        places, offsets = gather_index(self.offsets, rows)
        return Pieces(self.ids[places], offsets)

    def selected(self, keep):
        """Return only the pieces of a mask, (n_pieces,)."""
        return Pieces(self.ids[keep], offsets_of(keep)[self.offsets])

    def cut(self, limit, *, from_left=False):
        """Return at most `limit` pieces of each text, the last ones if `from_left`."""
        lengths = np.diff(self.offsets)
        if lengths.max(initial=0) <= limit:
            return self
        position = np.arange(len(self.ids)) - np.repeat(self.offsets[:-1], lengths)
        if from_left:
            position = np.repeat(lengths, lengths) - 1 - position
        return self.selected(position < limit)
