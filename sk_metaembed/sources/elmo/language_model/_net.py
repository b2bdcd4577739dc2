"""The bidirectional language model as torch modules, its skorch net and callbacks."""

import copy
import math

import numpy as np
import torch
from skorch import NeuralNet
from skorch.callbacks import Callback
from torch import nn
from torch.nn import functional

from ...._training._random import Dropout
from .._model_files import DIRECTIONS, cell_key, weight_shapes
from .._network import encode_words
from ._batches import NO_TARGET


class TrainableBiLM(nn.Module):
    """Token encoder and LSTMs of both directions, over batches of rows and steps.

    Dropout applies to the input of each LSTM layer and to the output of the last. The
    weights have the names and the layout of weight files, and are random at first.
    """

    def __init__(self, options, dropout):
        super().__init__()
        self.options, self.dropout = options, Dropout(dropout)
        self.weights = nn.ParameterDict(initial_weights(options))

    def forward(self, batch, states):
        """Return the output of the last layer, and the states after the batch.

        The output is (2, n_steps, n_rows, projection_dim). States are a list of
        (hidden, cell) per direction and layer; None for zeros.
        """
        words = batch.characters, batch.lengths
        table = encode_words(self.weights, self.options, *words)
        keep = (~batch.is_first).to(table.dtype)[..., None]
        outs, after = [], []
        n_layers = self.options.n_layers
        for d in DIRECTIONS:
            x = functional.embedding(batch.inputs[d], table)
            for k in range(n_layers):
                x = self.dropout(x)
                before = None if states is None else states[d * n_layers + k]
                out, state = self._layer(d, k, x, before, keep)
                skip = self.options.skip_connections and k > 0
                x = out + x if skip else out
                after.append(state)
            outs.append(self.dropout(x))
        return torch.stack(outs), after

    def _layer(self, direction, layer, x, state, keep):
        """Return the hidden states, (n_steps, n_rows, dim), and the last state.

        The state before a step is multiplied by `keep`, which is 0 where a row starts.
        """
        o, n_rows = self.options, x.shape[1]
        if state is None:
            state = [x.new_zeros(n_rows, dim) for dim in (o.projection_dim, o.cell_dim)]
        (hidden, cell), outs = state, []
        weight, bias, projection = (
            self.weights[cell_key(direction, layer, part)]
            for part in ("W_0", "B", "W_P_0")
        )
        input_weight, recurrent = weight.split(o.projection_dim)
        for gates, kept in zip(x @ input_weight + bias, keep, strict=True):
            gates = gates + (hidden * kept) @ recurrent
            i, j, f, out = gates.chunk(4, dim=-1)
            # The forget gate has a bias of 1.
            cell = torch.sigmoid(f + 1) * cell * kept + torch.sigmoid(i) * torch.tanh(j)
            cell = _clip(cell, o.cell_clip)
            hidden = (torch.sigmoid(out) * torch.tanh(cell)) @ projection
            hidden = _clip(hidden, o.proj_clip)
            outs.append(hidden)
        return torch.stack(outs), (hidden.detach(), cell.detach())


def _clip(values, most):
    return values if most is None else values.clamp(-most, most)


def initial_weights(options):
    """Return random weights by name, drawn from torch's default generator.

    Matrices preserve the variance of their input; highway layers pass most of it on at
    first.
    """
    weights = {}
    for name, shape in weight_shapes(options).items():
        if name == "char_embed":
            weights[name] = torch.empty(shape).uniform_(-1, 1)
        elif len(shape) == 1:
            weights[name] = torch.full(shape, -2.0 if "b_carry" in name else 0.0)
        else:
            fan_in = math.prod(shape[:-1])
            gain = math.sqrt(2.0) if name.startswith("CNN/W") else 1.0
            weights[name] = torch.randn(shape) * (gain / math.sqrt(fan_in))
    return weights


_MAX_FULL = 4000  # vocabulary size up to which clusters are not faster
_CUTOFFS = (2000, 10_000, 50_000, 200_000)
_ROWS_PER_BATCH = 1024  # rows with scores of all words in memory, outside training


