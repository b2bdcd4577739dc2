"""Vectors of types from sources that are trained along, computed once a type."""

import numpy as np
import torch

# What a network for types is given at once.
_TYPES_AT_ONCE = 16_384


class Computed(list):
    """Pairs (values, known) of a batch that no network need compute any more."""


class TypeVectors:
    """All types' vectors, in place of what a network would be given.

    Parameters
    ----------
    vectors : list of (values, known)
        Tensors whose rows are the types.
    known : dict of str to ndarray of bool
        By level, as pieces have it.
    """

    def __init__(self, vectors, known):
        self._vectors, self.known = vectors, known

    def batch(self, types, send):
        """Return the `Computed` vectors of some types."""
        rows = send(types)
        return Computed((values[rows], known[rows]) for values, known in self._vectors)


def settle(net, data):
    """Have trained sources of one vector a type compute each type that occurs once.

    For predicting, where weights rest; in training they change from batch to batch.

    Parameters
    ----------
    net : SequenceNet
    data : SequenceData

    Returns
    -------
    SequenceData
        The same.
    """
    net.module_.eval()
    for i, (of_types, codes) in enumerate(
        zip(data.of_types, data.own_codes, strict=True)
    ):
        used = np.unique(data.tokens.codes if codes is None else codes)
        if of_types and len(used):
            network, pieces = net.module_.trained[i], data.pieces[i]
            with torch.inference_mode(), net.computing():
                data.pieces[i] = _all_types(network, pieces, used, data)
    return data


def _all_types(network, pieces, used, data):
    whole = []
    for start in range(0, len(used), _TYPES_AT_ONCE):
        types = used[start : start + _TYPES_AT_ONCE]
        found = network(pieces.batch(types, data._tensor))
        if not whole:
            n = len(pieces.known["type"])
            whole = [[part.new_zeros(n, *part.shape[1:]) for part in v] for v in found]
        rows = data._tensor(types)
        for tables, parts in zip(whole, found, strict=True):
            for table, part in zip(tables, parts, strict=True):
                table[rows] = part
    return TypeVectors(whole, pieces.known)
