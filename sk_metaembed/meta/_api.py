"""What other rooms may use of this one, in addition to its public names."""

from ._stacked_decisions import decisions, refuse_pairs_of_classes
from ._stacked_rows import equal_rows
from ._stacked_targets import expected, predicted, read_classes, read_numbers

__all__ = [
    "decisions",
    "equal_rows",
    "expected",
    "predicted",
    "read_classes",
    "read_numbers",
    "refuse_pairs_of_classes",
]
