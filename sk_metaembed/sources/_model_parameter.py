"""ModelParameterMixin: copies and pickles of estimators with a parameter `model`."""

import os
from copy import copy


class ModelParameterMixin:
    """Share a loaded model among clones, and make it picklable.

    A subclass defines `_portable_model`.
    """

    def _portable_model(self):
        """Return what pickles contain of a loaded model, None for any other.

        Its attribute `parameter` is a value of the parameter `model`.
        """
        raise NotImplementedError

    def __sklearn_clone__(self):
        # scikit-learn copies parameters deeply; a loaded model is shared instead.
        if isinstance(self.model, str | os.PathLike):
            return super().__sklearn_clone__()
        light = copy(self)
        light.model = None
        new = super(ModelParameterMixin, light).__sklearn_clone__()
        new.model = self.model
        return new

    def _saved_attributes(self):
        """Return the attributes that files contain, with a loaded model portable."""
        portable = self._portable_model()
        return vars(self) if portable is None else {**vars(self), "model": portable}

    def __getstate__(self):
        state, portable = super().__getstate__(), self._portable_model()
        return state if portable is None else {**state, "model": portable}

    def __setstate__(self, state):
        model = state["model"]
        super().__setstate__({**state, "model": getattr(model, "parameter", model)})
