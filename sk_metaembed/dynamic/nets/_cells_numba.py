"""The gates of one step of an LSTM or a GRU, forward and backward.

The rows of a batch's tokens are sorted by step, and within a step the longest sequence
is first. So a step has no more rows than the one before it, and row k of both belongs
to the same sequence. Parameters of the functions, float32 where nothing else is said:

of_input, of_state : of shape (n, n_gates * dim), bfloat16 as uint16 too
    The products of the weights with the input and with the last state, which is not
    read in the first step.
bias : of shape (n_gates * dim,)
gates : of shape (n_rows, n_gates * dim)
    What the gates let through; `*_backward` replaces it by the gradients.
states : of shape (n, dim)
    The states of the last step, replaced by those of this one.
out, out_grad : of shape (n_tokens, n_directions * dim)
    The states of the tokens, and their gradient; `column` is the first of a direction.
rows : int64 of shape (n_rows,)
    The token of each row.
later : of shape (n_next, dim), bfloat16 as uint16 too
    The gradient of the states through the products of the next step.
start, before : int
    The first row of this step, and of the last one, -1 for none.
n, n_next : int
    Number of rows of this step, and of the next one, 0 for none.
"""

from functools import partial

import numpy as np
from numba import types
from numba.extending import overload

from ..._io._numba import cached_njit

# For vector instructions: a division by zero gives infinity instead of an error, and a
# product is fused with a sum.
_compiled = partial(cached_njit, error_model="numpy", fastmath={"contract", "nsz"})
_SHIFT = np.uint32(16)
_ZERO, _HALF, _ONE = np.array([0, 0.5, 1], np.float32)
# tanh(x) = x P(x^2) / Q(x^2), with the coefficients of Eigen and XLA for float32. It is
# computed by vector instructions, which calls of a library are not.
_LIMIT = np.float32(7.90531110763549805)
_P0, _P1, _P2, _P3, _P4, _P5, _P6 = np.array(
    [
        4.89352455891786e-03,
        6.37261928875436e-04,
        1.48572235717979e-05,
        5.12229709037114e-08,
        -8.60467152213735e-11,
        2.00018790482477e-13,
        -2.76076847742355e-16,
    ],
    np.float32,
)
_Q0, _Q1, _Q2, _Q3 = np.array(
    [
        4.89352518554385e-03,
        2.26843463243900e-03,
        1.18534705686654e-04,
        1.19825839466702e-06,
    ],
    np.float32,
)


@_compiled
def _tanh(x):
    # Comparisons with NaN are False, so that it stays.
    x = _LIMIT if x > _LIMIT else x
    x = -_LIMIT if x < -_LIMIT else x
    s = x * x
    p = _P3 + s * (_P4 + s * (_P5 + s * _P6))
    p = _P0 + s * (_P1 + s * (_P2 + s * p))
    return x * p / (_Q0 + s * (_Q1 + s * (_Q2 + s * _Q3)))


@_compiled
def _sigmoid(x):
    return _HALF + _HALF * _tanh(_HALF * x)


def _read(array, j):
    """Return a number of float32, or of bfloat16 in an array of uint16."""
    raise NotImplementedError


@overload(_read, inline="always")
def _compiled_read(array, j):
    if array.dtype == types.uint16:
        return lambda array, j: np.uint32(np.uint32(array[j]) << _SHIFT).view(
            np.float32
        )
    return lambda array, j: array[j]


