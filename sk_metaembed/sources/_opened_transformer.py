"""OpenedTransformer: what an estimator that trains a transformer gets of it."""

from ._contextual_pass import padding_id
from ._sentence_pieces import SentencePieces


class OpenedTransformer:
    """A transformer to be trained: light, without weights, fit for pickles.

    Parameters
    ----------
    source : TransformerEmbedding
        That knows its model and its options.
    n_layers : int or "all"
    method : {"full", "lora"}
    rank : int
    lr : float

    Attributes
    ----------
    dims : dict of str to int
        Dimension of the vectors of each layer and output, by its name.
    levels : dict of str to str
        "token" or "sequence", by the same names.
    """

    def __init__(self, source, n_layers, method, rank, lr):
        self.source = source
        self.n_layers, self.method, self.rank, self.lr = n_layers, method, rank, lr
        kinds = source._kinds(source.layers_)
        self.dims = {kind.name: kind.dim for kind in kinds}
        self.levels = {kind.name: kind.level for kind in kinds}

    def network(self):
        """Return a network of one's own, a torch Module that is called with pieces."""
        from ._tuned_transformer import TunedTransformer

        return TunedTransformer(self)

    def pieces(self, tokens):
        """Return the pieces of sequences, to be cut into batches.

        Parameters
        ----------
        tokens : TokenSequences

        Returns
        -------
        SentencePieces
        """
        source = self.source
        source._tell_of_long(tokens)
        return SentencePieces(
            tokens,
            source._model,
            source._text,
            source._wanted,
            (source.max_length_, source._truncate),
            source._reader(tokens),
        )

    @property
    def padding_id(self):
        """The id that shorter sequences of a batch are filled up with."""
        return padding_id(self.source._model)

    def __eq__(self, other):
        return isinstance(other, OpenedTransformer) and self._key == other._key

    __hash__ = None

    @property
    def _key(self):
        """All that the network is made of; a learning rate can change."""
        rank = self.rank if self.method == "lora" else None
        options = self.n_layers, self.method, rank
        return self.source.fingerprint_, self.source._wanted, *options

    def __repr__(self):
        return (
            f"FineTuned({self.source!r}, n_layers={self.n_layers!r}, "
            f"method={self.method!r}, rank={self.rank})"
        )
