"""What other rooms may use of this one, in addition to its public names."""

from ._sequence_blocks import sequence_blocks
