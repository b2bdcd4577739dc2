"""Adapters of scikit-learn estimators to pairs of texts and to tags."""

from ._pair_encoder import PairEncoder
from ._token_classifier import TokenClassifier

__all__ = ["PairEncoder", "TokenClassifier"]
