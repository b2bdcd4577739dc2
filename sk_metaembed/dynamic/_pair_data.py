"""Pairs of sequences in batches: what trains and predicts a net that reads both."""

from dataclasses import replace

import numpy as np

from ..sequences import SequencePairs
from ._data import SequenceData


class PairData:
    """Both sides of pairs, ready to be cut into batches of pairs.

    A batch holds the first sides of its pairs, then the second ones, so that mixer and
    encoder read them as any other sequences, in one go. Its rows are numbers of pairs.

    Parameters
    ----------
    X : SequencePairs
    device : torch.device
    trained : TrainedSources, default=None
        As `SequenceData` takes it.
    """

    def __init__(self, X, device, trained=None):
        self.sequences = SequenceData(X.sequences, device, trained)
        self._tensor = self.sequences._tensor

    def __len__(self):
        return len(self.sequences) // 2

    @property
    def lengths(self):
        """Length of the longer side of each pair, which decides on a batch's steps."""
        return self.sequences.lengths.reshape(2, -1).max(axis=0)

    def batch(self, rows):
        """Return the `Batch` of the given pairs."""
        sides = np.concatenate([rows, rows + len(self)])
        return replace(self.sequences.batch(sides), rows=rows)


def rows_of(X, device, trained, per_token=False):
    """Return the data whose rows have a target each: sequences, or pairs.

    Parameters
    ----------
    X : EmbeddedSequences, TokenSequences or SequencePairs
    device : torch.device
    trained : TrainedSources
    per_token : bool, default=False
        As `SequenceData` takes it.

    Returns
    -------
    SequenceData or PairData
    """
    if isinstance(X, SequencePairs):
        return PairData(X, device, trained)
    return SequenceData(X, device, trained, per_token)
