"""Names that other subpackages may use, in addition to the public ones."""

from ._pooling import sequence_blocks
