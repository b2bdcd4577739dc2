"""RandomEncoderPooling: a random projection of word vectors, then pooling.

Vectors are projected in tiles of bounded size.
"""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._core._arrays import chunks
from ._bags import Bags, block_bags
from ._base import BasePooling
from ._modes import write_max, write_mean

if TYPE_CHECKING:
    from .._core._typing import RandomState

_ENTRIES = 1 << 24  # projected entries in memory at a time: 64 MB of float32


def random_projection(dim, n_components, random):
    """Return a float32 matrix uniform in ``+-1 / sqrt(dim)``, (dim, n_components)."""
    uniform = random.uniform(-1.0, 1.0, size=(dim, n_components))
    return (uniform / np.sqrt(max(dim, 1))).astype(np.float32)


def project_rows(values, rows, projection, activation):
    """Return projected and activated rows of values, (len(rows), n_components)."""
    projected = np.empty((len(rows), projection.shape[1]), dtype=np.float32)
    for part in chunks(len(rows)):
        vectors = values[rows[part]].astype(np.float32, copy=False)
        np.matmul(vectors, projection, out=projected[part])
    if activation == "relu":
        np.maximum(projected, 0, out=projected)
    return projected


def projected_tiles(bags, level, projection, activation):
    """Yield (bags, slice of sequences, first dimension) that cover the whole output.

    The rows of a type-level block are shared by sequences: each is projected once, some
    of the columns at a time. The rows of a token-level block are not: some of the
    sequences are projected at a time.
    """
    n_components = projection.shape[1]
    for sequences in _sequence_spans(bags, level, n_components):
        part, used = _compact(bags, sequences)
        width = max(1, _ENTRIES // max(len(used), 1))
        for offset in range(0, n_components, width):
            columns = projection[:, offset : offset + width]
            columns = np.ascontiguousarray(columns)
            tile = part._replace(
                values=project_rows(bags.values, used, columns, activation)
            )
            yield tile, sequences, offset
            del tile  # before the next one is made


def _sequence_spans(bags, level, n_components):
    n_sequences = len(bags.divisors)
    if level == "type":
        return [slice(0, n_sequences)]
    marks = np.arange(0, len(bags.rows), max(1, _ENTRIES // n_components))
    cuts = np.searchsorted(bags.offsets[:-1], marks)
    cuts = np.unique([0, *cuts, n_sequences]).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)]


def _compact(bags, sequences):
    """Return the Bags of some sequences over the rows that they use, and these rows."""
    offsets = bags.offsets[sequences.start : sequences.stop + 1]
    rows = bags.rows[offsets[0] : offsets[-1]]
    base = rows.min(initial=len(bags.values))
    counts = np.bincount(rows - base)
    used = np.flatnonzero(counts)
    place = np.zeros(len(counts), dtype=rows.dtype)
    place[used] = np.arange(len(used), dtype=rows.dtype)
    part = Bags(
        bags.values,
        place[rows - base],
        offsets - offsets[0],
        None,
        bags.divisors[sequences],
    )
    return part, used + base


class RandomEncoderPooling(BasePooling):
    """Project word vectors at random, then pool them.

    A random projection to more dimensions, followed by a maximum, is a sentence encoder
    without training that comes close to trained ones: a strong baseline, and often
    better than the mean of the vectors.

    Each block has its own projection and columns; put `ConcatMetaEmbedding` before this
    step to project several sources together. Blocks at level "sequence" are copied
    unchanged.

    Parameters
    ----------
    n_components : int, default=1024
        Dimension of the projection, per block.
    mode : {"max", "mean"}, default="max"
        How to pool the projected vectors.
    activation : {"relu"} or None, default=None
        Applied to the projected vectors before pooling.
    add_indicator : bool, default=False
        Whether to append a column "missing" that marks missing rows, which `Tokenizer`
        and the sources record with ``missing="empty"``. Takes effect in `fit`.
    random_state : int, RandomState instance or None, default=None
        Controls the projections drawn in fit.

    Attributes
    ----------
    projections_ : dict of str to ndarray of float32, shape (dim, n_components)
        Projection of each pooled block, by name.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name. `transform` requires the same.

    Raises
    ------
    TypeError
        If the input is not an EmbeddedSequences.
    ValueError
        If the blocks are not those of fit.

    See Also
    --------
    Pooling : Pools the vectors without a projection; describes which tokens are pooled.

    Notes
    -----
    The entries of W are uniform in ``+-1 / sqrt(dim)``. With "max", the result is the
    maximum of ``f(W' v)`` over the tokens that have a vector, with f the activation.
    With "mean" and no activation, vectors are pooled before projection, which is
    equivalent and costs one product per sequence. Otherwise a type-level block is
    projected once per type, some of the columns at a time.

    References
    ----------
    Wieting, Kiela (2019), "No training required: exploring random encoders for
    sentence classification" (BOREP).

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, RandomEncoderPooling
    >>> from sk_metaembed import TokenSequences
    >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"], []])
    >>> embedded = EmbeddedSequences(tokens, [Block("glove", np.eye(2), "type")])
    >>> pooling = RandomEncoderPooling(8, random_state=0).fit(embedded)
    >>> pooling.transform(embedded).shape
    (3, 8)
    >>> pooling.get_feature_names_out()[:2].tolist()
    ['glove__random__0', 'glove__random__1']
    """

    _parameter_constraints: dict = {
        **BasePooling._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "mode": [StrOptions({"max", "mean"})],
        "activation": [StrOptions({"relu"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 1024,
        *,
        mode: Literal["max", "mean"] = "max",
        activation: Literal["relu"] | None = None,
        add_indicator: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.mode = mode
        self.activation = activation
        self.add_indicator = add_indicator
        self.random_state = random_state

    def _fit_pool(self, X):
        random = check_random_state(self.random_state)
        self._settings = self.mode, self.activation
        self.projections_ = {
            block.name: random_projection(block.dim, self.n_components, random)
            for block in X.blocks
            if block.level != "sequence"
        }

    def _parts(self, name):
        return [("random", self.projections_[name].shape[1])]

    def _pool(self, tokens, block, out, column):
        bags = block_bags(tokens, block)
        projection = self.projections_[block.name]
        mode, activation = self._settings
        if mode == "mean" and activation is None:
            means = np.zeros((len(tokens), block.dim), dtype=np.float32)
            write_mean(bags, means, 0)
            np.matmul(
                means, projection, out=out[:, column : column + projection.shape[1]]
            )
            return
        write = write_max if mode == "max" else write_mean
        tiles = projected_tiles(bags, block.level, projection, activation)
        for part, sequences, offset in tiles:
            write(part, out[sequences], column + offset)
            del part  # before the next one is made
