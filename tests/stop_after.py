"""A scikit-learn callback that ends training."""


class StopAfter:
    """End training after some epochs."""

    def __init__(self, most):
        self.most = most

    def setup(self, estimator, context):
        self.seen = 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += context.task_name == "epoch"
        return self.seen >= self.most