class FullSoftmax(nn.Module):
    """Cross-entropy over all words, with weights of shape (n_words, dim)."""

    def __init__(self, dim, n_words):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_words, dim) / math.sqrt(dim))
        self.bias = nn.Parameter(torch.zeros(n_words))

    def forward(self, vectors, targets):
        """Return ``-log p(target)`` per row, (n_rows, dim) x (n_rows,) -> (n_rows,)."""
        if torch.is_grad_enabled():
            return self._losses(vectors, targets)
        batches = vectors.split(_ROWS_PER_BATCH), targets.split(_ROWS_PER_BATCH)
        return torch.cat([self._losses(*pair) for pair in zip(*batches, strict=True)])

    def _losses(self, vectors, targets):
        scores = functional.linear(vectors, self.weight, self.bias).float()
        return functional.cross_entropy(scores, targets, reduction="none")


class AdaptiveSoftmax(nn.Module):
    """Full scores of frequent words; rare words in clusters of fewer dimensions.

    Words must be numbered by frequency.
    """

    def __init__(self, dim, n_words):
        super().__init__()
        cutoffs = [c for c in _CUTOFFS if c < n_words] or [max(1, n_words // 2)]
        # Each cluster halves the dimension, so the last keeps at least one.
        cutoffs = cutoffs[: max(1, dim.bit_length() - 1)]
        self.clusters = nn.AdaptiveLogSoftmaxWithLoss(
            dim, n_words, cutoffs, div_value=min(2.0, dim), head_bias=True
        )

    def forward(self, vectors, targets):
        """Return ``-log p(target)`` per row."""
        # AdaptiveLogSoftmaxWithLoss cannot assign losses of lower precision.
        with torch.autocast(vectors.device.type, enabled=False):
            return -self.clusters(vectors.float(), targets).output


def make_softmax(kind, dim, n_words):
    """Return the softmax module of a kind: "auto", "full" or "adaptive"."""
    if kind == "auto":
        kind = "full" if n_words <= _MAX_FULL else "adaptive"
    return (FullSoftmax if kind == "full" else AdaptiveSoftmax)(dim, n_words)


_WARM_UP = 0.02  # share of steps in the warm-up
_FLOOR = 0.02  # final share of the learning rate


class LanguageModule(nn.Module):
    """The network and the softmax over `n_words`, which both directions share."""

    def __init__(self, options, dropout, n_words, softmax):
        super().__init__()
        self.bilm = TrainableBiLM(options, dropout)
        self.softmax = make_softmax(softmax, options.projection_dim, n_words)

    def forward(self, batch, states):
        """Return ``-log p`` of the targets, (2, n_targets), and the states after it."""
        outs, states = self.bilm(batch, states)
        vectors, targets = outs.flatten(0, 2), batch.targets.flatten()
        if 2 * batch.n_targets < len(targets):
            has_target = targets != NO_TARGET
            vectors, targets = vectors[has_target], targets[has_target]
        return self.softmax(vectors, targets).view(2, -1), states


class LanguageNet(NeuralNet):
    """A skorch net over `BPTTBatches`, which carries states from batch to batch.

    With `bfloat16`, training computes matrix products in bfloat16; weights stay
    float32.
    """

    _default_callbacks: list = []  # `_train_net` lists all callbacks

    def __init__(self, *args, bfloat16=False, **kwargs):
        self.bfloat16 = bfloat16
        super().__init__(*args, **kwargs)

    def infer(self, x, **fit_params):
        """Return the losses of a batch, (2, n_targets)."""
        losses, self.carried_ = self.losses(x, self.carried_)
        return losses

    def losses(self, batch, states):
        """Return the losses of a batch, (2, n_targets), and the states after it."""
        device = torch.device(self.device).type
        # Losses of held-out text must not depend on the precision of training.
        low = self.bfloat16 and self.module_.training
        with torch.autocast(device, torch.bfloat16, enabled=low):
            return self.module_(batch, states)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the mean loss per word."""
        return y_pred.mean()

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch, from zero states."""
        self.carried_ = None
        super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)


class RecordPerplexity(Callback):
    """Records perplexities of both directions; keeps the weights of the best epoch.

    Without validation, `best_weights` is None.
    """

    def __init__(self):
        self.best, self.best_weights = math.inf, None

    def on_epoch_begin(self, net, **kwargs):
        """Reset the sums."""
        # Loss forward, loss backward and number of words so far.
        self.sums_ = {"train": np.zeros(3), "valid": np.zeros(3)}

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Add a batch to the sums; raise an error if its loss is not finite."""
        losses = y_pred.detach().sum(dim=1, dtype=torch.float64).tolist()
        if not math.isfinite(sum(losses)):
            raise FloatingPointError(
                f"training diverged in epoch {len(net.history)}: the losses of a batch "
                f"are {losses}. Use a smaller lr."
            )
        self.sums_["train" if training else "valid"] += *losses, y_pred.shape[1]

    def on_epoch_end(self, net, **kwargs):
        """Record the perplexities, and copy the weights if they are the best."""
        self._record(net)
        perplexity = net.history[-1].get("valid_perplexity", math.inf)
        if perplexity < self.best:
            self.best = perplexity
            self.best_weights = copy.deepcopy(net.module_.state_dict())

    def on_train_end(self, net, **kwargs):
        """Record an epoch that a keyboard interrupt ended."""
        if net.history and net.history[-1]["batches"]:
            self._record(net)

    def _record(self, net):
        for part, (forward, backward, n) in self.sums_.items():
            if n:
                for name, value in perplexities(forward, backward, n).items():
                    net.history.record(f"{part}_{name}", value)
        # One record per batch would grow without bound.
        net.history[-1]["batches"] = []


def perplexities(forward, backward, n_words):
    """Return the perplexities of summed losses: per direction, and of their mean.

    >>> values = perplexities(0.0, 2 * math.log(16.0), 2)
    >>> {name: round(value, 6) for name, value in values.items()}
    {'forward': 1.0, 'backward': 16.0, 'perplexity': 4.0}
    """
    losses = np.array([forward, backward, (forward + backward) / 2]) / n_words
    with np.errstate(over="ignore"):
        values = np.exp(losses).tolist()
    return dict(zip(("forward", "backward", "perplexity"), values, strict=True))


def check_finite(net):
    """Raise unless the last training step left finite weights."""
    for name, tensor in net.module_.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise FloatingPointError(
                f"training diverged: {name} has entries that are "
                "not finite. Use a smaller lr."
            )


class LRSchedule(Callback):
    """Sets the learning rate: linear warm-up to `lr`, then cosine decay."""

    def __init__(self, lr, n_steps):
        self.lr, self.n_steps = lr, n_steps
        self.step = 0

    def on_batch_begin(self, net, training=False, **kwargs):
        """Set the learning rate of the next step."""
        if training:
            for group in net.optimizer_.param_groups:
                group["lr"] = self.rate(self.step)
            self.step += 1

    def on_epoch_end(self, net, **kwargs):
        """Record the learning rate at the end of the epoch."""
        net.history.record("lr", self.rate(max(0, self.step - 1)))

    def rate(self, step):
        """Return the learning rate of a step.

        >>> schedule = LRSchedule(lr=1.0, n_steps=100)
        >>> [round(schedule.rate(step), 2) for step in (0, 1, 51, 99)]
        [0.5, 1.0, 0.49, 0.02]
        """
        warm = max(1, round(_WARM_UP * self.n_steps))
        if step < warm:
            return self.lr * (step + 1) / warm
        progress = min(1.0, (step - warm + 1) / max(1, self.n_steps - warm))
        cosine = (1 + math.cos(math.pi * progress)) / 2
        return self.lr * (_FLOOR + (1 - _FLOOR) * cosine)
