"""TrainableSource: base class of sources that are trained with a network."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..._core._errors import NamedErrorsMixin
from ...sequences import TokenSequences


class TrainableSource(NamedErrorsMixin, BaseEstimator):
    """Validate the parameters, and return the specification of the network.

    A subclass has ``_spec(tokens)``, which returns the specification.
    """

    def prepare(self, tokens: TokenSequences) -> Any:
        """Return the specification of the network that an estimator trains.

        The ``Dynamic*`` estimators call it in `fit`. Weights are initialized later, by
        the estimator's `random_state`, or read from files.

        Parameters
        ----------
        tokens : TokenSequences
            The training data.

        Returns
        -------
        object
            With the dimensions and levels of the vectors, the network and its input:
            `sk_metaembed.sources.trainable` lists its attributes.
        """
        self._validate_params()
        return self._spec(tokens)

    def _spec(self, tokens):
        """Return the specification for the training data."""
        raise NotImplementedError
