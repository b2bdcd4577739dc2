"""Callbacks of scikit-learn and skorch with a language model."""

import pytest
from sklearn.base import clone
from skorch.callbacks import Callback

from sk_metaembed import ElmoLanguageModel

from .grammar import SMALL, sentences
from .test_corpus import Stream

callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")


def test_scoring_monitor_scores_each_epoch():
    rows = sentences(20)
    given = Stream(rows, 99)
    monitor = callback.ScoringMonitor(
        scoring={"own": lambda model, X, y: model.score(X)}
    )
    model = ElmoLanguageModel(**SMALL).set_callbacks(monitor).fit(given)
    recorded = monitor.get_logs().data
    epochs = [row["own"] for row in recorded if row["task_name"] == "epoch"]
    assert len(epochs) == 2
    assert epochs[-1] == model.score(rows)
    # To look on changes nothing.
    assert ElmoLanguageModel(**SMALL).fit(rows).score(rows) == model.score(rows)


class Record(Callback):
    def __init__(self, name):
        self.name = name

    def on_epoch_end(self, net, **kwargs):
        net.history.record(self.name, 0.5)


def test_skorch_callbacks_may_have_names():
    given = [Record("one"), ("own", Record("other"))]
    model = ElmoLanguageModel(**SMALL, callbacks=given).fit(sentences(9))
    assert model.history_[:, ("one", "other")] == [(0.5, 0.5)] * 2
    for wrong in (3, ("name", 3)):
        with pytest.raises(TypeError, match="callbacks must hold skorch callbacks"):
            clone(model).set_params(callbacks=[wrong]).fit(sentences(9))
