"""TrainableBiLM: the bidirectional language model as a module that learns.

The softmax over a vocabulary: in full, sampled, or in clusters.

Recurrence: the steps of a clipped, projected LSTM, their gradients by hand.

Left to autograd, every step adds its share to the gradients of two large matrices, and
keeps a dozen arrays. Here the gradients of matrices are one product over all steps, and
what a step multiplies by is made ready for all steps at once.
"""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .._training._random import dropout, generator_on
from ._weight_files import DIRECTIONS, cell_key, weight_shapes


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


_AT_ONCE = 256  # words, of like length, whose characters are convolved together


class TrainableBiLM(nn.Module):
    """Token encoder and LSTMs of both directions, over a grid of rows and steps.

    Parameters
    ----------
    options : ElmoOptions
    dropout : float
        Of what goes into each LSTM layer, and of what comes out of the last.
    weights : dict of str to ndarray, default=None
        As `read_weights` gives them; None for random ones.

    Attributes
    ----------
    weights : ParameterDict
        By the names that the arrays have in a file, in the files' layout.
    """

    def __init__(self, options, dropout, weights=None):
        super().__init__()
        self.options, self.dropout = options, dropout
        weights = initial_weights(options) if weights is None else weights
        self.weights = nn.ParameterDict(
            {name: torch.as_tensor(np.asarray(w)) for name, w in weights.items()}
        )

    def forward(self, batch, states, dtype):
        """Return what the last layer gives at each place of the grid.

        Parameters
        ----------
        batch : Batch
        states : list of (hidden, cell), or None
            Of each direction and layer, what the rows go on from; None for zeros.
        dtype : torch dtype
            Of the products.

        Returns
        -------
        outs : tensor of shape (2, n_steps, n_rows, projection_dim)
        states : list of (hidden, cell)
        """
        table = self.words(batch.characters, batch.lengths)
        keep = [
            (~fresh).to(table.dtype)[:, None] if some else None
            for fresh, some in zip(batch.fresh, batch.some_fresh, strict=True)
        ]
        outs, after = [], []
        n_layers = self.options.n_layers
        for d in DIRECTIONS:
            x = functional.embedding(batch.inputs[d], table)
            for k in range(n_layers):
                x = dropout(x, self.dropout, self.training)
                before = None if states is None else states[d * n_layers + k]
                out, *state = self._layer(d, k, x, before, keep, dtype)
                skip = self.options.skip_connections and k > 0
                x = out + x if skip else out
                after.append(tuple(state))
            outs.append(dropout(x, self.dropout, self.training))
        return torch.stack(outs), after

    def _layer(self, direction, layer, x, state, keep, dtype):
        """Return a layer's hidden states, and what its rows end with."""
        o, n_rows = self.options, x.shape[1]
        if state is None:
            state = (
                x.new_zeros(n_rows, o.projection_dim),
                x.new_zeros(n_rows, o.cell_dim),
            )
        w, b, p = (
            self.weights[cell_key(direction, layer, part)]
            for part in ("W_0", "B", "W_P_0")
        )
        w, b = _reordered(w).to(dtype), _reordered(b)
        forget = torch.zeros_like(b)
        forget[2 * o.cell_dim : 3 * o.cell_dim] = 1.0
        of_input, recurrent = w.split(o.projection_dim)
        gates = (x.to(dtype) @ of_input).to(x.dtype) + (b + forget)
        with torch.autocast(x.device.type, enabled=False):
            return Recurrence.apply(
                gates, recurrent, p.to(dtype), *state, keep, (o.cell_clip, o.proj_clip)
            )

    def words(self, characters, lengths):
        """Return the vectors of words.

        Parameters
        ----------
        characters : int64 tensor of shape (n_words, max_characters)
        lengths : ndarray of int64, shape (n_words,)
            Characters before padding.

        Returns
        -------
        tensor of shape (n_words, projection_dim)
        """
        order = np.argsort(lengths, kind="stable")
        back = torch.from_numpy(np.argsort(order)).to(characters.device)
        found = []
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            ids = characters[torch.from_numpy(some).to(characters.device)]
            found.append(self._convolved(ids, int(lengths[some].max())))
        vectors = torch.cat(found)
        for k in range(self.options.n_highway):
            of = f"CNN_high_{k}/"
            carry = vectors @ self.weights[of + "W_carry"]
            carry = torch.sigmoid(carry + self.weights[of + "b_carry"])
            new = vectors @ self.weights[of + "W_transform"]
            new = torch.relu(new + self.weights[of + "b_transform"])
            vectors = torch.lerp(vectors.to(carry.dtype), new, carry)
        if "CNN_proj/W_proj" in self.weights:
            vectors = vectors @ self.weights["CNN_proj/W_proj"]
            vectors = vectors + self.weights["CNN_proj/b_proj"]
        return vectors.float()[back]

    def _convolved(self, ids, longest):
        """Return the maxima over positions, activated, (n_words, n_filters)."""
        widest = max(width for width, _ in self.options.filters)
        # Further windows see nothing but padding, as the last of these does.
        ids = ids[:, : longest + widest]
        seen = functional.embedding(ids, self.weights["char_embed"]).mT
        found = []
        for i in range(len(self.options.filters)):
            kernel = self.weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)
            maxima = functional.conv1d(seen, kernel).amax(dim=2)
            found.append(maxima + self.weights[f"CNN/b_cnn_{i}"])
        activation = torch.relu if self.options.activation == "relu" else torch.tanh
        return activation(torch.cat(found, dim=1))


