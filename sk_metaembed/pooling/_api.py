"""What other rooms may use of this one, in addition to its public names."""

from ._pooling import sequence_blocks
