"""TrainablePositions: one vector per position in a sequence, trained on labels."""

from __future__ import annotations

import numpy as np

from ..._core._sklearn import COUNT, POSITIVE
from .._base import no_tokens_error
from . import TrainableSource
from ._tokens import TableSpec, TokenRows


class PositionSpec(TableSpec):
    """Specification of a table of the positions in the training data."""

    def __init__(self, tokens, dim, lr):
        super().__init__("position", dim, lr)
        if not tokens.n_tokens:
            raise no_tokens_error(len(tokens), tokens.texts)
        self.n_rows = int(tokens.lengths.max())

    def inputs(self, tokens):
        """Return the `TokenRows` of sequences."""
        first = tokens.offsets[:-1][tokens.segment_ids()]
        position = np.arange(tokens.n_tokens) - first
        return TokenRows.of_codes(np.minimum(position, self.n_rows), self.n_rows)


class TrainablePositions(TrainableSource):
    """Learn one vector per position in a sequence, jointly with the estimator.

    Pass this source to the parameter `trainable` of a ``Dynamic*`` estimator, in
    addition to a source of tokens, if the position of a token matters: in sequences of
    equal length, such as one token per hour or pixel, or in sequences with a meaningful
    start. The network can then distinguish the same token at different positions.

    Parameters
    ----------
    dim : int, default=64
        Dimension of the vectors.
    lr : float, default=1e-3
        Adam's learning rate for these weights.

    Raises
    ------
    ValueError
        If the training data has no tokens.

    See Also
    --------
    TrainableTokens : One vector per token.
    DynamicMetaClassifier : Trains and mixes them.

    Notes
    -----
    Positions are counted from the start of a sequence. Positions after the end of the
    longest training sequence are unknown. Since this source knows the positions of all
    tokens, tokens that no other source knows are not skipped.

    Examples
    --------
    The classes have an "a" in the first or in the second half:

    >>> from sk_metaembed import DynamicMetaClassifier, TrainablePositions
    >>> from sk_metaembed import TrainableTokens
    >>> X = [["a", "b", "b", "b"], ["b", "b", "a", "b"]] * 20
    >>> X += [["b", "a", "b", "b"], ["b", "b", "b", "a"]] * 20
    >>> clf = DynamicMetaClassifier(
    ...     trainable=[
    ...         ("tokens", TrainableTokens(dim=8, lr=0.02)),
    ...         ("positions", TrainablePositions(dim=8, lr=0.02)),
    ...     ],
    ...     projection_dim=8,
    ...     encoder="max",
    ...     hidden_dims=(),
    ...     lr=0.02,
    ...     max_epochs=30,
    ...     random_state=0,
    ... )
    >>> clf.fit(X, ["first", "second"] * 40).predict(X[-2:]).tolist()
    ['first', 'second']
    """

    _parameter_constraints: dict = {"dim": [COUNT], "lr": [POSITIVE]}

    def __init__(self, dim: int = 64, *, lr: float = 1e-3) -> None:
        self.dim = dim
        self.lr = lr

    def _spec(self, tokens):
        return PositionSpec(tokens, **self.get_params(deep=False))
