"""Keep weights and moments in training out of the range of denormal floats.

Processors take about a hundred times as long for numbers below 1.2e-38. Weights that
only weight decay changes, and moments of Adam without gradients, shrink until all
their products are that slow. Flushing denormal results to zero is a setting of single
threads, which torch does not make in those that share its products.
"""

import torch
from skorch.callbacks import Callback
from torch.nn.functional import hardshrink

_TINY = 1e-30  # has no effect on sums in float32
_INTERVAL = 100  # steps


def round_tiny_numbers(optimizer):
    """Set weights and moments of an optimizer of at most 1e-30 to 0, in place."""
    with torch.no_grad():
        for group in optimizer.param_groups:
            for weights in group["params"]:
                moments = optimizer.state.get(weights, {}).values()
                for tensor in (weights, *moments):
                    if torch.is_tensor(tensor) and tensor.ndim:
                        tensor.copy_(hardshrink(tensor, _TINY))


class RoundTinyNumbers(Callback):
    """Call `round_tiny_numbers` once in 100 steps of training."""

    def on_train_begin(self, net, **kwargs):
        """Begin to count."""
        self.n_steps_ = 0

    def on_batch_end(self, net, training=False, **kwargs):
        """Count a step."""
        self.n_steps_ += training
        if training and self.n_steps_ % _INTERVAL == 0:
            round_tiny_numbers(net.optimizer_)
