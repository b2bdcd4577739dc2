"""RandomEncoderPooling: a fixed random projection, then pooling.

A random projection of the rows that are pooled, a bounded part at a time.
"""

from itertools import pairwise
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._core._arrays import chunks
from ._bags import Bags, block_bags
from ._base import BasePooling
from ._modes import write_max, write_mean

# Projected entries that stand in memory at once: 64 MB of float32.
_ENTRIES = 1 << 24


def random_projection(dim, n_components, random):
    """Draw a matrix uniform in ``+-1 / sqrt(dim)``.

    Parameters
    ----------
    dim, n_components : int
    random : RandomState

    Returns
    -------
    ndarray of float32, shape (dim, n_components)
    """
    uniform = random.uniform(-1.0, 1.0, size=(dim, n_components))
    return (uniform / np.sqrt(max(dim, 1))).astype(np.float32)


def project_rows(values, rows, projection, activation):
    """Return some rows of values, projected.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)
    rows : ndarray of int
    projection : ndarray of float32, shape (dim, n_components)
    activation : {"relu"} or None

    Returns
    -------
    ndarray of float32, shape (len(rows), n_components)
    """
    projected = np.empty((len(rows), projection.shape[1]), dtype=np.float32)
    for part in chunks(len(rows)):
        vectors = values[rows[part]].astype(np.float32, copy=False)
        np.matmul(vectors, projection, out=projected[part])
    if activation == "relu":
        np.maximum(projected, 0, out=projected)
    return projected


def projected_tiles(bags, level, projection, activation):
    """Yield projected bags that together cover all sequences and columns.

    Rows of a type-level block are shared by sequences: each is projected once, some
    of the columns at a time. Rows of a token-level block are not: sequences are
    taken some at a time.

    Parameters
    ----------
    bags : Bags
        Without weights.
    level : {"type", "token"}
    projection : ndarray of float32, shape (dim, n_components)
    activation : {"relu"} or None

    Yields
    ------
    bags : Bags
        Of some sequences, over some of the projected dimensions.
    sequences : slice
    column : int
        The first of these dimensions.
    """
    n_components = projection.shape[1]
    for sequences in _sequence_spans(bags, level, n_components):
        part, used = _compact(bags, sequences)
        width = max(1, _ENTRIES // max(len(used), 1))
        for column in range(0, n_components, width):
            columns = np.ascontiguousarray(projection[:, column : column + width])
            tile = part._replace(
                values=project_rows(bags.values, used, columns, activation)
            )
            yield tile, sequences, column
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
    """Return some sequences' bags over the rows that they use, and these rows."""
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

    A random projection to more dimensions than the vectors have, then a maximum, is
    a sentence encoder without training that comes close to trained ones: the honest
    baseline for anything learned, and often better than the mean of the vectors.

    Each block has its own projection and gives its own columns; put
    `ConcatMetaEmbedding` before this step to project several sources together.
    Blocks at level "sequence" are passed through.

    Parameters
    ----------
    n_components : int, default=1024
        Dimension of the projection, for each block.
    mode : {"max", "mean"}, default="max"
        How the projected vectors are pooled.
    activation : {"relu"} or None, default=None
        Applied to the projected vectors before they are pooled.
    add_indicator : bool, default=False
        Whether to append a column "missing" that marks missing rows, which `Tokenizer`
        and the sources record with ``missing="empty"``.
    random_state : int, RandomState instance or None, default=None
        Draws the projections in fit.

    Attributes
    ----------
    projections_ : dict of str to ndarray of float32, shape (dim, n_components)
        The projection of each block that is pooled, by its name.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name. Transform wants the same.

    Raises
    ------
    TypeError
        If the input is not an EmbeddedSequences.
    ValueError
        If the blocks are not those of fit.

    See Also
    --------
    Pooling : Pools the vectors themselves; says which tokens are pooled.

    Notes
    -----
    The entries of W are uniform in ``+-1 / sqrt(dim)``. With "max", the result is the
    largest entry of ``f(W' v)`` over the tokens that have a vector, f the activation.
    With "mean" and no activation, vectors are pooled before they are projected, which
    is the same and costs one product a sequence. Otherwise a type-level block is
    projected once a type, some of the columns at a time.

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
        n_components=1024,
        *,
        mode="max",
        activation=None,
        add_indicator=False,
        random_state=None,
    ):
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

    def _pool(self, tokens, block, out, at):
        bags = block_bags(tokens, block)
        projection = self.projections_[block.name]
        mode, activation = self._settings
        if mode == "mean" and activation is None:
            means = np.zeros((len(tokens), block.dim), dtype=np.float32)
            write_mean(bags, means, 0)
            np.matmul(means, projection, out=out[:, at : at + projection.shape[1]])
            return
        write = write_max if mode == "max" else write_mean
        tiles = projected_tiles(bags, block.level, projection, activation)
        for part, sequences, column in tiles:
            write(part, out[sequences], at + column)
            del part  # before the next one is made
