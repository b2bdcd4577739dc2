"""Truncation of meta-embeddings whose first dimensions matter most."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core._checked_parameters import is_integer
from ._linear import SourceMap


class TruncationMixin:
    """Adds `truncate` to a meta-embedding that is a sum of linear maps of its sources.

    A subclass has the parameter `n_components` and the attributes ``maps_``,
    ``n_components_`` and ``dim_``. `_per_component` names the fitted attributes whose
    first axis is the components.
    """

    n_components: int
    n_components_: int
    dim_: int
    maps_: dict[str, SourceMap]
    _per_component: tuple[str, ...] = ()

    def truncate(self, n_components: int) -> Self:
        """Return this fitted meta-embedding with its first dimensions only.

        Its `transform` returns the first columns of the output before truncation,
        without computing the others. Nothing is fitted again.

        Parameters
        ----------
        n_components : int
            Number of dimensions to keep, at most `dim_`.

        Returns
        -------
        estimator instance
            A fitted copy; this one is unchanged. It shares arrays with this one.

        Raises
        ------
        ValueError
            If `n_components` is not an integer from 1 to `dim_`.
        """
        check_is_fitted(self)
        if not is_integer(n_components) or not 1 <= n_components <= self.dim_:
            raise ValueError(
                f"n_components must be an integer from 1 to {self.dim_}, the number of "
                f"fitted dimensions; got {n_components!r}."
            )
        truncated = copy.copy(self)
        truncated.n_components = n_components
        truncated.n_components_ = truncated.dim_ = n_components
        truncated.maps_ = {
            name: SourceMap(mean, np.ascontiguousarray(matrix[:, :n_components]))
            for name, (mean, matrix) in self.maps_.items()
        }
        for name in self._per_component:
            setattr(truncated, name, getattr(self, name)[:n_components])
        return truncated
