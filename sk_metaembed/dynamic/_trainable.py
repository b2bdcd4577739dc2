"""Validation of the input of Dynamic* estimators, and their trainable sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..sequences import (
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
    check_tokens,
)
from ..sequences._api import check_embedded

if TYPE_CHECKING:
    from .._core._typing import Texts

    Input: TypeAlias = EmbeddedSequences | SequencePairs | TokenSequences | Texts


class TrainedSources:
    """The trainable sources of an estimator, prepared for its training fold.

    A trainable source has the method ``prepare(tokens)``, which is called with the
    TokenSequences of the training fold. It returns a small object that can be pickled,
    and that has

    ``dims``, ``levels``
        Dimension and level of each kind of vectors, by name. Levels are "token" or
        "sequence", or all are "type".
    ``lr``
        The learning rate of its weights.
    ``network()``
        Returns a new torch Module. Called with a batch of pieces, the module returns a
        pair (values, known) of tensors for each entry of `dims`. A module that draws
        random numbers should use `generator_on` and have the attribute
        ``takes_generator = True``; training of other modules is limited to one thread
        at a time, because they draw from the default generators of torch.
    ``pieces(tokens)``
        Returns the input of the network: an object with ``batch(rows, send)``, which
        returns the pieces of some sequences, or of some types if the level is "type";
        and ``known``, a dict from level to an array of bool. If its types differ from
        those of the tokens it also has ``codes``, an array with the type of each token.

    Parameters
    ----------
    pairs : list of (str, trainable source)
    tokens : TokenSequences

    Attributes
    ----------
    opened : list
        What ``prepare`` returned, per source.
    names : list of str
        Names of the sources.
    dims : dict of str to int
        Dimension of each kind of vectors, by its name among all sources.
    levels : list of str
        Their levels.
    """

    def __init__(self, pairs, tokens):
        self.names = [name for name, _ in pairs]
        self.opened = [source.prepare(tokens) for _, source in pairs]
        self.dims, self.levels = {}, []
        for name, opened in zip(self.names, self.opened, strict=True):
            several = len(opened.dims) > 1
            for kind, dim in opened.dims.items():
                self.dims[f"{name}__{kind}" if several else name] = dim
            self.levels += [opened.levels[kind] for kind in opened.dims]

    def __len__(self):
        return len(self.opened)


def trainable_pairs(model):
    """Return the parameter `trainable` of an estimator as a list of (name, source)."""
    pairs = [] if model.trainable is None else model.trainable
    if not isinstance(pairs, list | tuple):
        pairs = [(_default_name(pairs), pairs)]
    for pair in pairs:
        named = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
        if not named or not _can_be_trained(pair[1]):
            source = pair[1] if named else pair
            kind = f"class {source.__name__}" if isinstance(source, type) else None
            example = "TrainableTransformer(TransformerEmbedding(...))"
            todo = f"Wrap a transformer: {example}."
            if _can_be_trained(source):
                example = f"[('a', {type(source).__name__}(...))]"
                todo = f"Give each one in a list a name: {example}."
            raise TypeError(
                "trainable takes a TrainableTransformer, TrainableCharacters, or a "
                "list of pairs (name, source); got "
                f"{kind or type(source).__name__}. {todo}"
            )
    model._validate_names([name for name, _ in pairs])
    return pairs


def _default_name(source):
    """Return "transformer" for a TrainableTransformer."""
    return type(source).__name__.removeprefix("Trainable").lower()


def _can_be_trained(source):
    return hasattr(source, "prepare") and not isinstance(source, type)


def read_input(X, *, dims=None, reads_tokens, pairs=None):
    """Return X as EmbeddedSequences, or as TokenSequences if no blocks are needed.

    SequencePairs of them are returned unchanged.

    Parameters
    ----------
    X : EmbeddedSequences, TokenSequences, texts, token lists, or SequencePairs
    dims : dict of str to int, default=None
        The blocks of fit, if there was one.
    reads_tokens : bool
        Whether there are trainable sources, which do not need blocks.
    pairs : bool, default=None
        Whether fit saw pairs, if there was one.
    """
    needs_blocks = bool(dims) or not reads_tokens
    has_pairs = isinstance(X, SequencePairs)
    if pairs and not has_pairs:
        raise TypeError(
            f"this step was fitted on pairs of sequences and takes SequencePairs, got "
            f"{type(X).__name__}. Put the PairEncoder of fit before it."
        )
    if pairs is False and has_pairs:
        raise TypeError(
            f"this step was fitted on single sequences, got {X!r}. Pass one side, "
            "X.first or X.second, or fit again on pairs."
        )
    if has_pairs:
        read_input(X.sequences, dims=dims, reads_tokens=reads_tokens)
        return X
    is_embedded = isinstance(X, EmbeddedSequences)
    if is_embedded and dims is None:
        return X
    if is_embedded or needs_blocks:
        return check_embedded(X, dims)
    return check_tokens(X)


def tokens_and_blocks(X):
    """Return tokens and blocks of what `read_input` returns; of pairs, both sides."""
    X = X.sequences if isinstance(X, SequencePairs) else X
    return (X.tokens, X.blocks) if isinstance(X, EmbeddedSequences) else (X, ())


def check_dims(dims, trained, projection_dim, layer_norm):
    """Raise unless names of sources are distinct and their dimensions can be mixed.

    `dims` are the dimensions of the blocks of X, by name.
    """
    twice = [name for name in trained.dims if name in dims]
    if twice:
        raise ValueError(
            f"Duplicate source name {twice[0]!r}: it is used by a block of X and by a "
            "trainable source. Rename one of them, for example as "
            "trainable=[('another', TrainableTransformer(...))]."
        )
    dims = {**dims, **trained.dims}
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
