"""Penalties and views of a stack are those of the losses of scikit-learn's models."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler, normalize

from sk_metaembed import StackedMetaClassifier, StackedMetaRegressor

from .sources import sequences

STRENGTHS = np.array([1.0, 10.0, 100.0])


def data(n_rows, dim, strength, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, dim)) + strength * np.outer(2 * y - 1, np.ones(dim))
    return X.astype(np.float32).astype(float), y


def losses_of(X, y, pairs, strengths):
    """Return the log loss of each held-out row, (n_strengths, n_rows)."""
    losses = []
    for C in strengths:
        model, own = LogisticRegression(C=C, tol=1e-8, max_iter=10_000), []
        for train, test in pairs:
            odds = model.fit(X[train], y[train]).decision_function(X[test])
            own.append(-np.log(expit(np.where(y[test] == 1, odds, -odds))))
        losses.append(np.concatenate(own))
    return np.array(losses)


def fitted(X, y, cv):
    return StackedMetaClassifier(tfidf=False, cv=cv).fit(sequences(a=X), y)


def nearest_to_default(losses):
    """Return the number nearest to 1 whose loss is within one error of the smallest."""
    gaps = losses - losses[losses.sum(axis=1).argmin()]
    near = gaps.mean(axis=1) <= gaps.std(axis=1) / np.sqrt(gaps.shape[1])
    return next(place for place in (1, 0, 2) if near[place])


@pytest.mark.parametrize(
    ("strength", "chosen"), [(0.0, 1.0), (0.05, 1.0), (0.08, 10.0), (0.3, 100.0)]
)
def test_the_penalty_is_the_usual_one_unless_another_is_better(strength, chosen):
    X, y = data(120, 130, strength, seed=0)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    losses = losses_of(normalize(X), y, [*cv.split(X, y)], STRENGTHS)
    assert STRENGTHS[nearest_to_default(losses)] == chosen
    assert pytest.approx(chosen) == fitted(X, y, cv).estimators_["a"].C


@pytest.mark.parametrize(
    ("strength", "chosen"), [(0.0, 1.0), (0.1, 10.0), (0.4, 100.0)]
)
def test_the_first_of_large_folds_chooses_where_its_loss_stops_falling(
    strength, chosen
):
    X, y = data(900, 901, strength / 3, seed=0)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    losses = losses_of(normalize(X), y, [next(cv.split(X, y))], STRENGTHS).sum(axis=1)
    place = next((i for i in range(2) if losses[i + 1] >= losses[i]), 2)
    assert STRENGTHS[place] == chosen
    assert pytest.approx(chosen) == fitted(X, y, cv).estimators_["a"].C


@pytest.mark.parametrize(("noise", "chosen"), [(3.0, 1.0), (0.3, 0.1)])
def test_the_first_of_large_folds_chooses_for_numbers_too(noise, chosen):
    X, _ = data(610, 620, 0.0, seed=0)
    rng = np.random.default_rng(1)
    y = normalize(X) @ rng.normal(size=620) + noise * rng.normal(size=610)
    cv = KFold(2, shuffle=True, random_state=0)
    train, test = next(cv.split(X, y))
    losses = []
    for alpha in 1 / STRENGTHS:
        model = Ridge(alpha).fit(normalize(X)[train], y[train])
        losses.append(np.square(model.predict(normalize(X)[test]) - y[test]).sum())
    place = next((i for i in range(2) if losses[i + 1] >= losses[i]), 2)
    assert 1 / STRENGTHS[place] == chosen
    model = StackedMetaRegressor(tfidf=False, cv=cv).fit(sequences(a=X), y)
    assert model.estimators_["a"].alpha == pytest.approx(chosen)


@pytest.mark.parametrize(
    ("factor", "is_scaled"), [(1.0, False), (16.0, False), (20.0, True), (50.0, True)]
)
def test_dimensions_are_scaled_only_if_better_by_two_errors(factor, is_scaled):
    X, y = data(150, 6, 0.3, seed=1)
    X[:, 0] *= factor
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    pairs = [*cv.split(X, y)]
    views = []
    for rows, scale in ((normalize(X), 1), (StandardScaler().fit_transform(X), 6)):
        losses = losses_of(rows, y, pairs, STRENGTHS / scale)
        views.append(losses[nearest_to_default(losses)])
    gain = views[0] - views[1]
    assert (gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(y))) == is_scaled
    assert hasattr(fitted(X, y, cv).estimators_["a"], "steps") == is_scaled
