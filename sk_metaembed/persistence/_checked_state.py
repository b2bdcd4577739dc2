"""Fitted attributes of scikit-learn from which compiled code takes positions.

The code of scikit-learn and SciPy that these estimators call reads and writes at the
positions that their attributes name, without checking bounds. An attribute that was
not fitted is absent and needs no check: the estimator raises an error without it.
Arrays are copied without their masks, which would hide positions from the checks.
"""

from numbers import Real

import numpy as np

_MOST_THREADS = 1024


def check_state(instance):
    """Raise ValueError if attributes of an estimator point out of bounds."""
    for cls in type(instance).__mro__:
        if cls.__module__.startswith("sklearn.") and cls.__name__ in _CHECKS:
            name, check = _CHECKS[cls.__name__]
            if name in vars(instance) and not check(instance):
                raise ValueError(
                    f"the attributes of {cls.__name__} contradict one another"
                )


def _is_vocabulary_sound(vectorizer):
    columns = vectorizer.vocabulary_
    is_dict = type(columns) is dict  # others may add missing words
    return is_dict and sorted(columns.values()) == [*range(len(columns))]


def _is_one_hot_sound(encoder):
    sizes = [len(categories) for categories in encoder.categories_]
    if not all(map(_is_last_largest, encoder.categories_)):
        return False
    if encoder._infrequent_enabled:
        groups = encoder._default_to_infrequent_mappings
        for i, rare in enumerate(encoder._infrequent_indices):
            if (rare is None) != (groups[i] is None):
                return False
            if rare is not None:
                groups[i] = np.array(groups[i])
                sizes[i] = groups[i].max() + 1 if groups[i].min() >= 0 else -1
    if encoder._drop_idx_after_grouping is not None:
        for i, dropped in enumerate(encoder._drop_idx_after_grouping):
            if dropped is not None:
                sizes[i] = sizes[i] - 1 if 0 <= dropped < sizes[i] else -1
    return min(sizes) >= 0 and list(encoder._n_features_outs) == sizes


def _is_last_largest(categories):
    """Return whether a binary search of a number in the categories finds a position."""
    values = np.asarray(categories).tolist()
    last = values[-1] if values else None
    if not isinstance(last, Real) or last != last:  # NaN is the largest
        return True
    return all(v <= last for v in values if isinstance(v, Real))


def _is_binarizer_sound(binarizer):
    binarizer._cached_dict = None  # it is computed again
    return len({*binarizer.classes_}) == len(binarizer.classes_)


def _is_clustering_sound(clustering):
    # OpenMP ends the process if there is no memory for its threads.
    width, n_threads = clustering.cluster_centers_.shape[1:], clustering._n_threads
    return width == (clustering.n_features_in_,) and 0 < n_threads <= _MOST_THREADS


def _is_neighbors_sound(neighbors):
    shape = neighbors.n_samples_fit_, neighbors.n_features_in_
    return neighbors._fit_X.shape == shape


def _is_birch_sound(birch):
    return birch._subcluster_norms.shape == birch.subcluster_centers_.shape[:1]


def _is_bisecting_sound(clustering):
    # This class requires trust; any other object could have its attributes.
    return type(clustering._bisecting_tree).__name__ == "_BisectingTree"


def _is_covariance_sound(covariance):
    matrices = covariance.covariance_, covariance.precision_
    shapes = {matrix.shape for matrix in matrices if matrix is not None}
    return shapes == {(covariance.n_features_in_,) * 2}


def _is_svm_sound(svm):
    if {"_impl", "_sparse_kernels"} & vars(svm).keys():
        return False  # attributes of the class
    svm._n_support, svm.support_ = np.array(svm._n_support), np.array(svm.support_)
    n_classes, n = len(svm._n_support), len(svm.support_)
    n_pairs = n_classes * (n_classes - 1) // 2
    if svm.kernel == "precomputed" or callable(svm.kernel):
        rows, n_rows = svm.support_, svm.shape_fit_[0]
        in_bounds = not n or 0 <= rows.min() <= rows.max() < n_rows
        in_bounds &= not svm._sparse
    else:
        in_bounds = svm.support_vectors_.shape == (n, svm.n_features_in_)
    if svm._impl in ("c_svc", "nu_svc"):  # others do not use the numbers
        in_bounds &= svm._n_support.min() >= 0 and svm._n_support.sum() == n
    # `predict` reads the probabilities of sparse vectors only.
    is_read = svm._sparse and getattr(svm, "_effective_probability", svm.probability)
    allowed = {n_pairs} if is_read else {0, n_pairs}
    return (
        in_bounds
        and {len(svm._probA), len(svm._probB)} <= allowed
        and len(svm._intercept_) == n_pairs > 0
        and svm._dual_coef_.size == (n_classes - 1) * n
    )


# The first attribute is the one without which there is nothing to check.
_CHECKS = {
    "CountVectorizer": ("vocabulary_", _is_vocabulary_sound),
    "DictVectorizer": ("vocabulary_", _is_vocabulary_sound),
    "OneHotEncoder": ("_n_features_outs", _is_one_hot_sound),
    "MultiLabelBinarizer": ("classes_", _is_binarizer_sound),
    "_BaseKMeans": ("cluster_centers_", _is_clustering_sound),
    "Birch": ("_subcluster_norms", _is_birch_sound),
    "BisectingKMeans": ("_bisecting_tree", _is_bisecting_sound),
    "EmpiricalCovariance": ("covariance_", _is_covariance_sound),
    "FeatureHasher": ("n_features", lambda hasher: hasher.n_features > 0),
    "NeighborsBase": ("_fit_X", _is_neighbors_sound),
    "BaseLibSVM": ("_n_support", _is_svm_sound),
}
