"""A fit that fails leaves the estimator as it was, whatever it had changed by then."""

import numpy as np
import pytest
from skorch.callbacks import Callback

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
)

SMALL = {
    "projection_dim": 4,
    "encoder_dim": 4,
    "lr": 0.05,
    "max_epochs": 3,
    "early_stopping": False,
    "random_state": 0,
}


class Fail(Callback):
    """Raise in the second batch of training, after a step has changed the weights."""

    def __init__(self, error):
        self.error = error

    def on_batch_end(self, net, training=False, **kwargs):
        if training and len(net.history[-1]["batches"]) == 2:
            raise self.error


def target(kind, X, labels):
    if kind is DynamicMetaTagger:
        return [["A" if len(t) > 2 else "B" for t in row] for row in X.tokens]
    return np.arange(len(X)) / 7 if kind is DynamicMetaRegressor else labels


def state(model, X):
    """Return what a fit sets: outputs, history, and the names of attributes."""
    if isinstance(model, DynamicMetaEmbedding):
        values = model.transform(X).blocks[0].values
    else:
        values = model.predict(X)
    return values.tolist(), [dict(row) for row in model.history_], sorted(vars(model))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (DynamicMetaClassifier, FloatingPointError("nan")),
        (DynamicMetaRegressor, RuntimeError("boom")),
        (DynamicMetaTagger, FloatingPointError("nan")),
        (DynamicMetaEmbedding, RuntimeError("boom")),
    ],
)
def test_a_failed_refit_leaves_the_estimator_as_it_was(embedded, labels, kind, error):
    y = target(kind, embedded, labels)
    model = kind(**SMALL).fit(embedded, y)
    before = state(model, embedded)
    model.set_params(callbacks=[Fail(error)], lr=0.5)
    with pytest.raises(type(error)):
        model.fit(embedded, y)
    model.set_params(callbacks=None, lr=SMALL["lr"])
    assert state(model, embedded) == before
