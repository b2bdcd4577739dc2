"""A sum of models whose weights are learned out of fold (stacked generalization)."""

from ._folds import MANY_ROWS, make_folds
from ._training_rows import WeightedSumMixin, fit_on_folds, fit_part, row_weights
