"""Models of LightGBM, XGBoost, CatBoost and imbalanced-learn can be saved."""

import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, load, save
from sk_metaembed.persistence import UntrustedError

from ..test_estimators import vectors
from .same import ROWS

pytestmark = pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")

TEXTS = [" ".join(row) for row in ROWS if row] * 4
LABELS = np.array(["no", "yes", "no"])[np.arange(len(TEXTS)) % 3]
MODELS = {
    "lightgbm": {"n_estimators": 3, "n_jobs": 1, "verbose": -1},
    "xgboost": {"n_estimators": 3, "n_jobs": 1},
    "catboost": {"iterations": 3, "verbose": 0, "allow_writing_files": False},
}
NAMES = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}
TRUSTED = {
    "lightgbm": {"lightgbm.sklearn.LGBMClassifier", "lightgbm.basic.Booster"},
    "xgboost": {"xgboost.sklearn.XGBClassifier", "xgboost.core.Booster"},
    "catboost": {"catboost.core.CatBoostClassifier"},
}


def model(library, kind="Classifier"):
    module = pytest.importorskip(library)
    return getattr(module, f"{NAMES[library]}{kind}")(**MODELS[library])


def embedded(*steps):
    source = PretrainedEmbedding(vectors())
    return make_pipeline(Tokenizer(), source, Pooling(), *steps)


def labels(library):
    return (LABELS == "yes").astype(int) if library == "xgboost" else LABELS


def trusted(path):
    """Return the names that loading a file requires trust for."""
    with pytest.raises(UntrustedError) as error:
        load(path)
    return {*error.value.names}


@pytest.mark.parametrize("library", MODELS)
def test_a_model_comes_back(library, tmp_path):
    pipe = embedded(model(library)).fit(TEXTS, labels(library))
    path = save(pipe, tmp_path / "m.skm")
    assert trusted(path) == TRUSTED[library]
    result = load(path, trusted=TRUSTED[library])
    expected = pipe.predict_proba(TEXTS)
    np.testing.assert_array_equal(result.predict_proba(TEXTS), expected)
    np.testing.assert_array_equal(result.predict(TEXTS), pipe.predict(TEXTS))
    assert str(result[-1].get_params()) == str(pipe[-1].get_params())
    clone(result).fit(TEXTS, labels(library))
    assert trusted(save(result, tmp_path / "again.skm")) == TRUSTED[library]


def test_a_library_that_is_not_installed(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3))
    path = save(model("lightgbm").fit(X, X[:, 0] > 0), tmp_path / "m.skm")
    for name in [n for n in sys.modules if n.partition(".")[0] == "lightgbm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ValueError, match="the package 'lightgbm.*' is required"):
        load(path, trusted=TRUSTED["lightgbm"])


def test_pipelines_of_imbalanced_learn(tmp_path):
    imblearn = pytest.importorskip("imblearn.pipeline")
    from imblearn.over_sampling import SMOTE

    sampler = SMOTE(random_state=0)
    pipe = imblearn.make_pipeline(*embedded(), sampler, LogisticRegression())
    pipe.fit(TEXTS, LABELS)
    path = save(pipe, tmp_path / "m.skm")
    result = load(path, trusted=trusted(path))
    expected = pipe.predict_proba(TEXTS)
    np.testing.assert_array_equal(result.predict_proba(TEXTS), expected)
    assert result[-2].sampling_strategy_ == pipe[-2].sampling_strategy_
    assert "imblearn.pipeline.Pipeline" in trusted(path)
