"""gensim, which has no wheel for the newest Python."""


def import_gensim(purpose):
    """Return gensim with its models; ImportError says what requires it.

    >>> import_gensim("Training word2vec").models.Word2Vec.__name__
    'Word2Vec'
    """
    try:
        import gensim.models
    except ImportError as error:
        raise ImportError(
            f"{purpose} requires gensim: pip install gensim. If there is no wheel for "
            "your version of Python, which 3.14 lacks so far, use an older one.",
            name="gensim",
        ) from error
    return gensim
