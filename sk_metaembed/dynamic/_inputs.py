"""Validation of the input of Dynamic* estimators, and their trainable sources."""

from typing import TypeAlias

import numpy as np

from .._core._arrays import n_odd_rows
from .._core._typing import Texts
from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences, check_tokens
from ..sequences._api import check_embedded

Input: TypeAlias = EmbeddedSequences | SequencePairs | TokenSequences | Texts


class PreparedSources:
    """The trainable sources of an estimator, prepared for its network.

    `sk_metaembed.sources.trainable` documents what a source returns from ``prepare``.
    The networks that are trained are `MixingNet.trained`.

    Attributes
    ----------
    prepared : list
        What ``prepare`` returned, per source.
    names : list of str
    dims : dict of str to int
        Dimension of each kind of vectors, by its name among all sources.
    levels : list of str
        Level of each kind of vectors.
    """

    def __init__(self, pairs, tokens):
        self.names = [name for name, _ in pairs]
        self.prepared = [source.prepare(tokens) for _, source in pairs]
        self.dims, self.levels = {}, []
        for name, prepared in zip(self.names, self.prepared, strict=True):
            several = len(prepared.dims) > 1
            for kind, dim in prepared.dims.items():
                self.dims[f"{name}__{kind}" if several else name] = dim
            self.levels += [prepared.levels[kind] for kind in prepared.dims]

    @property
    def are_tables(self):
        """Whether the vectors of each source are the rows of a table, list of bool."""
        return [getattr(source, "is_table", False) for source in self.prepared]

    def optimizer_groups(self):
        """Return the options of the optimizer for the weights of each source.

        Tables have no weight decay: it would shrink the vector of a rare token in every
        step, even if the token does not occur.
        """
        decays = [{"weight_decay": 0.0} if table else {} for table in self.are_tables]
        pairs = zip(self.prepared, decays, strict=True)
        return [{"lr": source.lr, **decay} for source, decay in pairs]


def trainable_pairs(model, X):
    """Return the trainable sources of an estimator as a list of (name, source).

    If there are no such sources and no vectors in X, vectors of tokens are learned, and
    vectors of positions if nearly all sequences have the same length.
    """
    pairs = [] if model.trainable is None else model.trainable
    tokens, blocks = tokens_and_blocks(X)
    if isinstance(pairs, list | tuple) and not (pairs or blocks):
        from ..sources import TrainablePositions, TrainableTokens

        pairs = [("tokens", TrainableTokens())]
        counts = np.bincount(tokens.lengths)[1:]  # of lengths from 1
        n_others = counts.sum() - counts[1:].max(initial=0)
        if n_others <= n_odd_rows(counts.sum()) and counts.any():
            pairs += [("positions", TrainablePositions())]
    if not isinstance(pairs, list | tuple):
        # "transformer" for a TrainableTransformer.
        pairs = [(type(pairs).__name__.removeprefix("Trainable").lower(), pairs)]
    for pair in pairs:
        named = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
        if not named or not _can_be_trained(pair[1]):
            source = pair[1] if named else pair
            got = type(source).__name__
            todo = (
                "Wrap a transformer: TrainableTransformer(TransformerEmbedding(...))."
            )
            if isinstance(source, type):
                got = f"class {source.__name__}"
                todo = f"Pass an instance: {source.__name__}(...)."
            elif _can_be_trained(source):
                todo = f"Give each one in a list a name: [('a', {got}(...))]."
            raise TypeError(
                "trainable takes a TrainableTokens, TrainablePositions, "
                "TrainableCharacters or TrainableTransformer, or a list of pairs "
                f"(name, source); got {got}. {todo}"
            )
    model._validate_names([name for name, _ in pairs])
    return pairs


def _can_be_trained(source):
    return hasattr(source, "prepare") and not isinstance(source, type)


def read_fit_input(X):
    """Return the X of fit as EmbeddedSequences, TokenSequences, or pairs of them."""
    if isinstance(X, SequencePairs):
        read_fit_input(X.sequences)
        return X
    return X if isinstance(X, EmbeddedSequences) else check_tokens(X)


def read_fitted_input(X, dims, fitted_on_pairs):
    """Return X as `read_fit_input` does, or raise unless it agrees with the X of fit.

    `dims` has the dimension of each block of fit, by name.
    """
    if isinstance(X, SequencePairs):
        if not fitted_on_pairs:
            raise TypeError(
                f"this step was fitted on single sequences, got {X!r}. Pass one side, "
                "X.first or X.second, or fit again on pairs."
            )
        read_fitted_input(X.sequences, dims, fitted_on_pairs=False)
        return X
    if fitted_on_pairs:
        raise TypeError(
            f"this step was fitted on pairs of sequences and takes SequencePairs, got "
            f"{type(X).__name__}. Put the PairEncoder of fit before it."
        )
    if isinstance(X, EmbeddedSequences) and not dims:
        raise ValueError(
            "this step was fitted on tokens without vectors, got EmbeddedSequences of "
            f"the sources {[block.name for block in X.blocks]}. Pass texts, a list of "
            "token lists or X.tokens, or fit it again."
        )
    return check_embedded(X, dims) if dims else check_tokens(X)


def tokens_and_blocks(X):
    """Return tokens and blocks of sequences, or of both sides of pairs."""
    X = X.sequences if isinstance(X, SequencePairs) else X
    return (X.tokens, X.blocks) if isinstance(X, EmbeddedSequences) else (X, ())


def check_dims(dims, sources, projection_dim, layer_norm):
    """Raise unless names of sources are distinct and their dimensions can be mixed.

    `dims` are the dimensions of the blocks of X, by name, `sources` the prepared ones.
    """
    twice = [name for name in sources.dims if name in dims]
    if twice:
        raise ValueError(
            f"Duplicate source name {twice[0]!r}: it is used by a block of X and by a "
            "trainable source. Rename one of them, for example as "
            "trainable=[('another', TrainableTransformer(...))]."
        )
    dims = {**dims, **sources.dims}
    if projection_dim is None and len(set(dims.values())) > 1:
        raise ValueError(
            "All sources must have the same dimension without a projection, got "
            f"{dims}. Set projection_dim, for example to {min(dims.values())}."
        )
    dim = projection_dim or min(dims.values())
    if layer_norm and dim == 1:
        raise ValueError(
            "layer_norm=True needs at least 2 dimensions: normalizing a "
            "single value always gives 0. Set projection_dim to 2 or more, or "
            "layer_norm=False."
        )