def _reordered(tensor):
    """Return gates i, j, f, o as j, i, f, o: three that act through the cell first.

    >>> import torch
    >>> _reordered(torch.arange(8)).tolist()
    [2, 3, 0, 1, 4, 5, 6, 7]
    """
    i, j, f, o = tensor.chunk(4, dim=-1)
    return torch.cat([j, i, f, o], dim=-1)


def initial_weights(options):
    """Return random weights, drawn from torch's default generator.

    Matrices keep the variance of what goes through them; highways carry most of it at
    first.

    Parameters
    ----------
    options : ElmoOptions

    Returns
    -------
    dict of str to ndarray
    """
    found = {}
    for name, shape in weight_shapes(options).items():
        if name == "char_embed":
            found[name] = torch.empty(shape).uniform_(-1, 1)
        elif len(shape) == 1:
            found[name] = torch.full(shape, -2.0 if "b_carry" in name else 0.0)
        else:
            fan_in = math.prod(shape[:-1])
            gain = math.sqrt(2.0) if name.startswith("CNN/W") else 1.0
            found[name] = torch.randn(shape) * (gain / math.sqrt(fan_in))
    return {name: tensor.numpy() for name, tensor in found.items()}


_FULL_UP_TO = 4000  # words, up to which clusters gain nothing
_CUTOFFS = (2000, 10_000, 50_000, 200_000)
_ROWS = 1024  # whose scores of all words are held at once where nothing is learned


class FullSoftmax(nn.Module):
    """Scores of all words.

    Parameters
    ----------
    dim, n_words : int
    """

    def __init__(self, dim, n_words):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_words, dim) / math.sqrt(dim))
        self.bias = nn.Parameter(torch.zeros(n_words))

    def forward(self, vectors, targets):
        """Return ``-log p(target)`` of each row.

        Parameters
        ----------
        vectors : tensor of shape (n_rows, dim)
        targets : int64 tensor of shape (n_rows,)

        Returns
        -------
        tensor of shape (n_rows,)
        """
        if torch.is_grad_enabled():
            return self._losses(vectors, targets)
        pairs = zip(vectors.split(_ROWS), targets.split(_ROWS), strict=True)
        return torch.cat([self._losses(*pair) for pair in pairs])

    def _losses(self, vectors, targets):
        scores = functional.linear(vectors, self.weight, self.bias).float()
        return functional.cross_entropy(scores, targets, reduction="none")


class SampledSoftmax(FullSoftmax):
    """Learns from the target and a sample of words; elsewhere it is the full one.

    Words must be numbered by frequency: a number k is drawn with a probability near
    ``1 / k``. Each that is drawn stands for as many as make the sum over all words
    right on average.

    Parameters
    ----------
    dim, n_words, n_samples : int
    """

    def __init__(self, dim, n_words, n_samples):
        super().__init__(dim, n_words)
        self.n_samples = n_samples

    def forward(self, vectors, targets):
        """Return ``-log p(target)``, among the sample while learning."""
        if not self.training:
            return super().forward(vectors, targets)
        n_words = len(self.weight)
        draw = torch.rand(
            self.n_samples,
            device=vectors.device,
            dtype=torch.float64,
            generator=generator_on(vectors.device),
        )
        sample = torch.exp(draw * math.log(n_words + 1)).long() - 1
        sample = sample.clamp_(0, n_words - 1)
        others = functional.linear(vectors, self.weight[sample], self.bias[sample])
        others = others.float() - self._expected(sample)
        others = others.masked_fill(sample == targets[:, None], -torch.inf)
        own = (vectors * self.weight[targets]).sum(dim=1) + self.bias[targets]
        # It is always there, and stands for itself alone.
        own = own.float()
        scores = torch.cat([own[:, None], others], dim=1)
        return torch.logsumexp(scores, dim=1) - own

    def _expected(self, words):
        """Return the log of how often words are expected in a sample."""
        p = torch.log1p(1 / (words.double() + 1)) / math.log(len(self.weight) + 1)
        return torch.log(self.n_samples * p).float()


class AdaptiveSoftmax(nn.Module):
    """Frequent words by themselves, the others by cluster, in fewer dimensions.

    Parameters
    ----------
    dim, n_words : int
        Words must be numbered by frequency.
    """

    def __init__(self, dim, n_words):
        super().__init__()
        cutoffs = [c for c in _CUTOFFS if c < n_words] or [max(1, n_words // 2)]
        # The last cluster has a dimension, too.
        cutoffs = cutoffs[: max(1, dim.bit_length() - 1)]
        self.clusters = nn.AdaptiveLogSoftmaxWithLoss(
            dim, n_words, cutoffs, div_value=min(2.0, dim), head_bias=True
        )

    def forward(self, vectors, targets):
        """Return ``-log p(target)`` of each row."""
        # It cannot put losses of lower precision in their places.
        with torch.autocast(vectors.device.type, enabled=False):
            return -self.clusters(vectors.float(), targets).output


def make_softmax(kind, dim, n_words, n_samples):
    """Return the softmax of a kind.

    Parameters
    ----------
    kind : {"auto", "full", "sampled", "adaptive"}
    dim, n_words, n_samples : int

    Returns
    -------
    nn.Module
    """
    if kind == "auto":
        kind = "full" if n_words <= _FULL_UP_TO else "adaptive"
    if kind == "sampled":
        return SampledSoftmax(dim, n_words, n_samples)
    return (FullSoftmax if kind == "full" else AdaptiveSoftmax)(dim, n_words)
