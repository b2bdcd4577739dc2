"""scikit-learn's callbacks follow the parts of a fit, and are closed after it."""

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import TableEncoder, TableRegressor

pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
TABLE = pd.DataFrame({"size": range(20), "color": ["red", "blue"] * 10})
Y = np.arange(20) % 3.0


class Log:
    """A callback that records its calls, and raises an error in a task."""

    def __init__(self, fails_in=None):
        self.calls, self.fails_in = [], fails_in

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == self.fails_in:
            raise InterruptedError
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.calls.append(f"end {context.task_name}")
        if context.task_name == "fit":
            fitted_estimator.get_feature_names_out()


def test_each_column_is_a_task():
    log = Log()
    TableEncoder().set_callbacks(log).fit(TABLE)
    parts = ["begin size", "end size", "begin color", "end color"]
    assert log.calls == ["setup", "begin fit", *parts, "end fit", "teardown"]


@pytest.mark.parametrize(
    ("estimator", "part", "X"),
    [(TableEncoder(), "color", TABLE), (TableRegressor(), "trees", TABLE[["size"]])],
)
def test_callbacks_are_closed_after_an_error(estimator, part, X):
    log = Log(fails_in=part)
    with pytest.raises(InterruptedError):
        estimator.set_callbacks(log).fit(X, Y)
    assert log.calls[-1] == "teardown"
    assert not hasattr(estimator, "n_features_in_")
