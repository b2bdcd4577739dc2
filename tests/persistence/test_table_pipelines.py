"""A pipeline for tables, with the steps of skrub, can be saved."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from sk_metaembed import PretrainedEmbedding, load, make_table_pipeline, save

from ..test_estimators import vectors

skrub = pytest.importorskip("skrub")

ENCODERS = {"Gap": {"n_components": 2, "random_state": 0}, "MinHash": {"n_jobs": 1}}
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


@pytest.mark.filterwarnings("error:Loading .* requires explicit trust")
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("best", [0, 1], ids=["boosting", "linear"])
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_pipelines_for_tables_require_no_trust(task, best, tmp_path, monkeypatch):
    frame = with_dates(table())
    sources = [("vectors", PretrainedEmbedding(vectors()))]
    pipe = make_table_pipeline(task, sources, random_state=0)
    losses = iter([0, 9, 9, 9] if best == 0 else [9, 0, 9, 9])
    monkeypatch.setattr(type(pipe[-1]), "_loss", lambda *a: next(losses))
    y = np.arange(N_ROWS) % 2 + (0 if task == "classifier" else 0.5)
    pipe.fit(frame, y)
    assert isinstance(pipe[-1].model_, Pipeline) == (best == 1)
    result = load(save(pipe, tmp_path / "m.skm", bundle=True))
    method = "predict_proba" if task == "classifier" else "predict"
    for X in (frame, with_dates(unseen(table()))):
        expected = getattr(pipe, method)(X)
        np.testing.assert_array_equal(getattr(result, method)(X), expected)
    assert result["table"].column_to_kind_ == pipe["table"].column_to_kind_


@pytest.mark.filterwarnings("error:Loading .* requires explicit trust")
@pytest.mark.parametrize("name", ["String", "MinHash", "Gap", "Similarity"])
def test_encoders_of_skrub_require_no_trust(name, tmp_path):
    encoder = getattr(skrub, f"{name}Encoder")(**ENCODERS.get(name, {}))
    pipe = skrub.TableVectorizer(high_cardinality=encoder).fit(table())
    result = load(save(pipe, tmp_path / "m.skm"))
    pd.testing.assert_frame_equal(result.transform(table()), pipe.transform(table()))
