"""Adapters: steps that put a scikit-learn estimator where rows are more than a text."""

from ._pair_encoder import PairEncoder
from ._token_classifier import TokenClassifier

__all__ = ["PairEncoder", "TokenClassifier"]
