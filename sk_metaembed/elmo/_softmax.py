"""The softmax over a vocabulary: in full, sampled, or in clusters."""

import math

import torch
from torch import nn
from torch.nn import functional

from ..sequences._own_random import generator_on

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
