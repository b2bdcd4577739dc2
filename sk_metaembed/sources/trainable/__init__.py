"""Sources that are trained with the network of a Dynamic* estimator.

A trainable source has the method ``prepare(tokens)``, which is called with the
TokenSequences of the training fold. It returns a small object that can be pickled, and
that has

``dims``, ``levels``
    Dimension and level of each kind of vectors, by name. Levels are "token" or
    "sequence", or all are "type".
``lr``
    The learning rate of its weights.
``is_table``
    Optional. True if each vector is a row of a table: its weights then have no weight
    decay, and it needs no more memory per sequence than a frozen source.
``network()``
    Returns a new torch Module. Called with a batch, the module returns a pair (values,
    known) of tensors for each entry of ``dims``. A module that draws random numbers
    should use `generator_on` and have the attribute ``takes_generator = True``;
    training of other modules is limited to one thread at a time, because they draw from
    the default generators of torch. A module with the method ``keep(inputs)`` sets the
    vectors of all types but those of the inputs to 0; it is called before training if
    some rows are held out or have no weight, whose own types are not trained.
``inputs(tokens)``
    Returns the input of the network: an object with ``batch(rows, send)``, which
    returns the inputs of some sequences, or of some types if the level is "type"; and
    ``known``, a dict from level to an array of bool. If its types are not the types of
    the tokens, it also has ``codes``, an array with the type of each token.
"""

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
