"""TrainableTokens: one vector per token or n-gram of tokens, trained on labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._core._errors import plural
from ..._core._sklearn import COUNT, POSITIVE
from ...sequences._api import learn_ngrams, look_up, ngram_numbers
from .._base import no_tokens_error
from . import TrainableSource


class TokenBatch(NamedTuple):
    """The rows of some tokens in the table of vectors."""

    rows: object  # (n_types,), any row for a token without one
    known: object  # (n_types,) which tokens have a row


class TableSpec:
    """Specification of a table of vectors: small, picklable, without weights.

    Subclasses have ``n_rows``, the number of vectors, and ``inputs(tokens)``. `kind`
    says what has a vector.
    """

    is_table = True

    def __init__(self, kind, dim, lr):
        self.dims, self.levels, self.lr = {kind: dim}, {kind: "type"}, lr

    def network(self):
        """Return a new network, a torch Module that takes a `TokenBatch`."""
        from ._networks import TokenNetwork

        return TokenNetwork(self.n_rows, *self.dims.values())


class TokenSpec(TableSpec):
    """Specification of a table of the tokens or n-grams of the training data."""

    def __init__(self, tokens, dim, ngram, min_count, lr):
        super().__init__("token", dim, lr)
        self.ngram = ngram
        self.ngrams = learn_ngrams(tokens, ngram, min_count=min_count)
        if not self.n_rows:
            raise _no_rows_error(tokens, ngram, min_count)

    @property
    def n_rows(self):
        """Number of vectors."""
        keys = [self.ngrams.words, *self.ngrams.keys]
        return len(keys[self.ngram - 1])

    def inputs(self, tokens):
        """Return the `TokenRows` of sequences."""
        if self.ngram == 1:
            return TokenRows(look_up(tokens.types, self.ngrams.words, -1))
        *_, codes = ngram_numbers(tokens, self.ngrams)
        codes[codes < 0] = self.n_rows
        return TokenRows.of_codes(codes, self.n_rows)


class TokenRows:
    """The rows of tokens in the table of vectors.

    `rows`, (n_types,), has the row of each type, -1 without one, and `codes` the type
    of each token, if types are not those of the tokens.
    """

    def __init__(self, rows, codes=None):
        self.codes, self._rows = codes, rows
        self.known = {"type": rows >= 0}

    @classmethod
    def of_codes(cls, codes, n_rows):
        """Return the rows of tokens by number; `n_rows` means that there is no row."""
        return cls(np.append(np.arange(n_rows), -1), codes)

    def batch(self, types, send):
        """Return the `TokenBatch` of types; `send` puts an array on the device."""
        rows = self._rows[types]
        return TokenBatch(send(np.maximum(rows, 0)), send(rows >= 0))


class TrainableTokens(TrainableSource):
    """Learn one vector per token, jointly with the estimator that uses them.

    Pass this source to the parameter `trainable` of a ``Dynamic*`` estimator, which
    uses it by default if X has tokens and no vectors. Use it for tokens without
    pretrained vectors, such as events, notes, amino acids or states, and, in addition
    to pretrained vectors, for words that mean something else in the training data. With
    `ngram` it learns a vector per n-gram of tokens, such as a k-mer.

    Parameters
    ----------
    dim : int, default=64
        Dimension of the vectors.
    ngram : int, default=1
        Number of adjacent tokens that have one vector together: 1 for single tokens, 3
        for 3-mers. A token has the vector of the n-gram that starts at it; at the last
        ``ngram - 1`` tokens of a sequence it is unknown.
    min_count : int, default=1
        Tokens or n-grams with fewer occurrences in the training data are unknown.
    lr : float, default=1e-3
        Adam's learning rate for these weights.

    Raises
    ------
    ValueError
        If no token or n-gram of the training data occurs `min_count` times.

    See Also
    --------
    Word2VecEmbedding : Vectors of tokens that are trained without labels.
    TrainableCharacters : Word vectors from characters, which know every word.
    DynamicMetaClassifier : Trains and mixes them.

    Notes
    -----
    The vectors are the rows of a table, as in ``torch.nn.Embedding``, with random
    initial values. They have no weight decay, which would shrink the vectors of rare
    tokens between their occurrences. Tokens that do not occur in the training data are
    unknown: attention ignores this source for them, and a token that no source knows is
    a vector of zeros. Tokens are read as the preceding steps return them.

    Examples
    --------
    The classes have the same tokens in different orders; pairs of tokens differ:

    >>> from sk_metaembed import DynamicMetaClassifier, TrainableTokens
    >>> X, y = [["up", "down"], ["down", "up"]] * 20, ["fall", "rise"] * 20
    >>> pairs = TrainableTokens(dim=8, ngram=2, lr=0.02)
    >>> clf = DynamicMetaClassifier(
    ...     trainable=[("tokens", TrainableTokens(dim=8)), ("pairs", pairs)],
    ...     projection_dim=8,
    ...     encoder="mean",
    ...     hidden_dims=(),
    ...     lr=0.02,
    ...     max_epochs=30,
    ...     random_state=0,
    ... )
    >>> clf.fit(X, y).predict([["new", "up", "down"], ["down", "up", "new"]]).tolist()
    ['fall', 'rise']
    >>> clf.trained_["tokens"].vectors.weight.shape
    torch.Size([2, 8])
    """

    _parameter_constraints: dict = {
        "dim": [COUNT],
        "ngram": [COUNT],
        "min_count": [COUNT],
        "lr": [POSITIVE],
    }

    def __init__(
        self,
        dim: int = 64,
        *,
        ngram: int = 1,
        min_count: int = 1,
        lr: float = 1e-3,
    ) -> None:
        self.dim = dim
        self.ngram = ngram
        self.min_count = min_count
        self.lr = lr

    def _spec(self, tokens):
        return TokenSpec(tokens, **self.get_params(deep=False))


def _no_rows_error(tokens, ngram, min_count):
    """Return the ValueError of training data without a token or n-gram to learn."""
    if not tokens.n_tokens:
        return no_tokens_error(len(tokens), tokens.texts)
    longest = max(np.diff(tokens.offsets))
    if longest < ngram:
        return ValueError(
            f"ngram={ngram}, but the longest of {plural(len(tokens), 'sequence')} has "
            f"{plural(longest, 'token')}. Use a smaller ngram."
        )
    kind = "token" if ngram == 1 else f"{ngram}-gram"
    return ValueError(
        f"no {kind} of {plural(len(tokens), 'sequence')} occurs min_count={min_count} "
        "times. Lower min_count, or fit on more data."
    )
