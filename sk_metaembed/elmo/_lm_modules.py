"""The bidirectional language model as a trainable module, and its softmax.

`Recurrence` computes the steps of a clipped, projected LSTM and their gradients by
hand. Autograd would add to the gradients of two large matrices at each step, and keep a
dozen arrays per step. Here the gradient of a matrix is one product over all steps, and
the factors of each step's gradient are computed for all steps at once.
"""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .._training._device import send
from .._training._random import dropout, generator_on
from ._weight_files import DIRECTIONS, cell_key, weight_shapes


class Recurrence(torch.autograd.Function):
    """All steps of one LSTM layer in one direction.

    The arithmetic is that of `LSTMLayer`. Gates are in the order j, i, f, o.
    """

    @staticmethod
    def forward(ctx, gates, recurrent, projection, hidden, cell, keep, clips):
        """Return the hidden states of all steps, and the last hidden state and cell.

        Parameters
        ----------
        gates : tensor of shape (n_steps, n_rows, 4 * cell_dim)
            Input contribution to the gates, with biases.
        recurrent : tensor of shape (projection_dim, 4 * cell_dim)
        projection : tensor of shape (cell_dim, projection_dim)
            Both have the dtype of the products; all else has the dtype of the gates.
        hidden, cell : tensor of shape (n_rows, projection_dim), (n_rows, cell_dim)
            State before the first step; receives no gradient.
        keep : list of tensor of shape (n_rows, 1), or None
            Factor of the state before each step: 0 where a row starts, else 1; None for
            ones.
        clips : tuple of two float or None
            Clipping values of cells and hidden states.

        Returns
        -------
        hidden : tensor of shape (n_steps, n_rows, projection_dim)
        last_hidden, last_cell : tensor
            Without gradient.
        """
        n, gates = cell.shape[-1], gates.clone()
        start = hidden, cell
        cells = cell.new_empty(*gates.shape[:-1], n)
        out = hidden.new_empty(*gates.shape[:-1], hidden.shape[-1])
        for t, step in enumerate(gates.unbind()):
            hidden, cell = _masked(hidden, keep[t]), _masked(cell, keep[t])
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
        d, to_cell, f, u = _factors(gates, _previous(cells, cell, keep), cells)
        clipped_cells, clipped_out = (
            _clipped(cells, cell_clip),
            _clipped(out, proj_clip),
        )
        recurrent_t, projection_t = recurrent.mT, projection.mT
        d_hidden, d_cell = None, torch.zeros_like(cells[0])
        for t in range(len(gates) - 1, -1, -1):
            dh = grad[t] if d_hidden is None else grad[t].add_(d_hidden)
            if clipped_out is not None:
                dh.masked_fill_(clipped_out[t], 0)
            du = _product(dh, projection_t)
            d_cell.addcmul_(du, to_cell[t])
            if clipped_cells is not None:
                d_cell.masked_fill_(clipped_cells[t], 0)
            d_gates = d[t].view(-1, 4, n)
            d_gates[:, :3] *= d_cell[:, None]
            d_gates[:, 3] *= du
            d_cell = _masked(d_cell.mul_(f[t]), keep[t])
            d_hidden = _masked(_product(d[t], recurrent_t), keep[t])
        return (
            d,
            _outer(_previous(out, hidden, keep), d, recurrent),
            _outer(u, grad, projection),
            *[None] * 4,
        )


