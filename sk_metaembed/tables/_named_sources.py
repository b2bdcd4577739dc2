"""Parameters of encoders whose sources may have names."""

from collections.abc import Sequence
from typing import Any

from .._core._estimators import CheckedParametersMixin, NamedEstimatorsMixin
from ..sources import make_embedding_union


def named_sources(sources: Sequence[Any] | None) -> Any:
    """Return (name, source) pairs; sources without names are named by their classes."""
    sources = () if sources is None else sources
    if not isinstance(sources, list | tuple):
        return sources  # invalid, as fit says
    if all(isinstance(source, tuple | list) for source in sources):
        return list(sources)
    return make_embedding_union(*sources).sources


class NamedSourcesMixin(CheckedParametersMixin, NamedEstimatorsMixin):
    """Get and set the parameters of named `sources`."""

    sources: Sequence[Any] | None
    _named_estimators = "_named_sources"

    @property
    def _named_sources(self):
        return named_sources(self.sources)

    @_named_sources.setter
    def _named_sources(self, sources):
        self.sources = sources
