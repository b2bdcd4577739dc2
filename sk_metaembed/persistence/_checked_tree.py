"""CheckedTreePredictor: a tree of gradient boosting that checks its inputs."""

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor


class CheckedTreePredictor(TreePredictor):
    """A tree of `HistGradientBoostingClassifier` from a file.

    What precedes the trees decides how many columns they read from, and may be forged
    as well. Predictions are the same as by the base class.
    """

    def __init__(self, nodes, binned_left_cat_bitsets, raw_left_cat_bitsets):
        super().__init__(nodes, binned_left_cat_bitsets, raw_left_cat_bitsets)
        self.__setstate__({})  # converts nodes of a machine of 32 bits
        inner = self.nodes[self.nodes["is_leaf"] == 0]
        self.width = int(inner["feature_idx"].max(initial=-1)) + 1
        self.categorical = np.unique(inner["feature_idx"][inner["is_categorical"] != 0])

    def predict(self, X, known_cat_bitsets, f_idx_map, n_threads):
        """Return the predictions for X of shape (n_samples, n_features)."""
        _check(self.width <= X.shape[1])
        if len(self.categorical):
            _check(self.categorical[-1] < len(f_idx_map))
            _check(f_idx_map[self.categorical].max() < len(known_cat_bitsets))
        return super().predict(X, known_cat_bitsets, f_idx_map, n_threads)

    def predict_binned(self, X, missing_values_bin_idx, n_threads):
        """Return the predictions for X, which holds numbers of bins."""
        _check(self.width <= X.shape[1])
        return super().predict_binned(X, missing_values_bin_idx, n_threads)


def _check(holds):
    if not holds:
        raise ValueError(
            "A tree of the loaded gradient boosting reads a column that its input does "
            "not have: the file was forged, or the model was changed after loading."
        )
