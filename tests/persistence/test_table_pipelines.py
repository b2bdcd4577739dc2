"""A pipeline for tables, with the steps of skrub, can be saved."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Ridge

from sk_metaembed import PretrainedEmbedding, load, make_table_pipeline, save
from sk_metaembed.persistence import UntrustedError

from ..test_estimators import vectors

pytest.importorskip("skrub")

TREES = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
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


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust")
def test_trees_require_trust_and_steps_of_skrub_do_not(tmp_path):
    frame = table().assign(day=pd.date_range("2020-01-01", periods=N_ROWS).astype(str))
    sources = [("vectors", PretrainedEmbedding(vectors()))]
    trees = HistGradientBoostingClassifier(max_iter=3)
    pipe = make_table_pipeline(trees, sources, random_state=0)
    pipe.fit(frame, np.array(["no", "yes"] * (N_ROWS // 2)))
    path = save(pipe, tmp_path / "m.skm", bundle=True)
    with pytest.raises(UntrustedError) as caught:
        load(path)
    assert caught.value.names == (TREES,)
    result = load(path, trusted=[TREES])
    frame = unseen(frame)
    np.testing.assert_array_equal(
        result.predict_proba(frame), pipe.predict_proba(frame)
    )
    assert result["table"].column_to_kind_ == pipe["table"].column_to_kind_


@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_a_linear_model_requires_no_trust(tmp_path):
    frame = table()
    pipe = make_table_pipeline(Ridge(), random_state=0).fit(frame, np.arange(N_ROWS))
    result = load(save(pipe, tmp_path / "m.skm"))
    frame = unseen(frame)
    np.testing.assert_array_equal(result.predict(frame), pipe.predict(frame))
