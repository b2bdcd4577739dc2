"""A batch that is shared: by several processes, or computed part after part.

Each process has all the data and takes its rows of every batch. A part's loss counts by
the weight of its rows, so that losses and gradients add up to those of the whole batch,
however unequal the parts are.
"""

import zlib
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class SharedBatch:
    """What a process computes of a batch.

    Unpacked, it is its last part, which is what a training step's outputs belong to.

    Attributes
    ----------
    parts : list of (Batch, target)
        Computed one after the other. None where there are more processes than rows.
    shares : list of float
        What each part weighs in the whole batch.
    sizes : list of int
        How many rows each process has.
    """

    parts: list
    shares: list
    sizes: list

    def __len__(self):
        return sum(self.sizes)

    def __iter__(self):
        return iter(self.parts[-1])

    def __getitem__(self, i):
        return self.parts[-1][i]


class ShareLoader:
    """Yields the share that this process has of each batch of a loader.

    Parameters
    ----------
    loader : BucketLoader
    processes : Processes
    at_once : int or None
        Largest number of rows that are computed at once.
    """

    def __init__(self, loader, processes, at_once):
        self.loader, self.processes, self.at_once = loader, processes, at_once

    def __iter__(self):
        for rows in self.loader.row_batches():
            yield self._share(rows)

    def _share(self, rows):
        dataset, processes = self.loader.dataset, self.processes
        # In strides, because rows are sorted by length.
        shares = [rows[rank :: processes.count] for rank in range(processes.count)]
        own = shares[processes.rank]
        n_parts = -(-len(own) // (self.at_once or max(len(own), 1)))
        parts = np.array_split(own, n_parts) if n_parts else []
        whole = max(_sum(dataset.weights[rows]), 1e-12)
        return SharedBatch(
            [dataset.batch(part) for part in parts],
            [_sum(dataset.weights[part]) / whole for part in parts],
            [len(share) for share in shares],
        )


def _sum(weights):
    return float(weights.sum(dtype=np.float64))


def train_share(net, batch):
    """Compute this process's share of a batch, and the whole batch's gradients.

    Parameters
    ----------
    net : SequenceNet
    batch : SharedBatch

    Returns
    -------
    dict
        The ``loss`` of the whole batch, and ``y_pred`` of the last part.
    """
    net._set_training(True)
    loss, y_pred = torch.zeros((), device=net.device), None
    for part, share in _parts(net, batch):
        y_pred, own, reported = _forward(net, batch, part, share)
        if own.requires_grad:
            own.backward()
        loss += reported.detach()
    if net.mix_penalty:
        penalty = net.mix_penalty * net.module_.mixer.penalty()
        if torch.is_tensor(penalty):
            penalty = penalty / net.processes_.count
            penalty.backward()
            loss += penalty.detach()
    return {"loss": _add_up(net, loss), "y_pred": y_pred}


def valid_share(net, batch):
    """Return the loss of a whole batch, and ``y_pred`` of this process's share."""
    net._set_training(False)
    loss, y_pred = torch.zeros((), device=net.device), None
    with torch.no_grad():
        for part, share in _parts(net, batch):
            y_pred, _, reported = _forward(net, batch, part, share)
            loss += reported
    return {"loss": net.processes_.total(loss), "y_pred": y_pred}


def _parts(net, batch):
    parts = list(zip(batch.parts, batch.shares, strict=True))
    if not parts and net.criterion_.compares_rows:
        parts = [(None, 0.0)]  # the others wait for this process's rows, even of none
    return parts


def _forward(net, batch, part, share):
    """Return the outputs, the loss to derive, and what to add up to that of all."""
    if net.criterion_.compares_rows:
        return _compared(net, batch, part)
    X, y = part
    y_pred = net.infer(X)
    loss = share * net.get_loss(y_pred, y, X=X)
    return y_pred, loss, loss


def _compared(net, batch, part):
    """As `_forward`, where rows are compared with those of all the batch."""
    processes = net.processes_
    if part is None:
        empty = torch.zeros(0, device=net.device)
        y_pred, weights = empty.new_zeros(0, net.module__n_outputs), empty
        target = y_pred, empty
    else:
        (X, y), weights = part, part[0].weights
        y_pred = net.infer(X)
        target = net.module_.target(y)
    rows = [processes.rows(t, batch.sizes) for t in (y_pred, *target, weights)]
    loss = net.criterion_(rows[0], tuple(rows[1:-1]), rows[-1])
    # Only this process's rows have a gradient, so that all gradients add up to one;
    # but each process has the whole loss.
    return (None if part is None else y_pred), loss, loss / processes.count


def _add_up(net, loss):
    """Add up gradients and loss over all processes; return the loss."""
    processes = net.processes_
    if processes.count == 1:
        return loss
    weights = [weight for _, weight in net.get_all_learnable_params()]
    grads = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
    # A weight that no process used keeps no gradient, so that Adam leaves it alone.
    used = loss.new_tensor([float(weight.grad is not None) for weight in weights])
    flat = [grad.reshape(-1).float() for grad in grads]
    whole = processes.total(torch.cat([*flat, used, loss.reshape(1)]))
    sizes = [len(grad) for grad in flat]
    *flat, used, loss = whole.split([*sizes, len(weights), 1])
    for weight, grad, n_users in zip(weights, flat, used.tolist(), strict=True):
        weight.grad = grad.view_as(weight).to(weight.dtype) if n_users else None
    return loss[0]


def align(net):
    """Give all processes the weights of the main one, bit by bit.

    Parameters
    ----------
    net : SequenceNet
    """
    if net.processes_.count == 1:
        return
    by_type = {}
    with torch.no_grad():
        for tensor in net.module_.state_dict().values():
            if tensor.is_floating_point():
                by_type.setdefault(tensor.dtype, []).append(tensor)
        for tensors in by_type.values():
            flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
            parts = net.processes_.from_main(flat).split([t.numel() for t in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view_as(tensor))


def check_same_data(processes, train_set, valid_set, settings, *, whose):
    """Raise unless all processes were given the same data and settings.

    Parameters
    ----------
    processes : Processes
    train_set : SequenceDataset
    valid_set : SequenceDataset or None
    settings : dict
        Parameters by name.
    whose : str
        The estimator's name.

    Raises
    ------
    ValueError
        With what differs.
    """
    marks = {f"the parameter {name}": value for name, value in settings.items()}
    marks |= _marks(train_set, "training")
    if valid_set is not None:
        marks |= _marks(valid_set, "held-out")
    first = processes.told(marks)
    wrong = [name for name in {**first, **marks} if first.get(name) != marks.get(name)]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{whose}: {name} is {marks.get(name)!r} in process {processes.rank}, but "
            f"{first.get(name)!r} in process 0. Give all processes the same data and "
            "parameters; each takes its share of every batch by itself."
        )


def _marks(dataset, part):
    data = getattr(dataset.data, "sequences", dataset.data)
    some = dataset.rows[:4096]
    arrays = {
        "targets": dataset.target[some],
        "weights": dataset.weights[some],
        "lengths": data.lengths,
        "tokens": data.codes,
    }
    marks = {f"the number of {part} sequences": len(dataset)}
    return marks | {
        f"the checksum of the {part} {name}": zlib.crc32(np.ascontiguousarray(array))
        for name, array in arrays.items()
    }
