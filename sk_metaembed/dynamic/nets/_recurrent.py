"""LSTM and GRU layers and the maximum over time on a CPU, with compiled loops.

torch's own layers compute the gradients of the weights step by step, and its GRU
without oneDNN. Here the input's part of all gates is one product over all tokens, and
so is the gradient of each weight. Only the product with the last state is left to a
step; its weights are packed once per batch.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ..._training._memory import Arena
from ..._training._products import packed, product, transposed
from ._cells_numba import (
    gru_backward,
    gru_forward,
    lstm_backward,
    lstm_forward,
    segment_max_backward,
)

# Rows of all steps together from which packing pays.
_MIN_PACKED_ROWS = 256


class Steps(NamedTuple):
    """The tokens of a batch sorted by step, and within a step by sequence.

    The longest sequence is first, so that row k of a step belongs to the same sequence
    as row k of the step before.

    Attributes
    ----------
    rows : tuple of two int64 ndarrays, shape (n_tokens,)
        The token of each row, where sequences are read from their start or their end.
    sizes : list of int
        Number of rows of each step, which decreases.
    """

    rows: tuple
    sizes: list


def steps_of(lengths, n_streams=1):
    """Return the `Steps` of sequences, int64 (n_sequences,), with streams per token."""
    order = np.argsort(-lengths, kind="stable")
    firsts, lengths = (np.cumsum(lengths) - lengths)[order], lengths[order]
    steps = np.arange(lengths[0] if len(lengths) else 0)[:, None]
    exists = steps < lengths
    places = (firsts + steps)[exists], (firsts + lengths - 1 - steps)[exists]
    streams = np.arange(n_streams)
    rows = tuple((p[:, None] * n_streams + streams).ravel() for p in places)
    return Steps(rows, (exists.sum(axis=1) * n_streams).tolist())


def recurrent_states(layers, tokens, lengths):
    """Return the states of layers that read the same tokens, side by side.

    Products are computed in the type of autocast, and everything else in float32.

    Parameters
    ----------
    layers : list of nn.LSTM or nn.GRU
        The first one reads from the start, a second one from the end.
    tokens : float32 tensor of shape (n_tokens, dim) or (n_tokens, n_streams, dim)
        Streams are independent of each other.
    lengths : int64 tensor of shape (n_sequences,)

    Returns
    -------
    float32 tensor of shape (n_tokens, n_layers * dim), with streams like `tokens`
    """
    dtype = torch.float32
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
    steps = steps_of(lengths.numpy(), tokens.shape[1:-1].numel())
    cell = _LSTM if isinstance(layers[0], nn.LSTM) else _GRU
    weights = [weight for layer in layers for weight in layer.parameters()]
    flat = tokens.reshape(-1, tokens.shape[-1]).float()
    learns = torch.is_grad_enabled()
    states = _Recurrence.apply(cell, steps, dtype, learns, flat, *weights)
    return states.view(*tokens.shape[:-1], -1)


class _Recurrence(torch.autograd.Function):
    """The states of recurrent layers over the same tokens."""

    @staticmethod
    def forward(ctx, cell, steps, dtype, learns, tokens, *weights):
        dim = weights[1].shape[1]
        groups = [weights[i : i + 4] for i in range(0, len(weights), 4)]
        out = tokens.new_empty(len(tokens), len(groups) * dim)
        ctx.layers = [
            cell(steps.rows[i], steps.sizes, dtype, i * dim) for i in range(len(groups))
        ]
        for layer, group in zip(ctx.layers, groups, strict=True):
            layer.forward(tokens, group, out.numpy())
            if not learns:
                layer.arena.give_back()
        ctx.save_for_backward(out, *weights)
        return out

    @staticmethod
    def backward(ctx, out_grad):
        out, *weights = ctx.saved_tensors
        of_out = out.numpy(), out_grad.contiguous().numpy()
        tokens_grad, weight_grads = None, []
        for i, layer in enumerate(ctx.layers):
            own, grads = layer.backward(*of_out, *weights[4 * i : 4 * i + 2])
            weight_grads += grads
            layer.arena.give_back()
            if tokens_grad is None:
                tokens_grad = torch.empty_like(own).index_copy_(0, layer.places, own)
            else:
                tokens_grad.index_add_(0, layer.places, own)
        ctx.layers = None
        return None, None, None, None, tokens_grad, *weight_grads


class _Layer:
    """One layer in one direction, for one batch.

    Parameters
    ----------
    rows : int64 ndarray of shape (n_rows,)
    sizes : list of int
    dtype : torch dtype
        Of the products; all other numbers are float32.
    column : int
        The first column of the states in the output.
    """

    def __init__(self, rows, sizes, dtype, column):
        self.rows, self.sizes = rows, sizes
        self.dtype, self.column = dtype, column
        self.places = torch.from_numpy(rows)
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        self.steps = list(zip(starts, [-1, *starts[:-1]], sizes, strict=True))

    def forward(self, tokens, weights, out):
        """Write the states of all tokens to `out`."""
        w_input, w_state, *biases = weights
        n_rows, n_first, dim = len(tokens), self.sizes[0], w_state.shape[1]
        (n_gates, dim_in), dtype = w_input.shape, self.dtype
        # Gates and `inner` twice: their gradients are rounded or transposed.
        width = dim_in + 3 * dim + 2 * n_gates
        self.arena = arena = Arena(n_rows * width + n_first * (n_gates + 2 * dim))
        self.inputs = arena.take(n_rows, dim_in, dtype=dtype)
        self.inputs.copy_(tokens[self.places])
        self.previous = arena.take(n_rows, dim, dtype=dtype)
        self.previous[:n_first].zero_()
        self.gates = arena.take(n_rows, n_gates)
        self.inner = arena.take(n_rows, dim)
        states = arena.take(n_first, dim)
        w_input, w_state = self._packed(w_input), self._packed(w_state)
        step = self._step(*biases)
        products = [None, None]
        for (start, before, n), n_next in zip(
            self.steps, [*self.sizes[1:], 0], strict=True
        ):
            products[0] = product(self.inputs[start : start + n], w_input)
            if before >= 0:
                products[1] = product(self.previous[start : start + n], w_state)
            else:
                products[1] = products[0]
            step(*map(_array, products), states.numpy(), out, start, before, n)
            after = start + n
            self.previous[after : after + n_next] = states[:n_next]

    def backward(self, out, out_grad, w_input, w_state):
        """Return the gradients of the inputs, and of weights and biases, float32."""
        n_first, dim = self.sizes[0], w_state.shape[1]
        weight = self._packed(w_state.t())
        # What reaches the last step without a product.
        direct = self.arena.take(n_first, dim).zero_().numpy()
        later, n_next = direct, 0
        step_back = self._step_back(out, out_grad, direct)
        for start, before, n in reversed(self.steps):
            grads = step_back(later, start, before, n, n_next)
            if before >= 0:
                later = _array(product(grads.to(self.dtype), weight))
            n_next = n
        grads = self._rounded(self.gates)
        own = product(grads, w_input.to(self.dtype).t()).float()
        return own, self._weight_grads(grads)

    def _rounded(self, grads):
        """Return gradients in the type of products."""
        if self.dtype == torch.float32:
            return grads
        return self.arena.take(*grads.shape, dtype=self.dtype).copy_(grads)

    def _transposed(self, grads):
        out = None
        if self.dtype == torch.float32:
            out = self.arena.take(*grads.t().shape)
        return transposed(grads, out)

    def _packed(self, weight):
        weight, n_first = weight.to(self.dtype), self.sizes[0]
        few = len(self.rows) - n_first < _MIN_PACKED_ROWS
        return weight if few else packed(weight, n_first)


def _array(tensor):
    """Return a tensor as the kernels read it."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy()
    return tensor.numpy()


