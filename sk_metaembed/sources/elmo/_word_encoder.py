"""Vectors of words from their characters, for inference and training."""

import numpy as np
import torch
from torch.nn import functional

from ..._training._device import send

# Words of similar length, encoded together.
_WORDS_PER_BATCH = {"cpu": 256}
_WORDS_PER_BATCH_GPU = 4096


def encode_words(weights, options, ids, lengths):
    """Return the float32 vectors of words, (n_words, projection_dim).

    Parameters
    ----------
    weights : mapping of str to tensor
        By their names in weight files. Matrix products have the dtype of the matrices.
    options : ElmoOptions
    ids : int64 tensor of shape (n_words, max_characters)
    lengths : ndarray of shape (n_words,)
    """
    order = np.argsort(lengths, kind="stable")
    size = _WORDS_PER_BATCH.get(ids.device.type, _WORDS_PER_BATCH_GPU)
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    pooled = [
        _convolve(weights, options, ids[send(batch, ids.device)], lengths[batch].max())
        for batch in batches
    ]
    vectors = torch.cat(pooled) if pooled else ids.new_zeros(0, options.n_filters)
    for k in range(options.n_highway):
        prefix = f"CNN_high_{k}/"
        carry = torch.sigmoid(_linear(vectors, weights, prefix + "{}_carry"))
        new = torch.relu(_linear(vectors, weights, prefix + "{}_transform"))
        # carry * new + (1 - carry) * old
        vectors = torch.lerp(vectors, new, carry)
    if "CNN_proj/W_proj" in weights:
        vectors = _linear(vectors, weights, "CNN_proj/{}_proj")
    return vectors[send(np.argsort(order), ids.device)]


def _convolve(weights, options, ids, longest):
    """Return activated maxima over positions, (n_words, n_filters)."""
    embedded = functional.embedding(ids, weights["char_embed"])
    pooled = []
    for i, (width, number) in enumerate(options.filters):
        kernel = weights[f"CNN/W_cnn_{i}"].reshape(-1, number)
        # Windows after the longest word have only padding: one of them suffices.
        n_windows = min(ids.shape[1] - width, longest) + 1
        windows = embedded[:, : n_windows + width - 1].unfold(1, width, 1).mT
        windows = windows.reshape(-1, len(kernel)).to(kernel.dtype)
        maxima = (windows @ kernel).view(len(ids), n_windows, number).amax(dim=1)
        pooled.append(maxima.float() + weights[f"CNN/b_cnn_{i}"])
    activation = torch.relu if options.activation == "relu" else torch.tanh
    return activation(torch.cat(pooled, dim=1))


def _linear(x, weights, name):
    weight = weights[name.format("W")]
    return (x.to(weight.dtype) @ weight).float() + weights[name.format("b")]
