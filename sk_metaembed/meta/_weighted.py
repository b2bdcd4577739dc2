"""Base class of meta-embeddings that weight the sources and learn nothing else."""

from __future__ import annotations

from ._base import BaseMetaEmbedding
from ._linear import WEIGHTS_CONSTRAINT, Weights, source_weights


class WeightedMetaEmbedding(BaseMetaEmbedding):
    """Adds the parameters `weights` and `normalize`, and the attribute `weights_`."""

    _parameter_constraints: dict = {
        "weights": WEIGHTS_CONSTRAINT,
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        *,
        weights: Weights = None,
        normalize: bool = True,
    ) -> None:
        self.weights = weights
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names)
        self._fitted_normalize = self.normalize
