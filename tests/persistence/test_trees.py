"""Trees, splines and losses need no trust."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.tree import DecisionTreeRegressor

from sk_metaembed import load, save

X, Y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
X[::7, 0] = np.nan
CATEGORIES = np.where(np.arange(150) % 11, np.arange(150) % 5, np.nan)
MIXED = np.column_stack([X[:, :3], CATEGORIES])
few = {"n_estimators": 3, "random_state": 0}
boosting = partial(HistGradientBoostingClassifier, max_iter=3, random_state=0)

ESTIMATORS = {
    "best first": DecisionTreeRegressor(max_leaf_nodes=9, random_state=0),
    "several outputs": ensemble.RandomForestClassifier(**few),
    "exact boosting": ensemble.GradientBoostingClassifier(**few),
    "categories": boosting(categorical_features=[3]),
    "quantile": ensemble.HistGradientBoostingRegressor(
        max_iter=2, loss="quantile", quantile=0.8
    ),
    "splines": make_pipeline(SplineTransformer(extrapolation="periodic"), Ridge()),
}


@pytest.mark.filterwarnings("error:Loading .* requires explicit trust")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_with_compiled_parts_need_no_trust(name, tmp_path):
    inputs = {"categories": MIXED, "splines": np.nan_to_num(X)}.get(name, X)
    inputs = np.nan_to_num(X) if name == "exact boosting" else inputs
    y = np.column_stack([Y, Y % 2]) if name == "several outputs" else Y
    model = ESTIMATORS[name].fit(inputs, y)
    paths = tmp_path / "m.skm", tmp_path / "again.skm"
    result = load(save(model, paths[0]))
    again = load(save(result, paths[1]))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    for other in (result, again, pickle.loads(pickle.dumps(result))):
        np.testing.assert_array_equal(other.predict(inputs), model.predict(inputs))
    if hasattr(model, "decision_path"):
        np.testing.assert_array_equal(
            result.decision_path(X)[0].toarray(), model.decision_path(X)[0].toarray()
        )
