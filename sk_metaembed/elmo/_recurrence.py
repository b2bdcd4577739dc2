"""Recurrence: the steps of a clipped, projected LSTM, their gradients by hand.

Left to autograd, every step adds its share to the gradients of two large matrices, and
keeps a dozen arrays. Here the gradients of matrices are one product over all steps, and
what a step multiplies by is made ready for all steps at once.
"""

import torch


class Recurrence(torch.autograd.Function):
    """All steps of a layer in one direction, from the input's share of the gates.

    The arithmetic is that of `Lane`. Gates stand in the order j, i, f, o.
    """

    @staticmethod
    def forward(ctx, gates, recurrent, projection, hidden, cell, keep, clips):
        """Return the hidden states, and what the last step leaves.

        Parameters
        ----------
        gates : tensor of shape (n_steps, n_rows, 4 * cell_dim)
            From the input, biases included.
        recurrent : tensor of shape (projection_dim, 4 * cell_dim)
        projection : tensor of shape (cell_dim, projection_dim)
            Their dtype is that of the products; all else is of the gates' dtype.
        hidden, cell : tensor of shape (n_rows, projection_dim), (n_rows, cell_dim)
            What the first step goes on from. No gradient flows into them.
        keep : list of tensor of shape (n_rows, 1), or None
            For each step, 0 where a row begins anew and 1 elsewhere; None for ones.
        clips : tuple of two float or None
            Of cells and of hidden states.

        Returns
        -------
        hidden : tensor of shape (n_steps, n_rows, projection_dim)
        last_hidden, last_cell : tensor
            Without gradients.
        """
        n, gates = cell.shape[-1], gates.clone()
        start = hidden, cell
        cells = cell.new_empty(*gates.shape[:-1], n)
        out = hidden.new_empty(*gates.shape[:-1], hidden.shape[-1])
        for t, step in enumerate(gates.unbind()):
            hidden, cell = _kept(hidden, keep[t]), _kept(cell, keep[t])
            _add_product(step, hidden, recurrent)
            j, i = step[:, :n].tanh_(), step[:, n : 2 * n]
            step[:, n:].sigmoid_()
            f, o = step[:, 2 * n : 3 * n], step[:, 3 * n :]
            cell = torch.mul(f, cell, out=cells[t]).addcmul_(i, j)
            if clips[0] is not None:
                cell.clamp_(-clips[0], clips[0])
            hidden = _product(torch.tanh(cell).mul_(o), projection, out[t])
            if clips[1] is not None:
                hidden.clamp_(-clips[1], clips[1])
        ctx.save_for_backward(gates, cells, out, recurrent, projection, *start)
        ctx.keep, ctx.clips = keep, clips
        last = hidden.clone(), cell.clone()
        ctx.mark_non_differentiable(*last)
        return out, *last

    @staticmethod
    def backward(ctx, grad, *_):
        """Return the gradients of the gates and of both matrices."""
        gates, cells, out, recurrent, projection, hidden, cell = ctx.saved_tensors
        keep, (cell_clip, proj_clip) = ctx.keep, ctx.clips
        n, grad = cells.shape[-1], grad.clone()
        d, to_cell, f, u = _factors(gates, _before(cells, cell, keep), cells)
        cut_cells, cut_out = _cut(cells, cell_clip), _cut(out, proj_clip)
        back = recurrent.mT, projection.mT
        d_hidden, d_cell = None, torch.zeros_like(cells[0])
        for t in range(len(gates) - 1, -1, -1):
            dh = grad[t] if d_hidden is None else grad[t].add_(d_hidden)
            if cut_out is not None:
                dh.masked_fill_(cut_out[t], 0)
            du = _product(dh, back[1])
            d_cell.addcmul_(du, to_cell[t])
            if cut_cells is not None:
                d_cell.masked_fill_(cut_cells[t], 0)
            of_step = d[t].view(-1, 4, n)
            of_step[:, :3] *= d_cell[:, None]
            of_step[:, 3] *= du
            d_cell = _kept(d_cell.mul_(f[t]), keep[t])
            d_hidden = _kept(_product(d[t], back[0]), keep[t])
        return (
            d,
            _outer(_before(out, hidden, keep), d, recurrent),
            _outer(u, grad, projection),
            *[None] * 4,
        )


def _factors(gates, before, cells):
    """Return what each step's gradients are multiplied by.

    Parameters
    ----------
    gates : tensor of shape (n_steps, n_rows, 4 * cell_dim)
    before, cells : tensor of shape (n_steps, n_rows, cell_dim)
        Cells before and after each step.

    Returns
    -------
    d : tensor of the gates' shape
        From cells (j, i, f) and from ``u`` (o) to the sums before the activations.
    to_cell : tensor
        From ``u`` to the cells.
    f : tensor
        From cells to those of the step before.
    u : tensor
        What is projected, ``o * tanh(cell)``.
    """
    j, i, f, o = gates.chunk(4, dim=-1)
    squashed = torch.tanh(cells)
    u = o * squashed
    d = torch.cat(
        [
            i * (1 - j * j),
            j * i * (1 - i),
            before.mul_(f).mul_(1 - f),
            u * (1 - o),
        ],
        dim=-1,
    )
    return d, o - u * squashed, f, u


def _before(values, first, keep):
    """Return what each step went on from, in a new tensor."""
    found = torch.cat([first[None], values[:-1]])
    for t, mask in enumerate(keep):
        if mask is not None:
            found[t] *= mask
    return found


def _kept(values, mask):
    return values if mask is None else values * mask


def _cut(values, clip):
    """Return where values were clipped, or None where none were."""
    if clip is None:
        return None
    cut = values.abs() >= clip
    return cut if cut.any() else None


def _add_product(total, x, weight):
    if weight.dtype == total.dtype:
        total.addmm_(x, weight)
    else:
        total += x.to(weight.dtype) @ weight


def _product(x, weight, out=None):
    """Return the product with a weight of perhaps another precision."""
    if weight.dtype == x.dtype:
        return torch.mm(x, weight, out=out)
    found = x.to(weight.dtype) @ weight
    return found.to(x.dtype) if out is None else out.copy_(found)


def _outer(x, d, weight):
    """Return a matrix's gradient over all steps."""
    x, d = (part.flatten(0, 1).to(weight.dtype) for part in (x, d))
    return x.mT @ d
