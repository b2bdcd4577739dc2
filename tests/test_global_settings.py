"""The global settings of scikit-learn leave the results of all steps as they are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import sk_metaembed as sk
from sk_metaembed.inspection import compare_sources

from .checks.data import assert_same, fitted, outputs
from .checks.state import data
from .test_estimators import ESTIMATORS, FASTTEXT

OFF = {"assume_finite": True, "skip_parameter_validation": True}
CHUNKS = {"working_memory": 1, "pairwise_dist_chunk_size": 2}
SETTINGS = {
    "polars, routing, chunks": {
        **CHUNKS,
        "transform_output": "polars",
        "enable_metadata_routing": True,
    },
    "pandas, routing, no checks": {
        **OFF,
        "transform_output": "pandas",
        "enable_metadata_routing": True,
    },
}
# Those that train or run networks, and those of numbers, which are in the pipelines.
SKIPPED = (
    *("Autoencoded", "Contrastive", "Distilled", "Dynamic", "Elmo", "Transformer"),
    *("Common", "Table"),
)


@pytest.mark.filterwarnings("ignore:.*are noisy:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [e for e in ESTIMATORS if not type(e).__name__.startswith(SKIPPED)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_steps(estimator):
    X, _ = data(estimator)
    expected = outputs(fitted(estimator, X), X)
    with config_context(**SETTINGS["pandas, routing, no checks"]):
        assert_same(outputs(fitted(estimator, X), X), expected, "other settings")


def table(n_rows=40):
    """Return a table with columns of several kinds, its classes and numbers."""
    rng = np.random.default_rng(0)
    code = rng.integers(4, size=n_rows)
    columns = {
        "text": [f"w{a} of w{b}" for a, b in zip(code, code[::-1], strict=True)],
        "kind": rng.choice([*"abc"], n_rows),
        "number": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
    }
    return (
        pd.DataFrame(columns),
        (code > 1).astype(int),
        code + 0.1 * rng.normal(size=n_rows),
    )


TABLE, CLASSES, NUMBERS = table()
COLUMNS = np.column_stack([NUMBERS, NUMBERS**2, np.arange(40)])
WEIGHTS = np.arange(40) % 3 + 1.0
LSA = [("lsa", sk.LSAEmbedding(3, random_state=0))]
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
QUICK_LEARNERS = ["trees", "linear"]


def of_tokens():
    tokens = sk.Tokenizer().fit_transform(TABLE["text"])
    return sk.FastTextEmbedding(**FASTTEXT, random_state=0).fit_transform(tokens)


def tag_tokens():
    X = of_tokens()
    tags = [[word[0] for word in row] for row in X.tokens.to_list()]
    tagger = sk.TokenClassifier(SCALED).fit(X, tags, sample_weight=WEIGHTS)
    return np.concatenate(tagger.predict_proba(X))


def predict_table(estimator, y, X=TABLE, **options):
    model = sk.make_table_pipeline(estimator, random_state=0, **options).fit(X, y)
    return getattr(model, "predict_proba", model.predict)(X)


def predict_columns(model, y):
    return model.fit(COLUMNS, y, sample_weight=WEIGHTS).predict(COLUMNS)


PIPELINES = {
    "texts": lambda: (
        sk.make_text_pipeline(sources=LSA, random_state=0)
        .fit(TABLE["text"], CLASSES)
        .predict_proba(TABLE["text"])
    ),
    "texts for another estimator": lambda: (
        sk.make_text_pipeline(Ridge(), LSA, random_state=0)
        .fit(TABLE["text"], NUMBERS)
        .predict(TABLE["text"])
    ),
    "sets of labels": lambda: (
        sk.make_text_pipeline(random_state=0)
        .fit(TABLE["text"], np.stack([CLASSES, 1 - CLASSES], axis=1))
        .predict_proba(TABLE["text"])
    ),
    "a table": lambda: predict_table("classifier", CLASSES, learners=QUICK_LEARNERS),
    "a table of polars": lambda: predict_table(
        "regressor", NUMBERS, pl.from_pandas(TABLE), learners=["linear"]
    ),
    "a table for a forest": lambda: predict_table(
        RandomForestClassifier(5, random_state=0), CLASSES
    ),
    "a table for an SVM": lambda: predict_table(SVC(), CLASSES),
    "several targets": lambda: predict_columns(
        sk.TableRegressor(["linear", ("own", Ridge())], random_state=0), COLUMNS[:, :2]
    ),
    "pipelines as learners": lambda: predict_columns(
        sk.TableClassifier([("own", SCALED)], class_weight="balanced", random_state=0),
        CLASSES,
    ),
    "models of a stack": lambda: (
        sk.StackedMetaClassifier(
            SCALED,
            models=[("own", make_pipeline(sk.Pooling(), SCALED))],
            random_state=0,
        )
        .fit(of_tokens(), CLASSES, WEIGHTS, np.arange(40) // 2)
        .predict_proba(of_tokens())
    ),
    "vectors of a scale of their own": lambda: (
        sk.StackedMetaClassifier(tfidf=False, random_state=0)
        .fit(of_tokens(), CLASSES)
        .fit_transform(of_tokens(), CLASSES)
    ),
    "tags": tag_tokens,
    "a comparison": lambda: (
        compare_sources(
            sk.make_table_pipeline(SVC(), random_state=0),
            TABLE,
            CLASSES,
            cv=2,
            random_state=0,
        ).scores
    ),
}


@pytest.mark.filterwarnings("ignore:.*are noisy:UserWarning")
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines(name, settings):
    expected = PIPELINES[name]()
    with config_context(**settings):
        found = PIPELINES[name]()
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-6)
