"""Names that other subpackages may use, in addition to the public ones."""

from ._bags import mean_vectors, sequence_blocks
