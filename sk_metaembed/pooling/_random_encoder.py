"""RandomEncoderPooling: a fixed random projection, then pooling."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ._bags import block_bags
from ._base import BasePooling
from ._projection import projected_tiles, random_projection
from ._reduce import write_max, write_mean


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
