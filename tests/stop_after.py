"""A scikit-learn callback that ends training."""


class StopAfter:
    """End training after some epochs, or raise an error then."""

    def __init__(self, most, error=None):
        self.most = most
        self.error = error

    def setup(self, estimator, context):
        self.seen, self.is_open = 0, True

    def teardown(self, estimator, context):
        self.is_open = False

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += context.task_name == "epoch"
        if self.error and self.seen >= self.most:
            raise self.error
        return self.seen >= self.most
