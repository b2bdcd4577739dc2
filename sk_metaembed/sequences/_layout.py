"""Which blocks a step was fitted on, and whether others fit."""

from ._embedded import EmbeddedSequences
from ._pairs import SequencePairs
from ._validation import holds_numbers


def check_embedded(X, *, whose):
    """Return X if it is an EmbeddedSequences, or say what to put before the step.

    Parameters
    ----------
    X : EmbeddedSequences
    whose : str
        The estimator's name.

    Returns
    -------
    EmbeddedSequences

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(X, EmbeddedSequences):
        return X
    if isinstance(X, SequencePairs):
        raise TypeError(
            f"{whose} takes single sequences, got {X!r}. Pass one side, X.first or "
            "X.second; what combines sources stands in the PairEncoder's encoder."
        )
    if holds_numbers(X):
        raise TypeError(
            f"{whose} takes EmbeddedSequences, got {type(X).__name__} of shape "
            f"{tuple(X.shape)}. Put a source before it. If a Pooling step made this "
            "array, the order of the steps is wrong: Pooling comes once, after every "
            "step that takes EmbeddedSequences."
        )
    raise TypeError(
        f"{whose} takes EmbeddedSequences, got {type(X).__name__}. Put a source "
        "before it in the Pipeline, such as Word2VecEmbedding, PretrainedEmbedding or "
        "EmbeddingUnion: it turns texts or tokens into them."
    )


def block_dims(embedded):
    """Return the blocks' dimensions by name, in order."""
    return {block.name: block.dim for block in embedded.blocks}


def check_blocks(embedded, dims, *, whose):
    """Raise unless the blocks have the names and dimensions that fit saw.

    Parameters
    ----------
    embedded : EmbeddedSequences
    dims : dict of str to int
        What `block_dims` gave in fit.
    whose : str
        The estimator's name.

    Raises
    ------
    ValueError
        If names, their order or dimensions differ.
    """
    came = block_dims(embedded)
    if list(came.items()) != list(dims.items()):
        raise ValueError(
            f"{whose} was fitted on blocks {dims} (name: dimension, in this order), "
            f"got {came}. Pass what the sources that it was fitted with give, or fit "
            "again."
        )
