"""The skorch net that trains a network, alone or with other processes."""

from contextlib import nullcontext

import torch
from skorch import NeuralNet

from ..._training._random import current_generators, swap_default_generators
from ._distributed import (
    ALONE,
    SharedBatch,
    ShareLoader,
    align,
    train_share,
    valid_share,
)


class StoppedTogether(KeyboardInterrupt):
    """What skorch takes as the end of training, raised in all processes."""


class SequenceNet(NeuralNet):
    """A skorch net whose batches are `Batch` objects and may run in bfloat16.

    Parameters
    ----------
    autocast : torch.dtype or None
        Compute matrix products in this type; weights stay float32.
    mix_penalty : float
        What the squared norm of the scalar mix's scores counts in training.
    at_once : int or None
        Largest number of rows that are computed at once in training.
    """

    processes_ = ALONE  # others while they train together

    def __init__(self, *args, autocast=None, mix_penalty=0.0, at_once=None, **kwargs):
        self.autocast = autocast
        self.mix_penalty = mix_penalty
        self.at_once = at_once
        super().__init__(*args, **kwargs)

    def get_iterator(self, dataset, training=False):
        """Return the batches of an epoch, or what this process has of them."""
        loader = super().get_iterator(dataset, training=training)
        at_once = self.at_once if training else None
        if self.processes_.count == 1 and at_once is None:
            return loader
        return ShareLoader(loader, self.processes_, at_once)

    def train_step_single(self, batch, **fit_params):
        """Compute loss and gradients of a batch."""
        if isinstance(batch, SharedBatch):
            return train_share(self, batch)
        return super().train_step_single(batch, **fit_params)

    def validation_step(self, batch, **fit_params):
        """Compute the loss of a held-out batch."""
        if isinstance(batch, SharedBatch):
            return valid_share(self, batch)
        return super().validation_step(batch, **fit_params)

    def notify(self, method_name, **cb_kwargs):
        """Call the callbacks; an epoch ends training in all processes or in none."""
        if method_name == "on_train_end" and not self.history:
            # skorch has swallowed Ctrl-C, and callbacks look for an epoch.
            raise KeyboardInterrupt
        if self.processes_.count == 1 or method_name != "on_epoch_end":
            if method_name == "on_epoch_begin":
                self._seed_dropout()
            super().notify(method_name, **cb_kwargs)
            return
        stops = False
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt:
            stops = True
        if any(self.processes_.gathered(stops)):
            raise StoppedTogether
        align(self)

    def _seed_dropout(self):
        """Have each process drop something else of its share of the batches.

        Anew each epoch and by the main process, whose generator checkpoints keep.
        """
        if self.processes_.count > 1:
            own = current_generators()
            seed = int(torch.randint(2**31, (), generator=own.on("cpu")))
            seed = self.processes_.told(seed)
            if not self.processes_.is_main:
                own.manual_seed(seed + self.processes_.rank)

    def fit_loop(self, *args, **kwargs):
        """Train; a single process cannot leave the others within an epoch."""
        try:
            return super().fit_loop(*args, **kwargs)
        except KeyboardInterrupt as error:
            if self.processes_.count == 1 or isinstance(error, StoppedTogether):
                raise
            raise RuntimeError(
                "Training was interrupted within an epoch. Where several processes "
                "train together, only the end of an epoch can end it with a trained "
                "net."
            ) from error

    def infer(self, x, **fit_params):
        """Return the module's outputs for a batch."""
        with self._randomness(), self.computing():
            return self.module_(x, **fit_params)

    def _randomness(self):
        """Return a context in which the module may draw random numbers."""
        sources = self.module_.trained
        own = all(getattr(source, "takes_generator", False) for source in sources)
        if self.module_.training and (self.compile or not own):
            return swap_default_generators(self.device)
        return nullcontext()

    def torch_compile(self, module, name):
        """Compile the network alone.

        A tagger's loss goes along the sentence, and would be compiled anew, step by
        step, for every length.
        """
        return module if name == "criterion" else super().torch_compile(module, name)

    def computing(self):
        """Return the context in which the module computes."""
        return torch.autocast(
            torch.device(self.device).type,
            dtype=self.autocast or torch.bfloat16,
            enabled=self.autocast is not None,
        )

    def get_all_learnable_params(self):
        """Yield names and parameters; an optimizer need not know those that rest."""
        for name, parameter in super().get_all_learnable_params():
            if parameter.requires_grad:
                yield name, parameter

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the loss; everything lies on the device already."""
        loss = self.criterion_(y_pred, self.module_.target(y_true), X.weights)
        if training and self.mix_penalty:
            loss = loss + self.mix_penalty * self.module_.mixer.penalty()
        return loss

    def map_batches(self, function, batches):
        """Yield ``(rows, function(batch) as an array)``, without gradients."""
        self.module_.eval()
        with torch.inference_mode(), self.computing():
            for batch in batches:
                yield batch.rows, function(batch).float().cpu().numpy()
