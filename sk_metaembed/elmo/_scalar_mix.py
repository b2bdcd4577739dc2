"""The scalar mix: one weight a layer, the same for every word."""

import numpy as np


def layer_shares(weights, n_layers):
    """Return the softmax of weights: equal shares where none are given.

    Parameters
    ----------
    weights : array-like of shape (n_layers,) or None
    n_layers : int

    Returns
    -------
    float64 ndarray of shape (n_layers,)

    Examples
    --------
    >>> layer_shares(None, 4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> layer_shares(np.log([0.2, 0.3, 0.5]), 3).round(3).tolist()
    [0.2, 0.3, 0.5]
    """
    weights = np.zeros(n_layers) if weights is None else np.asarray(weights, float)
    shares = np.exp(weights - weights.max())
    return shares / shares.sum()


def mixed(layers, shares, gamma, layer_norm):
    """Return gamma times the weighted sum of layers.

    Parameters
    ----------
    layers : list of tensor of shape (n_tokens, dim)
    shares : sequence of float
    gamma : float
    layer_norm : bool
        Whether each token's vector is brought to mean 0 and variance 1 first, by
        itself, so that no token depends on another.

    Returns
    -------
    tensor of shape (n_tokens, dim)
    """
    import torch

    total = torch.zeros_like(layers[0])
    for share, layer in zip(shares, layers, strict=True):
        if layer_norm:
            layer = torch.nn.functional.layer_norm(layer, layer.shape[-1:], eps=1e-12)
        total.add_(layer, alpha=float(gamma * share))
    return total
