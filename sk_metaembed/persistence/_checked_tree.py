"""CheckedTreePredictor: a tree of gradient boosting that checks its inputs."""

from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor


class CheckedTreePredictor(TreePredictor):
    """A tree of `HistGradientBoostingClassifier` from a file.

    What precedes the trees decides how many columns they read from, and may be forged
    as well. Predictions are those of the base class.
    """

    def predict(self, X, known_cat_bitsets, f_idx_map, n_threads):
        """Return the predictions for X of shape (n_samples, n_features)."""
        inner = self._inner_nodes(X)
        used = inner["feature_idx"][inner["is_categorical"] != 0]
        if len(used):
            _check(used.max() < len(f_idx_map))
            _check(f_idx_map[used].max() < len(known_cat_bitsets))
        return super().predict(X, known_cat_bitsets, f_idx_map, n_threads)

    def predict_binned(self, X, missing_values_bin_idx, n_threads):
        """Return the predictions for X, which holds numbers of bins."""
        self._inner_nodes(X)
        return super().predict_binned(X, missing_values_bin_idx, n_threads)

    def _inner_nodes(self, X):
        """Return the nodes with children, after comparing them with the width of X."""
        inner = self.nodes[self.nodes["is_leaf"] == 0]
        _check(not len(inner) or inner["feature_idx"].max() < X.shape[1])
        return inner


def _check(holds):
    if not holds:
        raise ValueError(
            "A tree of the loaded gradient boosting reads a column that its input does "
            "not have: the file was forged, or the model was changed after loading."
        )
