"""The work that no tagger can leave out, for `tagging_speed.py`.

Matrix products of the network in the shapes of its batches, by oneDNN where torch has
it, and the recurrences of the CRF as compiled loops. No dropout, activations, copies,
optimizer, or preparation of data.
"""

from functools import cache

import numba
import numpy as np
import torch

# Tokens of a batch in prediction, as in DynamicMetaTagger.
TOKENS = 16_384


class BareTagger:
    """Products and recurrences of one epoch of training, and of prediction.

    Parameters
    ----------
    data : dict
        Sentences of "train" and "test", "tags" of the former, and "sizes".
    dim : int
        Of the word vectors.
    """

    def __init__(self, data, dim):
        self.sizes, self.dim = data["sizes"], dim
        self.n_tags = len({tag for row in data["tags"] for tag in row})
        self.training = [
            self._shapes(data["train"], rows)
            for rows in training_batches(data["train"], self.sizes["batch_size"])
        ]
        self.test = [
            self._shapes(data["test"], rows)
            for rows in test_batches(data["test"], self.sizes["batch_size"])
        ]
        rng = np.random.default_rng(0)
        self.scores = rng.normal(size=(TOKENS + 1000, self.n_tags)).astype(np.float32)
        self.chain = rng.normal(size=(self.n_tags, self.n_tags)).astype(np.float32)

    def _shapes(self, sentences, rows):
        """Return the lengths, the rows of each step, and the number of types."""
        lengths = np.array([len(sentences[row]) for row in rows])
        steps = (lengths > np.arange(lengths.max())[:, None]).sum(axis=1)
        types = {word for row in rows for word in sentences[row]}
        return lengths, steps.tolist(), len(types)

    def products(self, batch, backward):
        """Multiply the matrices of a batch's forward pass, or of its gradients."""
        lengths, steps, n_types = batch
        n, out = int(lengths.sum()), self.sizes["projection_dim"]
        dim, tags = self.sizes["encoder_dim"], self.n_tags
        for rows, dim_in, dim_out in [(n_types, self.dim, out), (n, 2 * dim, tags)]:
            multiply(rows, dim_in, dim_out)
            if backward:
                multiply(dim_out, rows, dim_in)
        if backward:
            multiply(n, tags, 2 * dim)
        for _ in range(2):  # directions
            multiply(n, out, 4 * dim)
            for step in steps[1:]:
                multiply(step, dim, 4 * dim)
            if not backward:
                continue
            multiply(n, 4 * dim, out)
            multiply(4 * dim, n, out)
            multiply(4 * dim, n, dim)
            for step in steps[1:]:
                multiply(step, 4 * dim, dim)

    def train(self):
        """Do the work of an epoch."""
        for batch in self.training:
            self.products(batch, backward=True)
            flows(self.scores, self.chain, batch[0])

    def predict(self):
        """Do the work of tagging all sentences."""
        for batch in self.test:
            self.products(batch, backward=False)
            paths(self.scores, self.chain, batch[0])


def training_batches(sentences, size):
    """Return rows of sentences of similar length."""
    rows = np.argsort([len(row) for row in sentences], kind="stable")
    rows = [row for row in rows if sentences[row]]
    return np.array_split(rows, round(len(rows) / size))


def test_batches(sentences, size):
    """Return rows of sentences, longest first, up to a number of tokens."""
    rows = np.argsort([-len(row) for row in sentences], kind="stable").tolist()
    batches = []
    while rows and sentences[rows[0]]:
        n = max(size, TOKENS // len(sentences[rows[0]]))
        batches.append([row for row in rows[:n] if sentences[row]])
        rows = rows[n:]
    return batches


_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_REORDER = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)


@cache
def matrices(n, inner, m):
    """Return matrices of shapes (n, inner) and (m, inner), in the fastest layout."""
    x, weight = torch.ones(n, inner), torch.ones(m, inner)
    return x, weight if None in (_LINEAR, _REORDER) else _REORDER(weight, n)


def multiply(n, inner, m):
    """Multiply matrices of shapes (n, inner) and (inner, m)."""
    x, weight = matrices(n, inner, m)
    if None in (_LINEAR, _REORDER):
        return x @ weight.T
    return _LINEAR(x, weight, None, "none", [], "")


@numba.njit(fastmath=True)
def flows(scores, chain, lengths):
    """Compute the sums over all paths, and the marginals from them."""
    n_tags, start = len(chain), 0
    rates = np.exp(chain)
    pairs = np.zeros((n_tags, n_tags))
    for length in lengths:
        ahead = np.exp(scores[start : start + length].astype(np.float64))
        sums = np.ones((length, n_tags))
        for t in range(length - 1, 0, -1):
            ahead[t] /= ahead[t].max()
            for a in range(n_tags):
                total = 0.0
                for b in range(n_tags):
                    total += rates[a, b] * ahead[t, b]
                sums[t, a] = total
                ahead[t - 1, a] *= total
        flow = ahead[0] / ahead[0].sum()
        for t in range(1, length):
            flow /= sums[t]
            later = np.zeros(n_tags)
            for a in range(n_tags):
                for b in range(n_tags):
                    pair = flow[a] * rates[a, b] * ahead[t, b]
                    pairs[a, b] += pair
                    later[b] += pair
            flow = later
        start += length
    return pairs


@numba.njit(fastmath=True)
def paths(scores, chain, lengths):
    """Find the best path of each sentence."""
    n_tags, start = len(chain), 0
    tags = np.zeros(lengths.sum(), np.int64)
    best = np.zeros((lengths.max(), n_tags), np.float32)
    for length in lengths:
        best[length - 1] = scores[start + length - 1]
        for t in range(length - 1, 0, -1):
            for a in range(n_tags):
                highest = chain[a, 0] + best[t, 0]
                for b in range(1, n_tags):
                    highest = max(highest, chain[a, b] + best[t, b])
                best[t - 1, a] = scores[start + t - 1, a] + highest
        tags[start] = best[0].argmax()
        for t in range(1, length):
            tags[start + t] = (chain[tags[start + t - 1]] + best[t]).argmax()
        start += length
    return tags