class _LSTM(_Layer):
    """Rows of the weights are those of the gates i, f, g, o; `inner` are the cells."""

    def _step(self, of_input, of_state):
        bias = (of_input + of_state).numpy()
        gates, cells = self.gates.numpy(), self.inner.numpy()

        def step(of_input, of_state, states, out, *place):
            lstm_forward(
                of_input,
                of_state,
                bias,
                gates,
                cells,
                states,
                out,
                self.column,
                self.rows,
                *place,
            )

        return step

    def _step_back(self, out, out_grad, cell_grad):
        gates, cells = self.gates.numpy(), self.inner.numpy()
        self._bias_grad = torch.zeros(gates.shape[1])

        def step_back(later, start, before, n, n_next):
            lstm_backward(
                gates,
                cells,
                cell_grad,
                self._bias_grad.numpy(),
                out_grad,
                self.column,
                self.rows,
                later,
                start,
                before,
                n,
                n_next,
            )
            return self.gates[start : start + n]

        return step_back

    def _weight_grads(self, grads):
        by_gate = self._transposed(grads)
        of_input = product(by_gate, self.inputs.t()).float()
        of_state = product(by_gate, self.previous.t()).float()
        return [of_input, of_state, self._bias_grad, self._bias_grad]


class _GRU(_Layer):
    """Rows of the weights are those of r, z, n; `inner` is the state's part of n."""

    def _step(self, of_input, of_state):
        dim = self.inner.shape[1]
        bias = of_input.clone()
        bias[: 2 * dim] += of_state[: 2 * dim]
        bias, state_bias = bias.numpy(), of_state[2 * dim :].numpy()
        gates, inner = self.gates.numpy(), self.inner.numpy()

        def step(of_input, of_state, states, out, *place):
            gru_forward(
                of_input,
                of_state,
                bias,
                state_bias,
                gates,
                inner,
                states,
                out,
                self.column,
                self.rows,
                *place,
            )

        return step

    def _step_back(self, out, out_grad, state_grad):
        gates, inner = self.gates.numpy(), self.inner.numpy()
        self._bias_grad = torch.zeros(gates.shape[1] + inner.shape[1])
        grads = self.arena.take(self.sizes[0], gates.shape[1])

        def step_back(later, start, before, n, n_next):
            gru_backward(
                gates,
                inner,
                state_grad,
                grads.numpy(),
                self._bias_grad.numpy(),
                out,
                out_grad,
                self.column,
                self.rows,
                later,
                start,
                before,
                n,
                n_next,
            )
            return grads[:n]

        return step_back

    def _weight_grads(self, grads):
        dim, previous = self.inner.shape[1], self.previous.t()
        by_gate = self._transposed(grads)
        by_inner = self._transposed(self._rounded(self.inner))
        of_input = product(by_gate, self.inputs.t()).float()
        parts = product(by_gate[: 2 * dim], previous), product(by_inner, previous)
        bias, inner_bias = self._bias_grad[: 3 * dim], self._bias_grad[3 * dim :]
        state_bias = torch.cat([bias[: 2 * dim], inner_bias])
        return [of_input, torch.cat(parts).float(), bias, state_bias]


class SegmentMax(torch.autograd.Function):
    """The maximum over tokens, float32 (n_tokens, dim) to (n_sequences, dim)."""

    @staticmethod
    def forward(ctx, tokens, lengths, maximum):
        """Return ``maximum(tokens)``, the largest values of each sequence."""
        largest = maximum(tokens)
        ctx.save_for_backward(tokens, lengths, largest)
        return largest

    @staticmethod
    def backward(ctx, grad):
        """Return the gradient of the tokens."""
        tokens, lengths, largest = (part.numpy() for part in ctx.saved_tensors)
        own = torch.empty(tokens.shape)
        segment_max_backward(
            tokens, largest, grad.contiguous().numpy(), lengths, own.numpy()
        )
        return own, None, None
