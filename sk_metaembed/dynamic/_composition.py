"""What makes an estimator one with trainable sources: parameters, opening, networks."""

from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils.metaestimators import _BaseComposition

from ._trainable import TrainedSources, tokens_of, trainable_pairs


class TrainableComposition(_BaseComposition):
    """Base of estimators with a parameter `trainable`.

    A single source's parameters are reached as ``trainable__parameter``, those of
    named ones as ``name__parameter``.
    """

    def get_params(self, deep=True):
        """Return the parameters, with those of the trainable sources.

        By these names a grid search reaches into a source and tries its parameters
        along with those of the net.

        Parameters
        ----------
        deep : bool, default=True
            With ``trainable__parameter`` of a single source, and ``name__parameter``
            of named ones.

        Returns
        -------
        dict
            Values by name.

        See Also
        --------
        set_params : Takes the same names.
        CharEmbedding : A source with parameters of its own.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaEmbedding
        >>> dme = DynamicMetaEmbedding(trainable=CharEmbedding(char_dim=8))
        >>> dme.get_params()["trainable__char_dim"]
        8
        """
        return self._get_params("trainable", deep=deep)

    def set_params(self, **params):
        """Set parameters, replace a trainable source, or set one of its parameters.

        A fitted net stays as it is until the next fit. Of named sources, each name
        replaces a source, as it does a step of a Pipeline.

        Parameters
        ----------
        **params : dict
            By the names that `get_params` gives.

        Returns
        -------
        estimator instance
            The estimator.

        See Also
        --------
        get_params : Gives the names, with the values of now.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaEmbedding
        >>> dme = DynamicMetaEmbedding(trainable=[("char", CharEmbedding())])
        >>> dme.set_params(char__char_dim=8, lr=0.01).trainable
        [('char', CharEmbedding(char_dim=8))]
        """
        self._set_params("trainable", **params)
        return self

    @property
    def trained_(self):
        """The networks that were trained along, by the names of their sources.

        Torch modules with the weights that training has left them, empty where no
        source was trainable. A fine-tuned transformer has ``save(folder)``, which
        writes it for others to load.

        See Also
        --------
        FineTuned : Wraps a transformer to be trained along.
        CharEmbedding : Learns words' vectors from their characters.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> clf = DynamicMetaClassifier(
        ...     trainable=CharEmbedding(), encoder="mean", max_epochs=1,
        ...     early_stopping=False,
        ... )
        >>> list(clf.fit(["good", "bad"], [1, 0]).trained_)
        ['charembedding']
        """
        networks = self.net_.module_.trained
        return dict(zip(self._trained.names, networks, strict=True))

    def _pairs(self):
        pairs = trainable_pairs(self.trainable, whose=type(self).__name__)
        self._validate_names([name for name, _ in pairs])
        return pairs

    def _sk_visual_block_(self):
        if self.trainable is None:
            name = type(self).__name__
            return _VisualBlock("single", self, names=name, name_details=str(self))
        pairs = self.trainable
        if not isinstance(pairs, list | tuple):
            pairs = [(f"trainable: {type(pairs).__name__}", pairs)]
        names, sources = zip(*pairs, strict=True)
        return _VisualBlock("parallel", sources, names=names)

    def _opened(self, X):
        return TrainedSources(self._pairs(), tokens_of(X))

    def _go_on(self, X):
        """Take the learning rates of now for the networks of the last fit."""
        trained = self._opened(X)
        if trained != self._trained:
            raise ValueError(
                f"{type(self).__name__} goes on with the net of the last fit, whose "
                f"trainable sources are {self._trained}, but {trained} are asked for. "
                "Only their learning rates can change. Set them back, or fit with "
                "warm_start=False, or a clone."
            )
        self._trained = trained

    def _source_dims(self):
        """Return the dimension of each source, in the net's order."""
        return {**self.dims_in_, **self._trained.dims}
