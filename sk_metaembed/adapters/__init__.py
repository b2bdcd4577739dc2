"""Adapters of scikit-learn estimators to pairs of texts and to tags."""

from .._core._public_module import set_public_module
from ._pair_encoder import PairEncoder
from ._token_classifier import TokenClassifier

__all__ = ["PairEncoder", "TokenClassifier"]

set_public_module(globals())
