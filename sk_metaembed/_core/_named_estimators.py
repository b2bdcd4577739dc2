"""Parameters of estimators that one parameter lists with their names."""

from __future__ import annotations

from typing import Any, Self

from ._sklearn import BaseComposition


class NamedEstimatorsMixin(BaseComposition):
    """Get and set the parameters of named estimators, as a Pipeline its steps.

    A subclass sets `_named_estimators`, the attribute with (name, estimator) pairs.
    """

    _named_estimators: str

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and the parameters of the named estimators.

        Parameters
        ----------
        deep : bool, default=True
            Include the named estimators and their parameters, as ``name__parameter``.

        Returns
        -------
        dict
            Values by name.
        """
        return self._get_params(self._named_estimators, deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of named estimators, or replace one of these.

        An estimator that is replaced keeps its name and position. What is fitted does
        not change before the next fit.

        Parameters
        ----------
        **params : dict
            By the names that `get_params` returns, such as ``name__parameter``.

        Returns
        -------
        estimator instance
            The estimator itself.
        """
        return self._set_params(self._named_estimators, **params)