@_compiled
def lstm_forward(
    of_input, of_state, bias, gates, cells, states, out, column, rows, start, before, n
):
    """Compute the gates i, f, g, o, the cells and the states of a step."""
    dim = cells.shape[1]
    bi, bf = bias[:dim], bias[dim : 2 * dim]
    bg, bo = bias[2 * dim : 3 * dim], bias[3 * dim :]
    for k in range(n):
        row = start + k
        i, f = gates[row, :dim], gates[row, dim : 2 * dim]
        g, o = gates[row, 2 * dim : 3 * dim], gates[row, 3 * dim :]
        xi, xf = of_input[k, :dim], of_input[k, dim : 2 * dim]
        xg, xo = of_input[k, 2 * dim : 3 * dim], of_input[k, 3 * dim :]
        cell, state = cells[row], states[k]
        result = out[rows[row], column : column + dim]
        if before < 0:
            for j in range(dim):
                vi, vf = _sigmoid(_read(xi, j) + bi[j]), _sigmoid(_read(xf, j) + bf[j])
                vg, vo = _tanh(_read(xg, j) + bg[j]), _sigmoid(_read(xo, j) + bo[j])
                c = vi * vg
                h = vo * _tanh(c)
                i[j], f[j], g[j], o[j] = vi, vf, vg, vo
                cell[j], state[j], result[j] = c, h, h
            continue
        hi, hf = of_state[k, :dim], of_state[k, dim : 2 * dim]
        hg, ho = of_state[k, 2 * dim : 3 * dim], of_state[k, 3 * dim :]
        last = cells[before + k]
        for j in range(dim):
            vi = _sigmoid(_read(xi, j) + _read(hi, j) + bi[j])
            vf = _sigmoid(_read(xf, j) + _read(hf, j) + bf[j])
            vg = _tanh(_read(xg, j) + _read(hg, j) + bg[j])
            vo = _sigmoid(_read(xo, j) + _read(ho, j) + bo[j])
            c = vf * last[j] + vi * vg
            h = vo * _tanh(c)
            i[j], f[j], g[j], o[j] = vi, vf, vg, vo
            cell[j], state[j], result[j] = c, h, h


@_compiled
def lstm_backward(
    gates,
    cells,
    cell_grad,
    bias_grad,
    out_grad,
    column,
    rows,
    later,
    start,
    before,
    n,
    n_next,
):
    """Replace gates by the gradients of their inputs; update that of the cells.

    The gradients are added to `bias_grad`.
    """
    dim = cells.shape[1]
    bi, bf = bias_grad[:dim], bias_grad[dim : 2 * dim]
    bg, bo = bias_grad[2 * dim : 3 * dim], bias_grad[3 * dim :]
    for k in range(n):
        row = start + k
        i, f = gates[row, :dim], gates[row, dim : 2 * dim]
        g, o = gates[row, 2 * dim : 3 * dim], gates[row, 3 * dim :]
        cell, carried = cells[row], cell_grad[k]
        outer = out_grad[rows[row], column : column + dim]
        inner = later[k if k < n_next else 0]
        has_inner = _ONE if k < n_next else _ZERO
        last = cells[max(before + k, 0)]
        has_last = _ONE if before >= 0 else _ZERO
        for j in range(dim):
            vi, vf, vg, vo = i[j], f[j], g[j], o[j]
            squashed = _tanh(cell[j])
            dh = outer[j] + has_inner * _read(inner, j)
            dc = carried[j] + dh * vo * (_ONE - squashed * squashed)
            di = dc * vg * vi * (_ONE - vi)
            df = has_last * dc * last[j] * vf * (_ONE - vf)
            dg = dc * vi * (_ONE - vg * vg)
            do = dh * squashed * vo * (_ONE - vo)
            i[j], f[j], g[j], o[j] = di, df, dg, do
            bi[j] += di
            bf[j] += df
            bg[j] += dg
            bo[j] += do
            carried[j] = dc * vf


