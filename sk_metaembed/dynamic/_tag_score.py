"""What early stopping of a tagger follows: accuracy, or span F1 under a scheme."""

import numpy as np
from skorch.callbacks import Callback

from ._tag_target import weighted_span_f1
from ._tagging import decoded


class ValidTags(Callback):
    """Records ``valid_acc`` or ``valid_f1`` of the held-out sentences.

    Tokens count by their weights, and a span as its first token does.

    Parameters
    ----------
    classes : ndarray of str, shape (n_classes,)
    scheme : {"IOB2", "IOBES", "BIOES"} or None
        None for the accuracy of single tags.
    """

    def __init__(self, classes, scheme):
        self.classes = classes
        self.scheme = scheme

    def on_epoch_begin(self, net, **kwargs):
        """Forget the last epoch."""
        self.parts_ = []

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Decode a batch of the held-out part."""
        if training or y_pred is None:
            return
        sentences, tags = batch
        parts = tags, decoded(y_pred), sentences.weights, y_pred.grid.lengths
        self.parts_.append([part.cpu().numpy() for part in parts])

    def on_epoch_end(self, net, **kwargs):
        """Write the score into the history."""
        parts = sum(net.processes_.gathered(self.parts_), [])
        right, found, weights, lengths = map(np.concatenate, zip(*parts, strict=True))
        self.parts_ = []
        weights = weights.astype(np.float64)
        if self.scheme is not None:
            f1 = weighted_span_f1(
                right, found, weights, lengths, self.classes, self.scheme
            )
            net.history.record("valid_f1", f1)
            return
        total = max(weights.sum(), 1e-12)
        net.history.record("valid_acc", float((right == found) @ weights / total))
