"""make_embedding_union: an EmbeddingUnion whose names need not be thought up."""

from ._union import EmbeddingUnion


def make_embedding_union(*sources, active=None, n_jobs=None, verbose=False):
    """Make an EmbeddingUnion, with names taken from the sources' classes.

    Names are those of the blocks that the sources give by themselves, such as
    "word2vec"; several of one kind are numbered, "word2vec-1", "word2vec-2".

    Parameters
    ----------
    *sources : source
        What `EmbeddingUnion` takes in pairs with names.
    active : str or sequence of str, default=None
        Name or names of the sources that take part, None for all.
    n_jobs : int, default=None
        Number of sources to fit or apply at a time.
    verbose : bool, default=False
        Print the time that each source takes to fit.

    Returns
    -------
    EmbeddingUnion
        Not fitted.

    See Also
    --------
    EmbeddingUnion : With names of your own.

    Examples
    --------
    >>> from sk_metaembed import (
    ...     FastTextEmbedding, Word2VecEmbedding, make_embedding_union
    ... )
    >>> union = make_embedding_union(Word2VecEmbedding(), FastTextEmbedding())
    >>> [name for name, _ in union.sources]
    ['word2vec', 'fasttext']
    """
    kinds = [
        getattr(source, "block_name", type(source).__name__.lower())
        for source in sources
    ]
    names = [
        f"{kind}-{kinds[: i + 1].count(kind)}" if kinds.count(kind) > 1 else kind
        for i, kind in enumerate(kinds)
    ]
    pairs = list(zip(names, sources, strict=True))
    return EmbeddingUnion(pairs, active=active, n_jobs=n_jobs, verbose=verbose)
