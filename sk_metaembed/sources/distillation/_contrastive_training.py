"""Contrastive training of a sentence encoder: pair loss, balanced batches and loop.

This module imports torch, so only functions that train may import it.
"""

from functools import partial

import numpy as np
import torch
from torch.nn.functional import normalize

from ..._training._device import send
from ..._training._minimize import minimize
from ..transformer._network import input_table

_LAST = 5  # steps whose mean loss is compared with the threshold


def pair_loss(vectors, labels):
    """Return the mean squared error of cosines, over the pairs of a batch.

    The cosine of vectors (n, dim) should be 1 for equal labels (n,), and 0 for
    different labels. Each kind of pair has half of the weight; a single kind has all of
    it.
    """
    unit = normalize(vectors, dim=1)
    first, second = torch.triu_indices(len(unit), len(unit), 1, device=unit.device)
    cosines = (unit @ unit.T)[first, second]
    same = labels[first] == labels[second]
    errors = (cosines - same.to(cosines.dtype)).square()
    # Selecting the pairs of a kind would wait for a GPU.
    kinds = torch.stack([same, ~same]).to(errors.dtype)
    counts = kinds.sum(dim=1)
    return (kinds @ errors / counts.clamp(min=1)).sum() / (counts > 0).sum()


def balanced_batches(labels, batch_size, rng):
    """Yield places of rows without end: all, or equally many of each class.

    Classes that do not fit with two rows each take turns. Each class yields all its
    rows before it repeats one.
    """
    if len(labels) <= batch_size:
        while True:
            yield np.arange(len(labels))
    members = [_shuffled(np.flatnonzero(labels == c), rng) for c in np.unique(labels)]
    classes = _shuffled(np.arange(len(members)), rng)
    n_classes = min(len(members), max(batch_size // 2, 2))
    n_rows = batch_size // n_classes
    while True:
        chosen = set()
        while len(chosen) < n_classes:  # the new order may begin with a chosen row
            chosen.add(next(classes))
        rows = [next(members[c]) for c in sorted(chosen) for _ in range(n_rows)]
        yield np.unique(rows)


def _shuffled(values, rng):
    while True:
        yield from rng.permutation(values).tolist()


def train_contrastively(
    module, windows, rows, labels, *, n_steps, lr, batch_size, tol, rng
):
    """Train a `TrainableModule` in place, and return the loss of each step.

    The module has one output at the sequence level. `rows` are sequences with subwords,
    and `labels` their classes. Training stops once the mean loss of the last steps is
    below `tol`.
    """
    device = next(module.parameters()).device
    # The input table is half of a small model; few of its rows occur in the texts.
    table = input_table(module.network)
    if table is not None:
        table.requires_grad_(False)
    optimizer = torch.optim.Adam(module.trained_parameters().values(), lr=lr)
    batches = balanced_batches(labels, batch_size, rng)

    def batch_loss(places):
        inputs = windows.batch(rows[places], partial(send, device=device))
        [(vectors, _)] = module(inputs)
        return pair_loss(vectors, send(labels[places], device))

    module.eval()  # with dropout, training needs more steps
    with torch.enable_grad():
        losses = minimize(
            batch_loss,
            optimizer,
            ([next(batches)] for _ in range(n_steps)),  # an epoch is one step
            lambda losses: len(losses) >= _LAST and np.mean(losses[-_LAST:]) < tol,
            n_epochs=n_steps,
            name="ContrastiveEmbedding",
            remedy=f"Use a smaller lr than {lr}.",
        )
    module.requires_grad_(False)
    return losses
