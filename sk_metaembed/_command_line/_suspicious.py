"""Find suspicious columns of a table: leaks of the target, and identifiers."""

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ..tables._api import plain_features

_LEAK_R2 = 0.98
_AS_GOOD = 0.01  # below the score of all columns
_HIGH = 0.95  # score of a tree, whose steps cost a little
_CLEARLY = 0.5  # share of the way from a constant's score to 1
_MOST_ROWS = 5000
_FOLDS = 3
_FEWEST_ROWS = 30
_ASK = "Leave it out by --drop if it is unknown at prediction time."
_KEY = (
    "has another value in each row, as an identifier. Leave it out by --drop or --id, "
    "unless its order means something."
)


def find_suspicious(pipeline, X, y, groups=None):
    """Return sentences about suspicious columns of a pipeline's training table."""
    encoder, model = pipeline["table"], pipeline["model"]
    alone = _scores_alone(encoder, X, y, hasattr(model, "classes_"), groups)
    best = model.scores_["sum"]
    found = []
    for column in encoder.columns_:
        name = repr(column.name)
        if column.kind == "key":
            found.append(f"Column {name} {_KEY}")
        if column.r2 is not None and column.r2 > _LEAK_R2:
            found.append(
                f"Column {name} almost determines the target: its strings explain "
                f"{column.r2:.1%} of the variance. {_ASK}"
            )
        elif alone.get(column.name, -np.inf) >= min(best - _AS_GOOD, _HIGH):
            found.append(
                f"Column {name} alone predicts about as well as all columns: its score "
                f"is {alone[column.name]:.3f}, the score of all {best:.3f}. {_ASK}"
            )
    return found


def _scores_alone(encoder, X, y, is_classifier, groups):
    """Return the scores of a tree on each column of numbers, dates or categories.

    Only scores far above the score of a constant are returned. Strings that are encoded
    by n-grams are left out, because the encoder reports their `r2`.
    """
    if len(X) < _FEWEST_ROWS:
        return {}
    rows = np.random.default_rng(0).permutation(len(X))[:_MOST_ROWS]
    X, y = X.iloc[rows], y[rows]
    groups = None if groups is None else groups[rows]
    if groups is not None and len(np.unique(groups)) < _FOLDS:
        return {}
    chance, kind = 0.0, DecisionTreeRegressor
    if is_classifier:
        counts = np.unique(y, return_counts=True)[1]
        if counts.max() < _FOLDS:
            return {}
        chance, kind = counts.max() / len(y), DecisionTreeClassifier
    tree = kind(max_leaf_nodes=64, min_samples_leaf=3, random_state=0)
    folds = _folds(y, is_classifier, groups is not None)
    scores = {
        name: cross_val_score(tree, features, y, groups=groups, cv=folds).mean()
        for name, features in plain_features(encoder, X).items()
    }
    is_single = sum(column.n_features > 0 for column in encoder.columns_) == 1
    least = _LEAK_R2 if is_single else chance + _CLEARLY * (1 - chance)
    return {name: score for name, score in scores.items() if score >= least}


def _folds(y, is_classifier, has_groups):
    """Return folds, stratified if every class can have a row in each fold."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    if has_groups:
        return GroupKFold(_FOLDS)
    is_frequent = is_classifier and np.unique(y, return_counts=True)[1].min() >= _FOLDS
    return (StratifiedKFold if is_frequent else KFold)(_FOLDS)
