"""Pipelines for tables can be saved, and with trust those of skrub."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from sk_metaembed import PretrainedEmbedding, load, make_table_pipeline, save
from sk_metaembed.persistence import UntrustedError

from ..test_estimators import vectors

skrub = pytest.importorskip("skrub")

N_ROWS = 60


def table():
    rng = np.random.default_rng(0)
    words = np.array(["fine", "sad", "film", "plot"])
    texts = [f"{' '.join(words[rng.integers(0, 4, 3)])} {i}" for i in range(N_ROWS)]
    texts[3] = None
    return pd.DataFrame(
        {
            "remarks": texts,
            "phase": ["climb", "approach", "taxi"] * (N_ROWS // 3),
            "height": np.where(np.arange(N_ROWS) % 9, np.arange(N_ROWS), np.nan),
        }
    )


def unseen(frame):
    """Return a table with values that fit has not seen."""
    changed = {"remarks": ["sad", None], "phase": [None, "new"], "height": [None, 1.0]}
    return pd.concat([frame, pd.DataFrame(changed)], ignore_index=True)


def with_dates(frame):
    days = pd.date_range("2020-01-01", periods=len(frame))
    return frame.assign(
        day=days.astype(str),
        time=days.tz_localize("Europe/Berlin"),
        lasted=pd.to_timedelta(np.arange(len(frame)), unit="h"),
        kind=pd.Categorical(["a", "b"])[np.arange(len(frame)) % 2],
        late=np.arange(len(frame)) % 3 == 0,
    )


def targets():
    """Return a target of each kind by name."""
    classes = np.arange(N_ROWS) % 3
    return {
        "two classes": ("classifier", np.array(["no", "yes"])[classes % 2]),
        "labels": ("classifier", np.eye(3, dtype=int)[classes]),
        "targets": ("regressor", np.stack([classes, np.arange(N_ROWS)], axis=1) * 1.5),
    }


@pytest.mark.filterwarnings("error:Loading .* requires explicit trust")
@pytest.mark.parametrize("kind", targets())
def test_pipelines_for_tables_require_no_trust(kind, tmp_path):
    task, y = targets()[kind]
    frame = with_dates(table())
    sources = [("vectors", PretrainedEmbedding(vectors()))]
    pipe = make_table_pipeline(task, sources, random_state=0).fit(frame, y)
    result = load(save(pipe, tmp_path / "m.skm", bundle=True))
    method = "predict_proba" if task == "classifier" else "predict"
    for X in (frame, with_dates(unseen(table()))):
        expected = getattr(pipe, method)(X)
        np.testing.assert_array_equal(getattr(result, method)(X), expected)
    assert result["table"].columns_ == pipe["table"].columns_
    assert result["model"].weights_ == pipe["model"].weights_
    assert result["model"].scores_ == pipe["model"].scores_


@pytest.mark.filterwarnings("error:Loading .* requires explicit trust")
@pytest.mark.parametrize(
    "model", [LogisticRegression(), HistGradientBoostingClassifier()]
)
def test_pipelines_with_an_estimator_require_no_trust(model, tmp_path):
    y = np.arange(N_ROWS) % 2
    pipe = make_table_pipeline(model, random_state=0).fit(table(), y)
    result = load(save(pipe, tmp_path / "m.skm"))
    np.testing.assert_array_equal(
        result.predict_proba(unseen(table())), pipe.predict_proba(unseen(table()))
    )


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")
def test_steps_of_skrub_require_trust(tmp_path):
    encoder = skrub.StringEncoder()
    pipe = skrub.TableVectorizer(high_cardinality=encoder).fit(with_dates(table()))
    path = save(pipe, tmp_path / "m.skm")
    with pytest.raises(UntrustedError, match="skrub") as error:
        load(path)
    X, result = with_dates(table()), load(path, trusted=error.value.names)
    pd.testing.assert_frame_equal(result.transform(X), pipe.transform(X))
