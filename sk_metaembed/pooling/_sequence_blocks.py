"""Sequence vectors, separately for each source."""

import numpy as np

from ..sequences._api import adopt_block
from ._bags import block_bags
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
        adopt_block(block.name, part, "sequence", _known(embedded.tokens, block))
        for block, part in zip(embedded.blocks, parts, strict=True)
    ]


def _known(tokens, block):
    if block.level == "sequence":
        return block.known
    return block_bags(tokens, block).lengths > 0
