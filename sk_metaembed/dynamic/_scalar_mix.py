"""What ELMo's scalar mix has learned: a weight a layer or source, and a factor."""

from sklearn.utils.validation import check_is_fitted


class ScalarMixAttributes:
    """Tells the scalar mix of estimators fitted with ``attention="task"``."""

    @property
    def layer_weights_(self):
        """The scalar mix: the weight of each layer or source, by its name."""
        weights = self._scalar_mix("layer_weights_").task_weights()
        return dict(zip(self._source_dims(), weights, strict=True))

    @property
    def gamma_(self):
        """The factor of the scalar mix."""
        return float(self._scalar_mix("gamma_").gamma.detach())

    def _scalar_mix(self, asked):
        check_is_fitted(self, "net_")
        mixer = self.net_.module_.mixer
        if mixer.attention != "task":
            raise AttributeError(
                f"{type(self).__name__} has {asked} where it was fitted with "
                f"attention='task', here with {mixer.attention!r}. "
                "attention_weights(X) tells the weights of any attention."
            )
        return mixer