def _factors(gates, before, cells):
    """Return the factors of the gradients at each step, computed for all steps.

    Takes gates (n_steps, n_rows, 4 * cell_dim), and cells before and after each step,
    (n_steps, n_rows, cell_dim). Returns d, of the gates' shape: from cells (j, i, f)
    and from ``u`` (o) to the inputs of the activations; to_cell: from ``u`` to cells;
    f: from cells to the cells before; and ``u = o * tanh(cell)``, the input of the
    projection.
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


def _previous(values, first, keep):
    """Return the state before each step, in a new tensor."""
    previous = torch.cat([first[None], values[:-1]])
    for t, mask in enumerate(keep):
        if mask is not None:
            previous[t] *= mask
    return previous


def _masked(values, mask):
    return values if mask is None else values * mask


def _clipped(values, clip):
    """Return a mask of the clipped values; None if there are none."""
    if clip is None:
        return None
    mask = values.abs() >= clip
    # Reading a number from a GPU would wait for it.
    return mask if mask.device.type != "cpu" or mask.any() else None


def _add_product(total, x, weight):
    if weight.dtype == total.dtype:
        total.addmm_(x, weight)
    else:
        total += x.to(weight.dtype) @ weight


def _product(x, weight, out=None):
    """Return x @ weight in the dtype of x, computed in that of the weight."""
    if weight.dtype == x.dtype:
        return torch.mm(x, weight, out=out)
    product = x.to(weight.dtype) @ weight
    return product.to(x.dtype) if out is None else out.copy_(product)


def _outer(x, d, weight):
    """Return the gradient of a matrix over all steps, (n_in, n_out)."""
    x, d = (part.flatten(0, 1).to(weight.dtype) for part in (x, d))
    return x.mT @ d


# Words of similar length, convolved together.
_WORDS_PER_BATCH = {"cpu": 256}
_WORDS_PER_BATCH_GPU = 4096


class TrainableBiLM(nn.Module):
    """Token encoder and LSTMs of both directions, over batches of rows and steps.

    Parameters
    ----------
    options : ElmoOptions
    dropout : float
        Dropout rate of the input of each LSTM layer and of the output of the last.
    weights : dict of str to ndarray, default=None
        From `read_weights`; None for random weights.

    Attributes
    ----------
    weights : ParameterDict
        By their names, and in their layout, in weight files.
    """

    def __init__(self, options, dropout, weights=None):
        super().__init__()
        self.options, self.dropout = options, dropout
        weights = initial_weights(options) if weights is None else weights
        self.weights = nn.ParameterDict(
            {name: torch.as_tensor(np.asarray(w)) for name, w in weights.items()}
        )

    def forward(self, batch, states, dtype):
        """Return the output of the last layer, and the states after the batch.

        Parameters
        ----------
        batch : Batch
        states : list of (hidden, cell), or None
            Per direction and layer, from the batch before; None for zeros.
        dtype : torch dtype
            Precision of matrix products.

        Returns
        -------
        outs : tensor of shape (2, n_steps, n_rows, projection_dim)
        states : list of (hidden, cell)
        """
        table = self.words(batch.characters, batch.lengths)
        keep = [
            (~is_first).to(table.dtype)[:, None] if some else None
            for is_first, some in zip(batch.is_first, batch.any_first, strict=True)
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
        """Return the hidden states, (n_steps, n_rows, dim), and the last state."""
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
        w, b = _reorder_gates(w).to(dtype), _reorder_gates(b)
        forget = torch.zeros_like(b)
        forget[2 * o.cell_dim : 3 * o.cell_dim] = 1.0
        input_weight, recurrent = w.split(o.projection_dim)
        gates = (x.to(dtype) @ input_weight).to(x.dtype) + (b + forget)
        with torch.autocast(x.device.type, enabled=False):
            return Recurrence.apply(
                gates, recurrent, p.to(dtype), *state, keep, (o.cell_clip, o.proj_clip)
            )

    def words(self, characters, lengths):
        """Return vectors of words, (n_words, max_characters) -> (n_words, dim)."""
        order = np.argsort(lengths, kind="stable")
        back = send(np.argsort(order), characters.device)
        convolved = []
        size = _WORDS_PER_BATCH.get(characters.device.type, _WORDS_PER_BATCH_GPU)
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            ids = characters[send(batch, characters.device)]
            convolved.append(self._convolve(ids, int(lengths[batch].max())))
        vectors = torch.cat(convolved)
        for k in range(self.options.n_highway):
            prefix = f"CNN_high_{k}/"
            carry = vectors @ self.weights[prefix + "W_carry"]
            carry = torch.sigmoid(carry + self.weights[prefix + "b_carry"])
            new = vectors @ self.weights[prefix + "W_transform"]
            new = torch.relu(new + self.weights[prefix + "b_transform"])
            vectors = torch.lerp(vectors.to(carry.dtype), new, carry)
        if "CNN_proj/W_proj" in self.weights:
            vectors = vectors @ self.weights["CNN_proj/W_proj"]
            vectors = vectors + self.weights["CNN_proj/b_proj"]
        return vectors.float()[back]

    def _convolve(self, ids, longest):
        """Return activated maxima over positions, (n_words, n_filters)."""
        widest = max(width for width, _ in self.options.filters)
        # The last of these windows has only padding, like all further ones.
        ids = ids[:, : longest + widest]
        embedded = functional.embedding(ids, self.weights["char_embed"]).mT
        pooled = []
        for i in range(len(self.options.filters)):
            kernel = self.weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)
            maxima = functional.conv1d(embedded, kernel).amax(dim=2)
            pooled.append(maxima + self.weights[f"CNN/b_cnn_{i}"])
        activation = torch.relu if self.options.activation == "relu" else torch.tanh
        return activation(torch.cat(pooled, dim=1))


def _reorder_gates(tensor):
    """Return gates i, j, f, o as j, i, f, o: first the three that act through the cell.

    >>> import torch
    >>> _reorder_gates(torch.arange(8)).tolist()
    [2, 3, 0, 1, 4, 5, 6, 7]
    """
    i, j, f, o = tensor.chunk(4, dim=-1)
    return torch.cat([j, i, f, o], dim=-1)


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
    return {name: tensor.numpy() for name, tensor in weights.items()}


_MAX_FULL = 4000  # vocabulary size up to which clusters are no faster
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


class SampledSoftmax(FullSoftmax):
    """Trains on the target and a sample of words; in evaluation, the full softmax.

    Words must be numbered by frequency: word k is drawn with probability near ``1 /
    k``. Scores are corrected by the expected count of each word, so that the sum over
    all words is right on average.
    """

    def __init__(self, dim, n_words, n_samples):
        super().__init__(dim, n_words)
        self.n_samples = n_samples

    def forward(self, vectors, targets):
        """Return ``-log p(target)`` per row; in training, relative to the sample."""
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
        others = others.float() - self._log_expected(sample)
        others = others.masked_fill(sample == targets[:, None], -torch.inf)
        own = (vectors * self.weight[targets]).sum(dim=1) + self.bias[targets]
        own = own.float()  # no correction: the target is always included once
        scores = torch.cat([own[:, None], others], dim=1)
        return torch.logsumexp(scores, dim=1) - own

    def _log_expected(self, words):
        """Return the log of the expected count of words in a sample, (n_words,)."""
        p = torch.log1p(1 / (words.double() + 1)) / math.log(len(self.weight) + 1)
        return torch.log(self.n_samples * p).float()


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


def make_softmax(kind, dim, n_words, n_samples):
    """Return the softmax module of a kind: "auto", "full", "sampled" or "adaptive"."""
    if kind == "auto":
        kind = "full" if n_words <= _MAX_FULL else "adaptive"
    if kind == "sampled":
        return SampledSoftmax(dim, n_words, n_samples)
    return (FullSoftmax if kind == "full" else AdaptiveSoftmax)(dim, n_words)
