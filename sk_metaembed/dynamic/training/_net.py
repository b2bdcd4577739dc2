"""The skorch net of the Dynamic* estimators."""

from contextlib import nullcontext

import torch
from skorch import NeuralNet

from ..._training._random import swap_default_generators

KEPT_PARAMETERS = (
    "lr",
    "batch_size",
    "verbose",
    "mix_penalty",
    "autocast",
    "optimizer__weight_decay",
)


class SequenceNet(NeuralNet):
    """A skorch net whose batches are `Batch` objects and may run in bfloat16.

    `train_net` calls `partial_fit`. For each batch of an epoch, skorch calls

    1. the callbacks' `on_batch_begin`, where `LinearDecay` sets the learning rates;
    2. `infer`, `get_loss` and ``loss.backward()``;
    3. the callbacks' `on_grad_computed`, where `GradientNormClipping` clips gradients;
    4. ``optimizer_.step()``, and the callbacks' `on_batch_end`.

    Batches of a held-out part follow, with `infer` and `get_loss` between the same two
    callbacks, then `on_epoch_end`: scores, learning rates, early stopping.

    Parameters
    ----------
    autocast : bool
        Whether matrix products are computed in bfloat16; weights stay float32.
    mix_penalty : float
        Factor of the squared norm of the scalar mix's scores in the training loss.
    """

    is_loading_ = False  # whether the net is read from a file

    def __init__(self, *args, autocast=False, mix_penalty=0.0, **kwargs):
        self.autocast = autocast
        self.mix_penalty = mix_penalty
        super().__init__(*args, **kwargs)

    def __setstate__(self, state):
        """Restore the net, and each recurrent layer's weights as one array on a GPU."""
        super().__setstate__(state)
        # torch would otherwise copy them together in every call, with a warning.
        for part in self.module_.modules() if self.initialized_ else ():
            if isinstance(part, torch.nn.RNNBase):
                part.flatten_parameters()

    def initialize_optimizer(self, triggered_directly=None):
        """Create the optimizer, except for a net that is loaded for prediction.

        Creating one imports torch's compiler, which takes longer than loading a net.
        """
        if not self.is_loading_:
            return super().initialize_optimizer()
        # skorch wants an optimizer; this one is dropped when the weights are loaded.
        self.optimizer_ = torch.optim.Optimizer.__new__(torch.optim.Optimizer)
        return self

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch, and read the losses at its end if they are on a GPU.

        Reading one after each step would stop the GPU while the next batch is made.
        Until then, `history` has tensors.
        """
        if iterator is None or not _is_asynchronous(self.device):
            arguments = iterator, training, prefix, step_fn
            return super().run_single_epoch(*arguments, **fit_params)
        n_batches, record = 0, self.history.record_batch
        try:
            for n_batches, batch in enumerate(iterator, start=1):  # noqa: B007
                self.notify("on_batch_begin", batch=batch, training=training)
                step = step_fn(batch, **fit_params)
                record(f"{prefix}_loss", step["loss"].detach())
                rows = batch[0] if isinstance(batch, tuple | list) else batch
                record(f"{prefix}_batch_size", len(rows))
                self.notify("on_batch_end", batch=batch, training=training, **step)
        finally:
            _read_losses(self.history, f"{prefix}_loss")
        self.history.record(f"{prefix}_batch_count", n_batches)

    def notify(self, method_name, **cb_kwargs):
        """Call the callbacks."""
        if method_name == "on_train_end" and not self.history:
            # skorch has swallowed Ctrl-C, and callbacks look for an epoch.
            raise KeyboardInterrupt
        super().notify(method_name, **cb_kwargs)

    def infer(self, x, **fit_params):
        """Return the module's outputs for a batch."""
        module, swapped = self.module_, nullcontext()
        takes = [getattr(part, "takes_generator", False) for part in module.trained]
        if module.training and not all(takes):
            # The others draw dropout from torch's default generators.
            swapped = swap_default_generators(self.device)
        with swapped, self.computing():
            return module(x, **fit_params)

    def computing(self):
        """Return the context in which the module computes."""
        return torch.autocast(
            torch.device(self.device).type,
            dtype=torch.bfloat16,
            enabled=self.autocast,
        )

    def get_all_learnable_params(self):
        """Yield names and parameters that require gradients."""
        for name, parameter in super().get_all_learnable_params():
            if parameter.requires_grad:
                yield name, parameter

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the loss; all tensors are on the device already."""
        loss = self.criterion_(y_pred, y_true, X.weights)
        if training and self.mix_penalty:
            loss = loss + self.mix_penalty * self.module_.mixer.penalty()
        return loss

    def map_batches(self, function, batches):
        """Yield ``(rows, function(batch) as an array)``, without gradients."""
        self.module_.eval()  # callbacks predict in training
        with torch.inference_mode(), self.computing():
            for batch in batches:
                yield batch.rows, function(batch).float().cpu().numpy()


def _is_asynchronous(device):
    return torch.device(device).type == "cuda"


def _read_losses(history, name):
    """Replace the tensors of an epoch's losses by numbers, with one transfer."""
    batches = [batch for batch in history[-1]["batches"] if name in batch]
    if batches:
        losses = torch.stack([batch[name] for batch in batches]).tolist()
        for batch, loss in zip(batches, losses, strict=True):
            batch[name] = loss
