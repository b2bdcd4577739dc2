"""From an ElmoLanguageModel and its corpus to a trained net, and to its losses.

A trained language model as plain values and tensors, for files without code.
"""

from pathlib import Path

import numpy as np
import torch
from sklearn.base import clone
from skorch.callbacks import GradientNormClipping
from skorch.helper import predefined_split

from .._training._callbacks import StopOnRequest
from .._training._net_state import (
    available_device,
    check_shapes,
    load_net_state_dict,
    net_state_dict,
)
from .._training._parameters import resolve_device
from .._training._random import GeneratorMode, generator_mode_lock, local_generators
from ._bptt import NOTHING, GridStream
from ._lm_net import (
    Checkpoints,
    KeepBest,
    LanguageModule,
    LanguageNet,
    Perplexities,
    Schedule,
    StopWhenDiverged,
    StopWhenWorse,
    check_finite,
    read_matching_checkpoint,
)
from ._weight_files import weight_shapes

_AT_ONCE = 64  # steps of a batch where nothing is learned


def new_net(model, seed, saved):
    """Return a net that has learned nothing yet.

    Parameters
    ----------
    model : ElmoLanguageModel
        With its vocabulary and options.
    seed : int
    saved : Saved or None
        What it begins from.

    Returns
    -------
    LanguageNet
    """
    device = resolve_device(model.device, caller="ElmoLanguageModel")
    softmax = model.softmax if saved is None else saved.softmax(model)
    net = make_net(model, softmax, device)
    with local_generators(seed), generator_mode_lock, GeneratorMode():
        net.initialize()
        if saved is not None:
            saved.load_into(net.module_)
    return net


def make_net(model, softmax, device):
    """Return a net that has no weights yet.

    Parameters
    ----------
    model : ElmoLanguageModel
        With its vocabulary and options.
    softmax : str
        As `make_softmax` takes it.
    device : torch.device

    Returns
    -------
    LanguageNet
    """
    return LanguageNet(
        LanguageModule,
        module__options=model.options_,
        module__dropout=model.dropout,
        module__n_words=len(model.vocabulary_),
        module__softmax=softmax,
        module__n_samples=model.n_samples,
        criterion=torch.nn.Identity,
        optimizer=torch.optim.Adam,
        lr=model.lr,
        iterator_train=_as_it_is,
        iterator_valid=_as_it_is,
        train_split=None,
        device=str(device),
        bfloat16=model.dtype == "bfloat16",
        verbose=model.verbose,
    )


