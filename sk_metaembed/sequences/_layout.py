"""Which blocks a step was fitted on, and whether others fit."""

from ._embedded import EmbeddedSequences


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
    raise TypeError(
        f"{whose} expects an EmbeddedSequences, got {type(X).__name__}. Put a source "
        "before it in the Pipeline, such as Word2VecEmbedding, PretrainedEmbedding or "
        "EmbeddingUnion."
    )


def block_layout(embedded):
    """Return the blocks' names, dims and levels as a tuple of triples."""
    return tuple((b.name, b.dim, b.level) for b in embedded.blocks)


def check_layout(embedded, fitted, *, whose):
    """Raise unless the blocks are those that the step was fitted on.

    Parameters
    ----------
    embedded : EmbeddedSequences
    fitted : tuple
        What `block_layout` gave in fit.
    whose : str
        The estimator's name.

    Raises
    ------
    ValueError
        If names, their order, dims or levels differ.
    """
    came = block_layout(embedded)
    if came != fitted:
        raise ValueError(
            f"{whose} was fitted on blocks (name, dim, level) {list(fitted)}, but got "
            f"{list(came)}. Pass what the same sources give, or fit again."
        )
