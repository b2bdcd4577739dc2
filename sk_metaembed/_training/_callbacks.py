"""What tells scikit-learn's callbacks of a skorch net's epochs.

Not for import at the top of the package: it needs skorch, and with it torch.
"""

from skorch.callbacks import Callback


class FitTaskReporter(Callback):
    """Reports epochs to scikit-learn's callbacks.

    Parameters
    ----------
    estimator : estimator with `CallbackSupportMixin`
    context : sklearn.callback.CallbackContext
        The context of the whole fit.
    X, y : the training data, for callbacks that score
    """

    def __init__(self, estimator, context, X, y):
        self.estimator = estimator
        self.context = context
        self.X = X
        self.y = y

    def on_epoch_begin(self, net, **kwargs):
        """Open the epoch's task."""
        self.epoch_ = self.context.subcontext(task_name="epoch")
        self.epoch_.call_on_fit_task_begin(estimator=self.estimator)

    def on_epoch_end(self, net, **kwargs):
        """Close it, and note whether a callback asks to stop."""
        self.stop_ = self.epoch_.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            reconstruction_attributes=lambda: {"net_": net},
        )


class StopOnRequest(Callback):
    """Ends training where a scikit-learn callback asked for it.

    A callback of its own, because it must come after those that keep the best
    weights, and `FitTaskReporter` before early stopping cuts an epoch short.
    """

    def __init__(self, tasks):
        self.tasks = tasks

    def on_epoch_end(self, net, **kwargs):
        """Raise what skorch takes as the end of training."""
        if self.tasks.stop_:
            raise KeyboardInterrupt
