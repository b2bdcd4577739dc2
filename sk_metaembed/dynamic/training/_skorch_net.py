"""SequenceNet: the skorch net of a plan."""

import math
from contextlib import nullcontext

import torch
from sklearn.base import clone
from skorch import NeuralNet
from skorch.callbacks import (
    Callback,
    EarlyStopping,
    GradientNormClipping,
    LRScheduler,
)

from ..._training._random import swap_default_generators
from ._data import BucketLoader


class StopWhenDiverged(Callback):
    """Raise an error when the loss is not finite."""

    def on_epoch_end(self, net, **kwargs):
        """Check the mean losses of the epoch."""
        epoch = net.history[-1]
        for name in ("train_loss", "valid_loss"):
            if not math.isfinite(epoch.get(name, 0.0)):
                raise FloatingPointError(
                    f"Training diverged: {name} is {epoch[name]} in epoch "
                    f"{epoch['epoch']}. Use a smaller lr, keep the train option "
                    "gradient_clip, and check the vectors for very large values "
                    "(preprocess='unit')."
                )


class SavedOptimizer(torch.optim.Optimizer):
    """The state of an optimizer that is created when training continues.

    Creating an optimizer imports torch's compiler, which takes longer than loading a
    small net for prediction.

    Parameters
    ----------
    state : dict, default=None
        Output of the ``state_dict`` of an optimizer; None if it is loaded later.
    """

    def __init__(self, state=None):  # without the constructor of the base
        if state is not None:
            self.load_state_dict(state)

    def __reduce__(self):
        return SavedOptimizer, (self._state_dict,)

    def __repr__(self):
        return "SavedOptimizer()"

    def state_dict(self):
        """Return the state."""
        return self._state_dict

    def load_state_dict(self, state_dict):
        """Replace the state."""
        self._state_dict, self.param_groups = state_dict, state_dict["param_groups"]


class SequenceNet(NeuralNet):
    """A skorch net whose batches are `Batch` objects and may run in bfloat16.

    Parameters
    ----------
    autocast : torch.dtype or None
        Type of matrix products; weights stay float32.
    mix_penalty : float
        Factor of the squared norm of the scalar mix's scores in the training loss.
    """

    is_loading_ = False  # whether the values of modules and optimizer are loaded next

    def __init__(self, *args, autocast=None, mix_penalty=0.0, **kwargs):
        self.autocast = autocast
        self.mix_penalty = mix_penalty
        super().__init__(*args, **kwargs)

    def initialized_instance(self, instance_or_cls, kwargs):
        """Create a module, without values if all of them are loaded next."""
        # Trained sources may have tensors that are not loaded.
        if not self.is_loading_ or self.module__trained.opened:
            return super().initialized_instance(instance_or_cls, kwargs)
        with torch.device("meta"):
            module = super().initialized_instance(instance_or_cls, kwargs)
        return module.to_empty(device=self.device)

    def initialize_optimizer(self, triggered_directly=None):
        """Create the optimizer, or stand in for that of a loaded net until training."""
        if not self.is_loading_:
            return super().initialize_optimizer()
        self.optimizer_ = SavedOptimizer()
        return self

    def restore_optimizer(self):
        """Create the optimizer of a loaded net, whose training continues."""
        if isinstance(self.optimizer_, SavedOptimizer):
            state = self.optimizer_.state_dict()
            super().initialize_optimizer()
            self.optimizer_.load_state_dict(state)

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
        with self._randomness(), self.computing():
            return self.module_(x, **fit_params)

    def _randomness(self):
        """Return a context in which the module may draw random numbers."""
        sources = self.module_.trained
        own = all(getattr(source, "takes_generator", False) for source in sources)
        if self.module_.training and not own:
            return swap_default_generators(self.device)
        return nullcontext()

    def computing(self):
        """Return the context in which the module computes."""
        return torch.autocast(
            torch.device(self.device).type,
            dtype=self.autocast or torch.bfloat16,
            enabled=self.autocast is not None,
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
        self.module_.eval()
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


def make_net(plan, device, rng):
    """Return the skorch net of a `NetPlan`; nothing is initialized yet.

    Parameters
    ----------
    plan : NetPlan
    device : torch.device
    rng : numpy RandomState
        Shuffles the batches.

    Returns
    -------
    SequenceNet
    """
    return SequenceNet(
        plan.network_class,
        **{f"module__{name}": value for name, value in plan.network.items()},
        criterion=plan.loss_class,
        criterion__kind=plan.loss,
        optimizer=torch.optim.Adam,
        # One pass over each weight on a CPU, one kernel for all weights on a GPU.
        optimizer__fused=device.type in ("cpu", "cuda"),
        optimizer__weight_decay=plan.options.weight_decay,
        optimizer__param_groups=[
            (f"*trained.{i}.*", {"lr": opened.lr})
            for i, opened in enumerate(plan.trained.opened)
        ],
        **plan.settings,
        iterator_train=BucketLoader,
        iterator_train__shuffle=True,
        iterator_train__rng=rng,
        iterator_valid=BucketLoader,
        train_split=None,
        callbacks=make_callbacks(plan),
        device=str(device),
        autocast=autocast_type(plan.options),
    )


def update_net(net, plan):
    """Set the settings of a `NetPlan` on a net whose training continues."""
    groups = net.optimizer_.param_groups
    net.autocast = autocast_type(plan.options)
    # Also resets the learning rate, which the last fit may have reduced.
    net.set_params(optimizer__weight_decay=plan.options.weight_decay, **plan.settings)
    for group, opened in zip(groups, plan.trained.opened, strict=False):
        group["lr"] = opened.lr
    net.callbacks = make_callbacks(plan)
    net.initialize_callbacks()


def autocast_type(options):
    """Return the dtype of matrix products, or None for that of the weights."""
    return torch.bfloat16 if options.dtype == "bfloat16" else None


def make_callbacks(plan):
    """Return the (name, skorch callback) pairs of a `NetPlan`, with the user's."""
    options, monitor = plan.options, plan.monitor
    callbacks = [("diverged", StopWhenDiverged())]
    if options.gradient_clip is not None:
        callbacks += [("clip", GradientNormClipping(options.gradient_clip))]
    higher = monitor not in (None, "valid_loss")
    if higher:
        # Before skorch's PrintLog, which is sorted last, so that it is shown.
        callbacks += [(monitor, plan.score)]
    # Clones: skorch writes into its callbacks, and a parameter stays as it was given.
    # Before early stopping, which cuts the last epoch short for what follows it.
    callbacks += [clone(own, safe=False) for own in plan.callbacks]
    if monitor is not None:
        plateau = LRScheduler(
            torch.optim.lr_scheduler.ReduceLROnPlateau,
            monitor=monitor,
            mode="max" if higher else "min",
            factor=options.lr_factor,
            patience=options.lr_patience,
        )
        stop = EarlyStopping(
            monitor=monitor,
            lower_is_better=not higher,
            patience=plan.patience,
            load_best=True,
            sink=_ignore,
        )
        callbacks += [("plateau", plateau), ("stop", stop)]
    return callbacks


def _ignore(text):
    """Discard what early stopping would print."""
