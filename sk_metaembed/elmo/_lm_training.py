"""Train an ElmoLanguageModel, evaluate it, and convert its net to plain tensors."""

import numpy as np
import torch
from skorch.callbacks import GradientNormClipping

from .._training._callbacks import StopOnRequest, cloned_callbacks, run_epochs
from .._training._device import resolve_device
from .._training._net_state import available_device, net_state_dict, restore_net
from .._training._random import local_generators, swap_default_generators
from ._bptt import NO_TARGET, BPTTBatches
from ._lm_net import (
    KeepBestWeights,
    LanguageModule,
    LanguageNet,
    LRSchedule,
    RecordPerplexity,
    WriteCheckpoints,
    check_finite,
    read_matching_checkpoint,
)
from ._weight_files import DIRECTIONS

_MAX_GRADIENT_NORM = 1.0
_EVAL_STEPS = 64  # steps per batch outside training


def new_net(model, seed, saved):
    """Return an untrained net, with the weights of a SavedModel if there is one.

    The model has its vocabulary and options.
    """
    device = resolve_device(model.device)
    softmax = model.softmax if saved is None else saved.softmax_kind or model.softmax
    net = make_net(model, softmax, device)
    with local_generators(seed), swap_default_generators("cpu"):
        net.initialize()
        if saved is not None:
            saved.load_into(net.module_)
    return net


def make_net(model, softmax, device):
    """Return a net that is not initialized, with the given kind of softmax."""
    return LanguageNet(
        LanguageModule,
        module__options=model.options_,
        module__dropout=model.dropout,
        module__n_words=len(model.vocabulary_),
        module__softmax=softmax,
        criterion=torch.nn.Identity,
        optimizer=torch.optim.Adam,
        optimizer__fused=device.type == "cuda",  # one kernel for all weights
        lr=model.lr,
        iterator_train=_pass_through,
        iterator_valid=_pass_through,
        train_split=None,
        device=str(device),
        bfloat16=model.dtype == "bfloat16",
        verbose=model.verbose,
    )


def train(model, net, corpora, counts, seed, epochs, checkpoint, is_constant, tasks):
    """Train a net for a number of epochs.

    Parameters
    ----------
    model : ElmoLanguageModel
    net : LanguageNet
    corpora : tuple of corpus and corpus or None
        For training and for validation.
    counts : tuple of CorpusCount and CorpusCount or None
    seed : int
        Seeds the order of rows and dropout.
    epochs : int
    checkpoint : (Path, dict) or None
        File, and identity of the fit.
    is_constant : bool
        Whether the learning rate is constant.
    tasks : FitTaskReporter
    """
    count = counts[0]
    state = None
    if checkpoint is not None:
        state = read_matching_checkpoint(*checkpoint, net.device)
        seed = seed if state is None else state["seed"]
    batch_size = min(model.batch_size, count.n_rows)
    sizes = batch_size, model.n_steps
    train_set = _batches(model, net, corpora[0], *sizes, seed, count)
    valid_set = corpora[1] and _batches(model, net, corpora[1], *sizes, count=counts[1])
    n_words = count.n_words + count.n_rows
    n_steps = epochs * (n_words // (batch_size * model.n_steps) + 1)
    rates = LRSchedule(model.lr, None if is_constant else n_steps)
    counter, keeper = RecordPerplexity(), KeepBestWeights()
    clipping = GradientNormClipping(_MAX_GRADIENT_NORM)
    callbacks = [rates, counter, keeper, clipping]
    with local_generators(seed):
        if checkpoint is not None:
            file, identity = checkpoint
            writer = WriteCheckpoints(file, identity, seed, counter, rates, keeper)
            callbacks.append(writer)
        if state is not None:
            writer.restore(net, state)
            train_set.epoch, train_set.skip = state["n_epochs"], state["n_batches"]
            epochs -= state["n_epochs"]
        # The user's run after all that record state: one of them may end the process.
        callbacks += [*cloned_callbacks(model.callbacks), tasks]
        if epochs > 0:
            stop = StopOnRequest(tasks)
            _run(net, train_set, valid_set, epochs, callbacks, stop)
    keeper.load_best(net)
    check_finite(net)


def _batches(model, net, corpus, batch_size, n_steps, seed=None, count=None):
    """Return the batches of a corpus, shuffled if there is a seed."""
    return BPTTBatches(
        corpus,
        model.vocabulary_,
        model.options_.max_characters,
        batch_size,
        n_steps,
        torch.device(net.device),
        seed,
        count and count.n_rows,
    )


def _run(net, train_set, valid_set, epochs, callbacks, stop):
    """Train with callbacks, or (name, callback) pairs, for this run only."""
    named = [c if isinstance(c, tuple) else (type(c).__name__, c) for c in callbacks]
    for _, callback in named:
        callback.initialize()
    # The log is printed once all values are recorded, and before training stops.
    *own, log = net.callbacks_
    try:
        callbacks = [*own, *named, log, ("stop", stop)]
        run_epochs(net, callbacks, train_set, valid_set, epochs)
    finally:
        net.carried_ = None


def row_losses(model, corpus, batch_size):
    """Return summed losses, (2, n_rows), and numbers of targets, (n_rows,), of rows."""
    net = model.net_
    batches = _batches(model, net, corpus, batch_size, _EVAL_STEPS)
    losses, n_words, n_rows = np.zeros((2, 0)), np.zeros(0, np.int64), 0
    states = None
    net.module_.eval()
    with torch.no_grad():
        for batch, _ in batches:
            batch_losses, states = net.losses(batch, states)
            rows = batch.rows[batch.targets[0] != NO_TARGET].cpu().numpy()
            n_rows = max(n_rows, rows.max() + 1)
            if n_rows > len(n_words):
                losses = np.pad(losses, ((0, 0), (0, n_rows)))
                n_words = np.pad(n_words, (0, n_rows))
            values = batch_losses.double().cpu().numpy()
            for d in DIRECTIONS:
                np.add.at(losses[d], rows, values[d])
            np.add.at(n_words, rows, 1)
    return losses[:, :n_rows], n_words[:n_rows]


def _pass_through(dataset, **kwargs):
    return dataset  # BPTTBatches yields batches; skorch need not collate


# Saved from the net: parameters of the model may have changed since fit.
_NETWORK = ("dropout", "softmax")


def net_parts(model):
    """Return the trained net of a model as plain values and tensors, for `net_of`."""
    plain, tensors = net_state_dict(model.net_)
    network = {name: getattr(model.net_, f"module__{name}") for name in _NETWORK}
    plain["network"], plain["bfloat16"] = network, bool(model.net_.bfloat16)
    return plain, tensors


def net_of(model, plain, tensors):
    """Return the net of a model, restored from the output of `net_parts`."""
    device = available_device(plain["device"])
    net = make_net(model, plain["network"]["softmax"], device)
    for name in _NETWORK:
        setattr(net, f"module__{name}", plain["network"][name])
    net.bfloat16 = plain["bfloat16"]
    sizes = {"options": model.options_, "n_words": len(model.vocabulary_)}
    network = {**sizes, **plain["network"]}
    restore_net(net, lambda: LanguageModule(**network), plain, tensors)
    return net
