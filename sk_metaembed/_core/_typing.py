"""Types for the annotations of public functions and methods.

They load nothing but types, so other modules import them without a guard.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

StrPath: TypeAlias = str | PathLike[str]

# One text or one list of tokens per row, as a list, an array, a Series, a generator or
# a TokenSequences. Type checkers accept a single str too; `check_tokens` raises.
Texts: TypeAlias = Iterable[str] | Iterable[Iterable[str]]

# One tag per token, as lists, an array of lists or a TokenSequences.
Tags: TypeAlias = Iterable[Iterable[str]]

# Names of features: an array of str.
Names: TypeAlias = NDArray[np.object_]

# The containers that scikit-learn's `set_output` can convert an array to.
Container: TypeAlias = Literal["default", "pandas", "polars"]

RandomState: TypeAlias = int | np.random.RandomState | None

Device: TypeAlias = "str | torch.device | None"


class SupportsTransform(Protocol):
    """A fitted transformer: a source, a meta-embedder or a Pipeline."""

    def transform(self, X: Any, /) -> Any:
        """Return the output for X."""


# Anything with one vector per word that `lookup_vectors` accepts: a fitted estimator, a
# `WordVectors`, gensim's KeyedVectors, or a mapping from words to vectors.
WordEmbedding: TypeAlias = Any
