"""ModelParameterMixin: copies and pickles of estimators with a parameter `model`."""

import os
from copy import copy

from ._loaded_pair import LoadedPair, is_pair


class ModelParameterMixin:
    """Share a loaded model among clones, and make it picklable."""

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
        """Return the attributes that files contain, with a loaded model as it is."""
        return vars(self)

    def __getstate__(self):
        state = super().__getstate__()
        if is_pair(self.model):
            # The fitted model's own pair, if it is the same: a pickle then has it once.
            portable = getattr(getattr(self, "_model", None), "portable", None)
            if portable is None or portable.pair != tuple(self.model):
                portable = LoadedPair(*self.model)
            state = {**state, "model": portable}
        return state

    def __setstate__(self, state):
        if isinstance(state["model"], LoadedPair):
            state = {**state, "model": state["model"].pair}
        super().__setstate__(state)
