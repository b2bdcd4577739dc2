"""Train an ElmoLanguageModel, evaluate it, and convert its net to plain tensors."""

import math

import numpy as np
import torch
from skorch.callbacks import EpochTimer, GradientNormClipping, PrintLog

from ...._core._estimators import fit_task
from ...._training._device import resolve_device
from ...._training._nets import (
    FlushDenormals,
    available_device,
    cloned_callbacks,
    net_state_dict,
    restore_net,
    run_epochs,
)
from ...._training._random import local_generators, swap_default_generators
from ._batches import NO_TARGET, BPTTBatches
from ._corpus import RowsCorpus
from ._net import (
    LanguageModule,
    LanguageNet,
    LRSchedule,
    RecordPerplexity,
    check_finite,
)

_MAX_GRADIENT_NORM = 1.0
_EVAL_STEPS = 64  # steps per batch outside training


def new_net(model, saved):
    """Return an untrained net, with the weights of a SavedModel if there is one.

    The model has its vocabulary and options.
    """
    softmax = model.softmax if saved is None else saved.softmax_kind or model.softmax
    network = {"dropout": model.dropout, "softmax": softmax}
    low = model.dtype == "bfloat16"
    net = make_net(model, network, bfloat16=low, device=resolve_device(model.device))
    with local_generators(_draw_seed(model)), swap_default_generators("cpu"):
        net.initialize()
        if saved is not None:
            saved.load_into(net.module_)
    return net


def make_net(model, network, *, bfloat16, device):
    """Return a net that is not initialized; `network` are further module parameters."""
    return LanguageNet(
        LanguageModule,
        module__options=model.options_,
        module__n_words=len(model.vocabulary_),
        **{f"module__{name}": value for name, value in network.items()},
        criterion=torch.nn.Identity,
        optimizer=torch.optim.Adam,
        optimizer__fused=device.type == "cuda",  # one kernel for all weights
        lr=model.lr,
        iterator_train=_pass_through,
        iterator_valid=_pass_through,
        train_split=None,
        device=str(device),
        bfloat16=bfloat16,
        verbose=model.verbose,
    )


def _pass_through(dataset, **kwargs):
    return dataset  # BPTTBatches yields batches; skorch need not collate


def _draw_seed(model):
    return int(model._random.randint(np.iinfo(np.int32).max))


def train(model, net, data, corpora):
    """Train a net, and set the model's fitted attributes.

    `data` has the X and y of `fit`, for callbacks. `corpora` has the counted corpora
    for training and for validation, or None.
    """
    (X, y), count = data, corpora[0].count
    if isinstance(corpora[0], RowsCorpus):
        X = corpora[0].tokens  # an iterator is exhausted by now
    y = () if y is None else y  # None would not be scored
    task = {"estimator": model, "X": X, "y": y}
    with fit_task(**task, n_parts=model.max_epochs) as context:
        _train_net(model, net, corpora, context, task)
        known = {*model.vocabulary_}
        n_known = sum(n for word, n in count.words.items() if word in known)
        model.n_words_, model.coverage_ = count.n_words, n_known / count.n_words
        model.net_, model.history_, model.n_iter_ = net, net.history, len(net.history)


def _train_net(model, net, corpora, context, task):
    """Train a net; `context` and `task` are those of `run_epochs`."""
    count, seed = corpora[0].count, _draw_seed(model)
    sizes = min(model.batch_size, count.n_rows), model.n_steps
    train_set = _batches(model, net, corpora[0], *sizes, seed)
    valid_set = corpora[1] and _batches(model, net, corpora[1], *sizes)
    n_batches = (count.n_words + count.n_rows) // math.prod(sizes) + 1
    recorder, own = RecordPerplexity(), cloned_callbacks(model.callbacks)
    callbacks = [
        ("epoch_timer", EpochTimer()),
        ("schedule", LRSchedule(model.lr, model.max_epochs * n_batches)),
        ("perplexity", recorder),
        ("clip", GradientNormClipping(_MAX_GRADIENT_NORM)),
        *(c if isinstance(c, tuple) else (type(c).__name__, c) for c in own),
        # The log shows what the callbacks before it have recorded.
        ("print_log", PrintLog()),
        ("denormals", FlushDenormals()),
    ]
    try:
        with local_generators(seed):
            sets, n_epochs = (train_set, valid_set), model.max_epochs
            run_epochs(net, callbacks, *sets, n_epochs, context=context, task=task)
    finally:
        net.carried_ = None
    if recorder.best_weights is not None:
        net.module_.load_state_dict(recorder.best_weights)
    check_finite(net)
    net.optimizer_ = None  # twice the size of the weights


def _batches(model, net, corpus, batch_size, n_steps, seed=None):
    """Return the batches of a corpus, shuffled if there is a seed."""
    sizes = model.options_.max_characters, batch_size, n_steps
    device = torch.device(net.device)
    return BPTTBatches(corpus, model.vocabulary_, *sizes, device, seed)


def row_losses(model, corpus, batch_size):
    """Return summed losses (2, n_rows) and numbers of targets (n_rows,)."""
    net = model.net_
    # Losses forward and backward, and numbers of targets.
    sums, n_rows, states = np.zeros((3, 0)), 0, None
    net.module_.eval()
    with torch.no_grad():
        for batch, _ in _batches(model, net, corpus, batch_size, _EVAL_STEPS):
            losses, states = net.losses(batch, states)
            rows = batch.rows[batch.targets[0] != NO_TARGET].cpu().numpy()
            n_rows = max(n_rows, rows.max() + 1)
            if n_rows > sums.shape[1]:
                sums = np.pad(sums, ((0, 0), (0, n_rows)))
            counted = torch.cat([losses.double(), torch.ones_like(losses[:1])])
            np.add.at(sums.T, rows, counted.cpu().numpy().T)
    return sums[:2, :n_rows], sums[2, :n_rows]


def net_parts(model):
    """Return the trained net of a model as plain values and tensors, for `net_of`."""
    net = model.net_
    plain, tensors = net_state_dict(net)
    # Read from the net: parameters of the model may have changed since fit.
    network = {"dropout": net.module__dropout, "softmax": net.module__softmax}
    return {**plain, "network": network, "bfloat16": bool(net.bfloat16)}, tensors


def net_of(model, plain, tensors):
    """Return the net of a model, restored from the output of `net_parts`."""
    device, low = available_device(plain["device"]), plain["bfloat16"]
    net = make_net(model, plain["network"], bfloat16=low, device=device)
    module = net.get_params_for("module")
    restore_net(net, lambda: LanguageModule(**module), plain, tensors)
    return net
