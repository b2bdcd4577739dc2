"""Learn the weights of a sum of models from predictions out of fold."""

import copy
import warnings

import numpy as np

_LEAST_SQUARE = 1e-12  # relative
# Penalty of half the squared distance of the weights from the default ones.
_PULL = 3.0
_LEAST_WEIGHT = 0.1  # share of the default one, so that no sum vanishes
_LEAST_LENGTH = 1e-3  # root mean square of decision values, for the same reason


def fit_weights(decisions, target, held_out_weights, defaults, are_shrunk):
    """Return nonnegative weights of models, (n_models,).

    Parameters
    ----------
    decisions : ndarray of shape (n_models, n_rows, n_columns)
        Decision values out of fold.
    target : Target
    held_out_weights : ndarray of shape (n_rows,)
        The weights of rows, 0 for those that are not held out or do not count.
    defaults : ndarray of shape (n_models,)
        The default weights. With few rows, the result is close to them; it is at least
        a tenth of each.
    are_shrunk : sequence of bool
        Whether the decision values of each model are multiplied by their `shrinkage`
        before, as those of models that users pass. The factor is part of the weight.
    """
    from scipy.optimize import minimize

    if 0 < held_out_weights.max() < 0.1:
        warnings.warn(
            f"the largest weight of a row is {held_out_weights.max():.2g}. A row of "
            "weight 2 counts as two rows, so penalties outweigh these rows. Divide "
            "sample_weight by its mean.",
            stacklevel=2,
        )
    target, decisions = target.without_empty_classes(decisions, held_out_weights)
    factors = np.ones(len(decisions))
    for i in np.flatnonzero(are_shrunk):
        factors[i] = shrinkage(decisions[i], target, held_out_weights)
    if np.any(factors != 1):
        decisions = decisions * factors[:, None, None]
    if target.kind == "numbers" and held_out_weights.any():
        # In units of the error of the default weights, for each column.
        errors = (np.tensordot(defaults, decisions, 1) - target.columns) / target.scale
        means = np.average(np.square(errors), axis=0, weights=held_out_weights)
        means = np.maximum(means, _LEAST_SQUARE)
        target = copy.copy(target)
        target.scale = target.scale * np.sqrt(means)

    def objective(weights):
        sums = np.tensordot(weights, decisions, 1)
        slopes = target.inverse_link(sums) - target.columns
        slopes = held_out_weights[:, None] * slopes / np.square(target.scale)
        away = weights - defaults
        loss = (held_out_weights * target.losses(sums, target.columns)).sum()
        gradient = np.tensordot(decisions, slopes, 2)
        return loss + _PULL / 2 * away @ away, gradient + _PULL * away

    bounds = [(weight * _LEAST_WEIGHT, None) for weight in defaults]
    result = minimize(objective, defaults, jac=True, method="L-BFGS-B", bounds=bounds)
    return factors * result.x


def shrinkage(decisions, target, held_out_weights):
    """Return a factor of at most 1 for the decision values of a model.

    It makes the loss of held-out rows least, so that a model that misleads counts
    little, and decision values that are not log odds are in their units. With few rows
    it is close to 1.

    Parameters
    ----------
    decisions : ndarray of shape (n_rows, n_columns)
        Decision values out of fold.
    target : Target
    held_out_weights : ndarray of shape (n_rows,)
        As for `fit_weights`.
    """
    from scipy.optimize import brentq

    decisions = decisions / target.scale
    largest = np.abs(decisions).max(initial=_LEAST_LENGTH)
    length = largest * np.sqrt(np.mean(np.square(decisions / largest)))
    if length <= _LEAST_LENGTH:
        return 1.0
    unit = decisions / length
    columns = target.columns / target.scale

    def slope(scale):
        """Return the derivative of the loss by the length, which increases."""
        errors = held_out_weights[:, None] * (
            target.inverse_link(scale * unit) - columns
        )
        return np.vdot(errors, unit) + _PULL * (scale / length - 1) / length

    if slope(length) <= 0:
        return 1.0
    if slope(_LEAST_LENGTH) >= 0:
        return _LEAST_LENGTH / length
    # On a logarithmic scale, which converges for decision values of any size.
    ends = np.log(_LEAST_LENGTH), np.log(length)
    return np.exp(brentq(lambda log: slope(np.exp(log)), *ends, xtol=1e-2)) / length
