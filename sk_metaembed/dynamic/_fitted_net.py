"""What a fitted Dynamic* estimator does with further data."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..sequences import SequencePairs
from ._trainable import read_input


class FittedNet:
    """Reads data as fit did, and runs the net over them.

    A mixin of `BaseDynamicMeta`, whose attributes it uses.
    """

    def _read(self, X, whose):
        return read_input(
            X,
            dims=self.dims_in_,
            whose=whose,
            reads_tokens=bool(self._trained),
            pairs=self._reads_pairs,
        )

    def _data(self, X):
        """Return X as the fitted net reads it, both sides of pairs as sequences."""
        from ._inference import data_for

        check_is_fitted(self, "net_")
        X = self._read(X, type(self).__name__)
        sequences = X.sequences if isinstance(X, SequencePairs) else X
        return data_for(self.net_, sequences, self._trained, self._target.per_token)

    def _outputs(self, X):
        """Return the net's outputs, float32 of shape (n_rows, n_outputs)."""
        from ._inference import row_data_for, run_sequences

        check_is_fitted(self, "net_")
        X, net = self._read(X, type(self).__name__), self.net_
        data = row_data_for(net, X, self._trained)
        n_outputs = int(np.sum(self._target.n_outputs))
        return run_sequences(net, data, net.module_.outputs, n_outputs)

    def attention_weights(self, X):
        """Return how much each source counts at each token.

        They are what predicting mixes the sources with, and tell how much each
        contributes, not how much it helps. With ``attention="context"`` a word has
        others in another sequence.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks that fit saw; tokens or texts if it saw none.

        Returns
        -------
        pandas.DataFrame
            One row a token: ``sequence``, ``position``, ``token``, and one column a
            source with its weight; those that are trained along stand last. Under the
            softmax gate a row's weights sum to 1, or to 0 where no source knows the
            token. With ``attention="uniform"`` every known source has weight 1. Where
            all sources are at sequence level there is a row a sequence, without
            ``position`` and ``token``. Of pairs, ``sequence`` is the pair's number, and
            a column ``side`` behind it says "first" or "second".

        See Also
        --------
        TokenWeightsDisplay : Draws them, word by word.
        SourceWeightsDisplay : Draws their means, by class or frequency.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> from sk_metaembed import FunctionEmbedding
        >>> length = FunctionEmbedding(lambda words: [[len(word), 1] for word in words])
        >>> X = length.fit_transform(["good film", "bad film"])
        >>> clf = DynamicMetaClassifier(
        ...     trainable=CharEmbedding(), encoder="mean", max_epochs=1,
        ...     early_stopping=False,
        ... )
        >>> weights = clf.fit(X, [1, 0]).attention_weights(X[:1])
        >>> weights.columns.tolist()
        ['sequence', 'position', 'token', 'function', 'charembedding']
        >>> weights[["function", "charembedding"]].sum(axis=1).round(6).tolist()
        [1.0, 1.0]
        """
        from ._inference import run_positions
        from ._weights_frame import by_pair, weights_frame

        data, names = self._data(X), list(self._source_dims())
        values, level = run_positions(self.net_, data, 1, len(names))
        frame = weights_frame(data.tokens, names, values, level)
        return by_pair(frame, len(data) // 2) if self._reads_pairs else frame

    def _net_parts(self):
        """Return the net as plain values and tensors."""
        from ._restoring import net_parts

        return net_parts(self)

    def _set_net(self, plain, tensors):
        """Have the net that `_net_parts` told of."""
        from ._restoring import net_of

        self.net_ = net_of(self, plain, tensors)
        self.history_ = self.net_.history

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")
