"""Base class of meta-embeddings that weight the sources and learn nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._base import BaseMetaEmbedding
from ._linear import source_weights


class WeightedMetaEmbedding(BaseMetaEmbedding):
    """Adds the parameters `weights` and `normalize`, and the attribute `weights_`."""

    _parameter_constraints: dict = {
        "weights": [Mapping, Sequence, np.ndarray, None],
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        *,
        weights: Mapping[str, float] | Sequence[float] | NDArray[Any] | None = None,
        normalize: bool = True,
    ) -> None:
        self.weights = weights
        self.normalize = normalize

    def _fit_combination(self, blocks, y):
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names)