def train(model, net, corpora, counts, seed, epochs, checkpoint, schedule, tasks):
    """Train a net for some epochs.

    Parameters
    ----------
    model : ElmoLanguageModel
    net : LanguageNet
    corpora : tuple of corpus and corpus or None
        To learn from, and to hold out.
    counts : tuple of CorpusCount and CorpusCount or None
        Of these.
    seed : int
        Of the rows' order and of dropout.
    epochs : int
    checkpoint : (path-like, dict) or None
        Where to, and what the fit is told by.
    schedule : {"cosine", "constant"}
    tasks : FitTaskReporter
    """
    count = counts[0]
    device, found = torch.device(net.device), None
    if checkpoint is not None:
        found = read_matching_checkpoint(Path(checkpoint[0]), checkpoint[1], device)
        seed = seed if found is None else found["seed"]
    n_lanes = min(model.batch_size, count.n_rows)
    streams = _streams(model, corpora, counts, seed, device, n_lanes)
    n_words = count.n_words + count.n_rows
    n_steps = epochs * (n_words // (n_lanes * model.n_steps) + 1)
    rates = Schedule(model.lr, n_steps if schedule == "cosine" else None)
    counter, keeper = Perplexities(), KeepBest(model.patience)
    callbacks = [StopWhenDiverged(), rates, counter, keeper]
    if model.gradient_clip is not None:
        callbacks.append(GradientNormClipping(model.gradient_clip))
    with local_generators(seed):
        if checkpoint is not None:
            writer = Checkpoints(
                Path(checkpoint[0]),
                model.checkpoint_every,
                checkpoint[1],
                seed,
                counter,
                rates,
                keeper,
            )
            callbacks.append(writer)
        if found is not None:
            writer.restore(net, found)
            streams[0].epoch = len(found["history"])
            streams[0].skip = found["n_batches"]
            epochs = 0 if keeper.is_over() else epochs - streams[0].epoch
        # After all that keeps account, so that a callback may end the process.
        callbacks += _clones(model.callbacks)
        ends = [StopOnRequest(tasks), StopWhenWorse(keeper)]
        _run(net, streams, epochs, [*callbacks, tasks], ends)
    keeper.load_best(net)
    check_finite(net)


def _streams(model, corpora, counts, seed, device, n_lanes):
    """Return the batches to learn from, in random order, and those held out."""
    return [
        corpus
        and GridStream(
            corpus,
            model._vocabulary,
            model.options_.max_characters,
            n_lanes,
            model.n_steps,
            device,
            order,
            counted and counted.n_rows,
        )
        for corpus, order, counted in zip(corpora, (seed, None), counts, strict=True)
    ]


def _clones(callbacks):
    """Return copies of a user's skorch callbacks, without the names they may have."""
    own = [c[1] if isinstance(c, tuple) else c for c in callbacks or []]
    return [clone(callback, safe=False) for callback in own]


def _run(net, streams, epochs, callbacks, ends):
    """Train with these callbacks, and leave none of them in the net."""
    kept = net.callbacks_
    lists = [
        [(f"{type(c).__name__}{k}", c) for k, c in enumerate(part)]
        for part in (callbacks, ends)
    ]
    # What prints an epoch comes when all is known of it; then what ends training.
    net.callbacks_ = [*kept[:-1], *lists[0], kept[-1], *lists[1]]
    net.train_split = streams[1] and predefined_split(streams[1])
    net.max_epochs = epochs
    for callback in [*callbacks, *ends]:
        callback.initialize()
    try:
        if epochs > 0:
            net.partial_fit(streams[0])
    finally:
        net.callbacks_, net.train_split, net.carried_ = kept, None, None


def row_losses(model, corpus, n_lanes):
    """Return summed losses of rows, and how many words each has.

    Parameters
    ----------
    model : ElmoLanguageModel
        Fitted.
    corpus : corpus, as `read_corpus` gives it
    n_lanes : int

    Returns
    -------
    losses : float64 ndarray of shape (2, n_rows)
        Forward and backward.
    n_words : int64 ndarray of shape (n_rows,)
        The mark that ends a row included.
    """
    net = model.net_
    stream = GridStream(
        corpus,
        model._vocabulary,
        model.options_.max_characters,
        n_lanes,
        _AT_ONCE,
        torch.device(net.device),
    )
    losses, n_words, n_rows = np.zeros((2, 0)), np.zeros(0, np.int64), 0
    states = None
    net.module_.eval()
    with torch.no_grad():
        for batch, _ in stream:
            found, states = net.losses(batch, states)
            rows = batch.rows[batch.targets[0] != NOTHING].cpu().numpy()
            n_rows = max(n_rows, rows.max() + 1)
            if n_rows > len(n_words):
                losses = np.pad(losses, ((0, 0), (0, n_rows)))
                n_words = np.pad(n_words, (0, n_rows))
            for total, values in zip(losses, found.double().cpu().numpy(), strict=True):
                np.add.at(total, rows, values)
            np.add.at(n_words, rows, 1)
    return losses[:, :n_rows], n_words[:n_rows]


def _as_it_is(dataset, **kwargs):
    return dataset


# Of the net's own, since parameters may have been set to something else.
_NETWORK = ("dropout", "softmax", "n_samples")


def net_parts(model):
    """Return what `net_of` builds the net from.

    Parameters
    ----------
    model : ElmoLanguageModel
        Trained.

    Returns
    -------
    plain : dict
    tensors : dict of str to tensor
    """
    plain, tensors = net_state_dict(model.net_)
    told = {name: getattr(model.net_, f"module__{name}") for name in _NETWORK}
    plain["network"], plain["bfloat16"] = told, bool(model.net_.bfloat16)
    return plain, tensors


def net_of(model, plain, tensors):
    """Return the net that `net_parts` told of.

    Parameters
    ----------
    model : ElmoLanguageModel
        With its vocabulary and options.
    plain : dict
    tensors : dict of str to tensor

    Returns
    -------
    LanguageNet
    """
    device = available_device(plain["device"])
    net = make_net(model, plain["network"]["softmax"], device)
    for name in _NETWORK:
        setattr(net, f"module__{name}", plain["network"][name])
    net.bfloat16 = plain["bfloat16"]
    shapes = weight_shapes(model.options_).items()
    sizes = {"options": model.options_, "n_words": len(model.vocabulary_)}
    sizes["weights"] = {name: _weightless(shape) for name, shape in shapes}
    check_shapes(lambda: LanguageModule(**sizes, **plain["network"]), tensors)
    with local_generators(0), generator_mode_lock, GeneratorMode():
        net.initialize()
    load_net_state_dict(net, plain, tensors)
    return net


def _weightless(shape):
    """Return an array of any shape that takes no memory."""
    zero = np.zeros(1, np.float32)
    return np.lib.stride_tricks.as_strided(zero, shape, (0,) * len(shape))
