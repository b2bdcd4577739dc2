"""Learn the weights of a sum of models out of fold (stacked generalization)."""

from ._folds import deal_rows, make_folds
from ._linear import fit_linear, is_clearly_less
from ._weighted_sum import WeightedSumMixin, fit_on_folds, fit_part
