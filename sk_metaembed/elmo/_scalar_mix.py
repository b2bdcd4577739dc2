"""The scalar mix of ELMo's layers: one weight per layer, the same for every word."""

import numpy as np


def layer_shares(weights, n_layers):
    """Return the softmax of weights, (n_layers,); equal shares for None.

    >>> layer_shares(None, 4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> layer_shares(np.log([0.2, 0.3, 0.5]), 3).round(3).tolist()
    [0.2, 0.3, 0.5]
    """
    weights = np.zeros(n_layers) if weights is None else np.asarray(weights, float)
    shares = np.exp(weights - weights.max())
    return shares / shares.sum()


def scalar_mix(layers, shares, gamma, layer_norm):
    """Return gamma times the weighted sum of layers, each of shape (n_tokens, dim).

    With `layer_norm` each vector is first scaled to mean 0 and variance 1 by itself, so
    that no token depends on another.
    """
    import torch

    mix = torch.zeros_like(layers[0])
    for share, layer in zip(shares, layers, strict=True):
        if layer_norm:
            layer = torch.nn.functional.layer_norm(layer, layer.shape[-1:], eps=1e-12)
        mix.add_(layer, alpha=float(gamma * share))
    return mix