@_compiled
def gru_forward(
    of_input,
    of_state,
    bias,
    state_bias,
    gates,
    inner,
    states,
    out,
    column,
    rows,
    start,
    before,
    n,
):
    """Compute the gates r, z, n, the last state's part of n, and the states of a step.

    This part is `inner`, and `state_bias` of shape (dim,) its bias.
    """
    dim = inner.shape[1]
    br, bz, bn = bias[:dim], bias[dim : 2 * dim], bias[2 * dim :]
    for k in range(n):
        row = start + k
        r, z, new = gates[row, :dim], gates[row, dim : 2 * dim], gates[row, 2 * dim :]
        xr, xz = of_input[k, :dim], of_input[k, dim : 2 * dim]
        xn, part, state = of_input[k, 2 * dim :], inner[row], states[k]
        result = out[rows[row], column : column + dim]
        if before < 0:
            for j in range(dim):
                vr, vz = _sigmoid(_read(xr, j) + br[j]), _sigmoid(_read(xz, j) + bz[j])
                vp = state_bias[j]
                vn = _tanh(_read(xn, j) + bn[j] + vr * vp)
                h = vn - vz * vn
                r[j], z[j], new[j], part[j] = vr, vz, vn, vp
                state[j], result[j] = h, h
            continue
        hr, hz, hn = (
            of_state[k, :dim],
            of_state[k, dim : 2 * dim],
            of_state[k, 2 * dim :],
        )
        for j in range(dim):
            vr = _sigmoid(_read(xr, j) + _read(hr, j) + br[j])
            vz = _sigmoid(_read(xz, j) + _read(hz, j) + bz[j])
            vp = _read(hn, j) + state_bias[j]
            vn = _tanh(_read(xn, j) + bn[j] + vr * vp)
            h = vn + vz * (state[j] - vn)
            r[j], z[j], new[j], part[j] = vr, vz, vn, vp
            state[j], result[j] = h, h


@_compiled
def gru_backward(
    gates,
    inner,
    state_grad,
    grads,
    bias_grad,
    out,
    out_grad,
    column,
    rows,
    later,
    start,
    before,
    n,
    n_next,
):
    """Replace gates, and the last state's part of n, by the gradients of their inputs.

    `grads` of shape (n, 3 * dim) gets those of the last state's parts. `state_grad` is
    the gradient of the states that comes through no product; updated. Gradients of r,
    z, n and `inner` are added to `bias_grad`.
    """
    dim = inner.shape[1]
    br, bz = bias_grad[:dim], bias_grad[dim : 2 * dim]
    bn, bp = bias_grad[2 * dim : 3 * dim], bias_grad[3 * dim :]
    for k in range(n):
        row = start + k
        r, z, new = gates[row, :dim], gates[row, dim : 2 * dim], gates[row, 2 * dim :]
        dr, dz, dp = grads[k, :dim], grads[k, dim : 2 * dim], grads[k, 2 * dim :]
        part, direct = inner[row], state_grad[k]
        outer = out_grad[rows[row], column : column + dim]
        following = later[k if k < n_next else 0]
        has_following = _ONE if k < n_next else _ZERO
        last = out[rows[max(before + k, 0)], column : column + dim]
        has_last = _ONE if before >= 0 else _ZERO
        for j in range(dim):
            vr, vz, vn = r[j], z[j], new[j]
            dh = outer[j] + direct[j] + has_following * _read(following, j)
            of_n = dh * (_ONE - vz) * (_ONE - vn * vn)
            of_r = of_n * part[j] * vr * (_ONE - vr)
            of_z = dh * (has_last * last[j] - vn) * vz * (_ONE - vz)
            of_p = of_n * vr
            r[j], z[j], new[j], part[j] = of_r, of_z, of_n, of_p
            dr[j], dz[j], dp[j] = of_r, of_z, of_p
            br[j] += of_r
            bz[j] += of_z
            bn[j] += of_n
            bp[j] += of_p
            direct[j] = dh * vz


@_compiled
def segment_max_backward(values, largest, grad, lengths, out):
    """Give the gradient of each segment's largest value to the first one of it."""
    row = 0
    for segment in range(len(lengths)):
        most = largest[segment]
        left = grad[segment].copy()
        for _ in range(lengths[segment]):
            value, result = values[row], out[row]
            for j in range(len(left)):
                hit = value[j] == most[j]
                result[j] = left[j] if hit else _ZERO
                left[j] = _ZERO if hit else left[j]
            row += 1
