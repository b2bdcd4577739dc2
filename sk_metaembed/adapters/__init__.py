"""Adapters: steps that put a scikit-learn estimator where rows are more than a text."""

from .._core._public_module import set_public_module
from ._pair_encoder import PairEncoder
from ._token_classifier import TokenClassifier

__all__ = ["PairEncoder", "TokenClassifier"]

set_public_module(globals())
