"""What Dynamic* estimators that are transformers share."""

from sklearn.base import TransformerMixin

from ._trainable import read_input


class TransformingMixin(TransformerMixin):
    """Trains and transforms what is read once.

    A mixin of `BaseDynamicMeta`, whose methods it uses.
    """

    def fit_transform(self, X, y=None, **fit_params):
        """Train, and return what `transform` gives for the same sequences.

        X is read once, so that a generator of texts will do. The sequences that were
        learned from come out as new ones would, without dropout: what a classifier
        behind it sees of them may look too good.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            As for `fit`.
        y : array-like
            As for `fit`.
        **fit_params : dict
            What else `fit` takes.

        Returns
        -------
        EmbeddedSequences, SequencePairs, or ndarray of float32
            As `transform` gives it.

        See Also
        --------
        fit : Trains only.
        transform : Takes further sequences.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaEmbedding
        >>> dme = DynamicMetaEmbedding(
        ...     trainable=CharEmbedding(), projection_dim=2, max_epochs=1,
        ...     early_stopping=False,
        ... )
        >>> dme.fit_transform((text for text in ["good", "bad"]), [1, 0])
        EmbeddedSequences(2 sequences, 2 tokens, 2 types; dynamic: token 2d)
        """
        self._validate_params()
        # Read once: a generator of texts would run dry.
        whose = type(self).__name__
        X = read_input(X, whose=whose, reads_tokens=bool(self._pairs()))
        return super().fit_transform(X, y, **fit_params)
