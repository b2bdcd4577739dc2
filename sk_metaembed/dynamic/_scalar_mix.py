"""What ELMo's scalar mix has learned: a weight a layer or source, and a factor."""

from sklearn.utils.validation import check_is_fitted


class ScalarMixAttributes:
    """Tells the scalar mix of estimators fitted with ``attention="task"``."""

    @property
    def layer_weights_(self):
        """The scalar mix: the weight of each layer or source, by its name.

        There only with ``attention="task"``, where no weight depends on the word. They
        begin equal; their logarithms can be given to an `ElmoEmbedding` as
        ``mix_weights``.

        See Also
        --------
        gamma_ : The factor that goes with them.
        DynamicMetaEmbedding.attention_weights : Weights of any attention, token by
            token.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> clf = DynamicMetaClassifier(
        ...     "task", trainable=[("a", CharEmbedding()), ("b", CharEmbedding())],
        ...     encoder="mean", max_epochs=1, early_stopping=False,
        ... )
        >>> weights = clf.fit(["good", "bad"], [1, 0]).layer_weights_
        >>> {name: round(float(weight), 1) for name, weight in weights.items()}
        {'a': 0.5, 'b': 0.5}
        """
        weights = self._scalar_mix("layer_weights_").task_weights()
        return dict(zip(self._source_dims(), weights, strict=True))

    @property
    def gamma_(self):
        """The factor of the scalar mix.

        It lets the task scale the mixture as a whole, and begins at 1. There only with
        ``attention="task"``.

        See Also
        --------
        layer_weights_ : The weights of what it multiplies.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> clf = DynamicMetaClassifier(
        ...     "task", trainable=[("a", CharEmbedding()), ("b", CharEmbedding())],
        ...     encoder="mean", max_epochs=1, early_stopping=False,
        ... )
        >>> round(clf.fit(["good", "bad"], [1, 0]).gamma_, 1)
        1.0
        """
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
