"""Parameters of encoders whose sources may have names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .._core._checked_parameters import CheckedParametersMixin
from .._core._sklearn import BaseComposition
from ..sources import make_embedding_union

if TYPE_CHECKING:
    from collections.abc import Sequence


def named_sources(sources: Sequence[Any] | None) -> Any:
    """Return (name, source) pairs; sources without names are named by their classes."""
    sources = () if sources is None else sources
    if not isinstance(sources, list | tuple):
        return sources  # invalid, as fit says
    if all(isinstance(source, tuple | list) for source in sources):
        return list(sources)
    return make_embedding_union(*sources).sources


class NamedSourcesMixin(CheckedParametersMixin, BaseComposition):
    """Get and set the parameters of named `sources`."""

    sources: Sequence[Any] | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and the parameters of named sources.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the sources and their parameters, as
            ``name__parameter``.

        Returns
        -------
        dict
            Values by name.
        """
        return self._get_params("_named_sources", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, sources or parameters of sources.

        Parameters
        ----------
        **params : dict
            Values by name, such as ``minilm__layers``.

        Returns
        -------
        estimator instance
            The estimator itself.
        """
        return self._set_params("_named_sources", **params)

    @property
    def _named_sources(self):
        return named_sources(self.sources)

    @_named_sources.setter
    def _named_sources(self, sources):
        self.sources = sources
