"""Sequence vectors, separately for each source."""

import numpy as np

from ..sequences._api import block_without_copy
from ._pooling import Pooling


def sequence_blocks(embedded):
    """Return the blocks of an EmbeddedSequences at level "sequence".

    Vectors of words are averaged as by `Pooling`. A sequence is known to a source if
    one of its words is.
    """
    values = Pooling().set_output(transform="default").fit_transform(embedded)
    ends = np.cumsum([block.dim for block in embedded.blocks])
    parts = np.split(values, ends[:-1], axis=1)
    return [
        block_without_copy(block.name, part, "sequence", _known(embedded.tokens, block))
        for block, part in zip(embedded.blocks, parts, strict=True)
    ]


def _known(tokens, block):
    if block.level == "sequence":
        return block.known
    is_known = block.known if block.level == "token" else block.known[tokens.codes]
    used, known = np.flatnonzero(tokens.lengths), np.zeros(len(tokens), dtype=bool)
    if len(used):
        known[used] = np.logical_or.reduceat(is_known, tokens.offsets[used])
    return known
