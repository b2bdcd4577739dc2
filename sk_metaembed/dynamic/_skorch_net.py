"""Create, train and restore the skorch net of the Dynamic* estimators."""

import math
from contextlib import contextmanager, nullcontext
from copy import copy

import numpy as np
import torch
from skorch import NeuralNet
from skorch.callbacks import (
    Callback,
    EarlyStopping,
    EpochTimer,
    GradientNormClipping,
    LRScheduler,
    PassthroughScoring,
    PrintLog,
)
from skorch.utils import noop
from torch import nn

from .._training._nets import (
    FlushDenormals,
    available_device,
    cloned_callbacks,
    net_state_dict,
    restore_net,
    run_epochs,
)
from .._training._random import local_generators, swap_default_generators
from ._batches import BucketLoader

# Parameters of a net that prediction needs, or that describe its training.
_SETTINGS = (
    "lr",
    "batch_size",
    "verbose",
    "mix_penalty",
    "autocast",
    "optimizer__weight_decay",
)


class SequenceNet(NeuralNet):
    """A skorch net whose batches are `Batch` objects and may run in bfloat16.

    `run_epochs` calls `fit_loop` for each epoch. For each batch, skorch calls

    1. the callbacks' `on_batch_begin`;
    2. `infer`, `get_loss` and ``loss.backward()``;
    3. the callbacks' `on_grad_computed`, where `GradientNormClipping` clips gradients;
    4. ``optimizer_.step()``, and the callbacks' `on_batch_end`, where the learning
       rates decrease.

    Batches of a held-out part follow, with `infer` and `get_loss`, then the callbacks'
    `on_epoch_end`: scores, learning rates, early stopping.

    With `autocast`, matrix products are computed in bfloat16; weights stay float32. The
    squared norm of the scalar mix's scores times `mix_penalty` is added to the training
    loss.
    """

    _default_callbacks: list = []  # `_callbacks` returns all
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
        # skorch requires an optimizer; this one is dropped when weights are loaded.
        self.optimizer_ = torch.optim.Optimizer.__new__(torch.optim.Optimizer)
        return self

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch, and read the losses at its end if they are on a GPU.

        Reading one after each step would stop the GPU while the next batch is made.
        Until then, `history` has tensors.
        """
        is_asynchronous = torch.device(self.device).type == "cuda"
        if iterator is None or not is_asynchronous:
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

    def infer(self, x, **fit_params):
        """Return the module's outputs for a batch."""
        module, swapped = self.module_, nullcontext()
        takes = [getattr(part, "takes_generator", False) for part in module.trained]
        if module.training and not all(takes):
            # Other networks draw dropout from torch's default generators.
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


def _read_losses(history, name):
    """Replace the tensors of an epoch's losses by numbers, with one transfer."""
    batches = [batch for batch in history[-1]["batches"] if name in batch]
    if batches:
        losses = torch.stack([batch[name] for batch in batches]).tolist()
        for batch, loss in zip(batches, losses, strict=True):
            batch[name] = loss


def make_net(
    modules, network, criterion, device, *, seed=None, callbacks=(), **settings
):
    """Return a net that is not initialized.

    `modules` are the classes of the network and of its loss, and `network` and
    `criterion` their parameters; `seed` determines the order of batches, and
    `callbacks` come from the user. `_SETTINGS` lists the settings.
    """
    module, loss = modules
    return SequenceNet(
        module,
        loss,
        **{f"module__{name}": value for name, value in network.items()},
        **{f"criterion__{name}": value for name, value in criterion.items()},
        **settings,
        optimizer=torch.optim.Adam,
        # One pass over each weight on a CPU, one kernel for all weights on a GPU.
        optimizer__fused=device.type in ("cpu", "cuda"),
        optimizer__param_groups=[
            (f"*trained.{i}.*", group)
            for i, group in enumerate(network["sources"].optimizer_groups())
        ],
        iterator_train=BucketLoader,
        iterator_train__shuffle=True,
        iterator_train__rng=np.random.RandomState(seed),
        iterator_valid=BucketLoader,
        train_split=None,
        callbacks=cloned_callbacks(callbacks),
        device=str(device),
    )


def train(net, train_set, valid_set, *, n_epochs, seed, context, task, **options):
    """Initialize a net, train it, and drop what only training needs.

    `seed` determines the initial weights and dropout. `context` and `task` are passed
    to `run_epochs`, options to `_callbacks`.
    """
    with local_generators(seed):
        with swap_default_generators("cpu"):
            net.initialize()
        net.module_.mixer.set_standards(train_set)
        if len(train_set) < len(train_set.data):
            _zero_untrained_vectors(net.module_, train_set)
        callbacks = _callbacks(net.callbacks_, **options)
        sets = train_set, valid_set
        run_epochs(net, callbacks, *sets, n_epochs, context=context, task=task)
        net.module_.eval()  # without a held-out part, it is in training mode
    net.optimizer_ = None  # twice the size of the weights
    for _, callback in net.callbacks_:
        if isinstance(callback, EarlyStopping):
            callback.best_model_weights_ = None
        elif isinstance(callback, LRScheduler):
            callback.lr_scheduler_ = None


