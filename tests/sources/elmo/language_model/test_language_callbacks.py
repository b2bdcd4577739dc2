"""Callbacks of scikit-learn and skorch with a language model."""

import pytest
from sklearn.base import clone
from skorch.callbacks import Callback

from sk_metaembed import ElmoLanguageModel

from ....stop_after import StopAfter
from .grammar import SMALL, sentences
from .test_corpus import Stream

callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")


@pytest.mark.parametrize("kind", ["list", "stream"])
def test_scoring_monitor_scores_each_epoch(kind):
    rows = sentences(20)
    given = {"list": rows, "stream": Stream(rows, 99)}[kind]
    monitor = callback.ScoringMonitor(
        scoring={"own": lambda model, X, y: model.score(X)}
    )
    model = ElmoLanguageModel(**SMALL).set_callbacks(monitor).fit(given)
    recorded = monitor.get_logs().data
    epochs = [row["own"] for row in recorded if row["task_name"] == "epoch"]
    assert len(epochs) == 2
    assert epochs[-1] == model.score(rows)
    # To look on changes nothing.
    alone = ElmoLanguageModel(**SMALL).fit(rows)
    assert alone.score(rows) == model.score(rows)


def test_a_callback_may_end_training_on_the_best_weights():
    stop = StopAfter(3)
    model = ElmoLanguageModel(**{**SMALL, "max_epochs": 9}).set_callbacks(stop)
    model.fit(sentences(30), X_val=sentences(9, seed=1))
    recorded = model.history_[:, "valid_perplexity"]
    assert len(recorded) == model.n_iter_ == 3
    assert not stop.is_open
    assert model.perplexity(sentences(9, seed=1)) == pytest.approx(
        min(recorded), rel=1e-5
    )


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
