"""Training: the size of batches, the number of epochs, the held-out part, the run."""

import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from sklearn.model_selection import train_test_split

from ..._training._callbacks import StopOnRequest, run_epochs
from ..._training._random import local_generators, swap_default_generators
from ._callbacks import free

# Chosen on development parts by `benchmarks/dynamic_defaults.py`.
MAX_EPOCHS, STEPS_PER_OUTPUT = 100, 16
MIN_BATCH_SIZE, MAX_BATCH_SIZE = 32, 256
# Above so many rows, the size of batches grows with the square root of their number.
ROWS_OF_SMALL_BATCHES = 2500


def auto_batch_size(n_rows, *, has_networks):
    """Return the number of sequences per step of training.

    Large batches take less time per sequence, because they look up and project each
    distinct word once, but few sequences need many steps. The networks of trainable
    sources (`has_networks`) may need much memory per sequence.
    """
    if has_networks:
        return MIN_BATCH_SIZE
    size = MIN_BATCH_SIZE * math.sqrt(n_rows / ROWS_OF_SMALL_BATCHES)
    return round(min(max(size, MIN_BATCH_SIZE), MAX_BATCH_SIZE))


def auto_epochs(n_batches, n_outputs, *, n_steps, min_epochs):
    """Return the number of epochs of training without a held-out part.

    Few rows have few batches, and each of many classes occurs in few of them.
    """
    n_steps = max(n_steps, STEPS_PER_OUTPUT * n_outputs)
    return max(min_epochs, math.ceil(n_steps / n_batches))


def split_rows(whole, labels, units, fraction, random):
    """Return the part of a data set to train on, and the held-out part or None.

    Labels are kept in proportion if each part has room for every label. Labels of one
    row are trained on. Rows of one unit are in one part.

    Parameters
    ----------
    whole : SequenceDataset
    labels : ndarray of shape (n_data,) or None
        The target's `strata`.
    units : ndarray of shape (n_data,) or None
        None divides all rows.
    fraction : float
        The size of the held-out part.
    random : RandomState
    """
    rows, alone = whole.rows, whole.rows[:0]
    if units is not None:  # divide the first rows of units, which the others follow
        rows = rows[np.sort(np.unique(units[rows], return_index=True)[1])]
    if labels is not None:
        labels = labels[rows]
        _, label, counts = np.unique(labels, return_inverse=True, return_counts=True)
        is_alone = counts[label] == 1
        if is_alone.all():
            labels = None
        else:
            alone, rows, labels = rows[is_alone], rows[~is_alone], labels[~is_alone]
    n_rows = len(rows)
    if n_rows < 2:
        return whole, None
    size = min(max(1, round(fraction * n_rows)), n_rows - 1)
    if labels is not None and min(size, n_rows - size) < len(np.unique(labels)):
        labels = None
    train, held_out = train_test_split(
        rows, test_size=size, stratify=labels, random_state=random
    )
    parts = np.concatenate([train, alone]), held_out
    if units is not None:
        every = whole.rows
        parts = [every[np.isin(units[every], units[part])] for part in parts]
    return [replace(whole, rows=part) for part in parts]


def train_net(net, train_set, valid_set, *, n_epochs, seed, tasks):
    """Train a net, and return it without what only training needs.

    Parameters
    ----------
    net : SequenceNet
        Not initialized yet.
    train_set : SequenceDataset
    valid_set : SequenceDataset or None
    n_epochs : int
    seed : int
        Of initial weights and dropout.
    tasks : FitTaskReporter
        Reports epochs to scikit-learn's callbacks.
    """
    with local_generators(seed):
        with swap_default_generators("cpu"):
            net.initialize()
        net.module_.mixer.set_standards(train_set)
        if len(train_set) < len(train_set.data):
            _keep_trained_vectors(net.module_, train_set)
        stop = "stop_on_request", StopOnRequest(tasks)
        callbacks = [("tasks", tasks), *net.callbacks_, stop]
        run_epochs(net, callbacks, train_set, valid_set, n_epochs)
        net.module_.eval()  # without a held-out part, it is in training mode
    net.optimizer_ = None  # twice the size of the weights
    free(net.callbacks_)
    return net


def _keep_trained_vectors(module, train_set):
    """Set the vectors of tokens that only other rows have to 0."""
    pieces = train_set.data.type_pieces(train_set.rows)
    for network, own in zip(module.trained, pieces, strict=True):
        if hasattr(network, "keep"):
            network.keep(own)


@contextmanager
def explained_memory_errors(batch_size):
    """Raise a MemoryError that names remedies if a GPU runs out of memory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Out of GPU memory in training with batch_size={batch_size!r} ({error}). "
            "Use a smaller batch_size, or the train option dtype='bfloat16'; for "
            "trained transformers, train fewer layers or use a smaller max_length."
        ) from error