def _callbacks(own, *, score, monitor, n_steps, train_options):
    """Return the (name, skorch callback) pairs of a training run, in their order.

    `own` are the user's callbacks. Early stopping and the learning rate follow
    `monitor`, an entry of the history. Without a held-out part, `score` and `monitor`
    are None, and the learning rate falls to 0 in `n_steps` steps.
    """
    callbacks = [
        ("epoch_timer", EpochTimer()),
        ("train_loss", PassthroughScoring("train_loss", on_train=True)),
        ("valid_loss", PassthroughScoring("valid_loss")),
        ("diverged", StopWhenDiverged()),
    ]
    if train_options["gradient_clip"] is not None:
        callbacks += [("clip", GradientNormClipping(train_options["gradient_clip"]))]
    if score is not None:
        callbacks += [(score.name, score)]
    # Early stopping raises KeyboardInterrupt, which skips all callbacks after it.
    callbacks += own
    has_schedule = any(isinstance(callback, LRScheduler) for _, callback in own)
    if monitor is None and not has_schedule:
        linear = LRScheduler(
            torch.optim.lr_scheduler.PolynomialLR,
            total_iters=n_steps,
            step_every="batch",
            event_name=None,
        )
        callbacks += [("decay", linear)]
    if monitor is not None:
        higher = monitor != "valid_loss"
        plateau = LRScheduler(
            torch.optim.lr_scheduler.ReduceLROnPlateau,
            monitor=monitor,
            mode="max" if higher else "min",
            factor=train_options["lr_factor"],
            patience=train_options["lr_patience"],
        )
        stop = EarlyStopping(
            monitor=monitor,
            lower_is_better=not higher,
            patience=train_options["n_iter_no_change"],
            load_best=True,
            sink=noop,
        )
        callbacks += [("plateau", plateau), ("stop", stop)]
    # The log shows what the callbacks before it have recorded.
    return [
        *callbacks,
        ("print_log", PrintLog()),
        ("denormals", FlushDenormals()),
    ]


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


class HeldOutScore(Callback):
    """Record a score of the held-out part in the history, by its name.

    `collect` returns the values that a score needs from the outputs, the batch and the
    targets; `score` computes the score from a list of these values. skorch's
    EpochScoring would compute the outputs of the held-out part once more.
    """

    def __init__(self, name, collect, score):
        self.name, self.collect, self.score = name, collect, score

    def on_epoch_begin(self, net, **kwargs):
        """Discard the results of an epoch that was interrupted."""
        self.parts_ = []

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Collect the results of a batch."""
        if not training and y_pred is not None:
            self.parts_.append(self.collect(y_pred, *batch))

    def on_epoch_end(self, net, **kwargs):
        """Write the score into the history."""
        net.history.record(self.name, self.score(self.parts_))


def _zero_untrained_vectors(module, train_set):
    """Zero the vectors of tokens that occur only in rows that are not trained on."""
    inputs = train_set.data.type_inputs(train_set.rows)
    for network, own in zip(module.trained, inputs, strict=True):
        if hasattr(network, "zero_others"):
            network.zero_others(own)


@contextmanager
def explained_memory_errors(estimator):
    """Raise a MemoryError that names sizes and remedies if memory does not suffice."""
    names = "batch_size", "encoder_dim", "hidden_dims", "network_options"
    shown = ", ".join(f"{name}={getattr(estimator, name)!r}" for name in names)
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Out of GPU memory in training with {shown} ({error}). "
            "Use a smaller batch_size, or the train option dtype='bfloat16'; for "
            "trained transformers, train fewer layers or use a smaller max_length."
        ) from error
    except RuntimeError as error:
        if "you tried to allocate" not in str(error):
            raise
        raise MemoryError(
            f"Out of memory in training with {shown}. Use smaller sizes."
        ) from error


def net_parts(net):
    """Return a trained net as plain values and tensors, for `restored_net`."""
    plain, tensors = net_state_dict(net)
    plain["network"] = net.get_params_for("module")
    plain["criterion"] = net.get_params_for("criterion")
    plain["settings"] = {name: getattr(net, name) for name in _SETTINGS}
    return plain, tensors


def restored_net(modules, plain, tensors):
    """Return a net that is restored from the output of `net_parts`."""
    network, device = plain["network"], available_device(plain["device"])
    net = make_net(modules, network, plain["criterion"], device, **plain["settings"])
    prepared = network["sources"].prepared
    files = [i for i, source in enumerate(prepared) if hasattr(source, "source")]
    light = copy(network["sources"])  # without sources that are read from files
    light.prepared = [_Empty() if i in files else p for i, p in enumerate(prepared)]
    net.is_loading_ = True
    restore_net(
        net,
        lambda: net.module(**{**network, "sources": light}),
        plain,
        tensors,
        ignore=tuple(f"module/trained.{i}." for i in files),
    )
    del net.is_loading_
    return net


class _Empty:
    def network(self):
        return nn.Identity()
