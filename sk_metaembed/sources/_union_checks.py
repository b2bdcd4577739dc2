"""What EmbeddingUnion asks of its sources, before and after they embed."""

from contextlib import contextmanager

import numpy as np
from sklearn.utils import get_tags

from ..sequences import EmbeddedInputMixin, EmbeddedSequences, TokenSequences
from ..sequences._validation import _shown
from ._estimator import reads_tokens


def check_pairs(sources):
    """Raise a TypeError unless sources are pairs of a name and a source or "drop"."""
    for i, pair in enumerate(sources):
        named = isinstance(pair, tuple | list) and len(pair) == 2
        if not named or not isinstance(pair[0], str):
            raise TypeError(
                f"EmbeddingUnion: sources must be a list of (name, source) pairs, but "
                f"entry {i} is {_shown(pair)}. make_embedding_union(*sources) "
                "finds names by itself."
            )
        _check_source(*pair)


def _check_source(name, source):
    if isinstance(source, str) and source == "drop":
        return
    if isinstance(source, type):
        raise TypeError(
            f"EmbeddingUnion: source {name!r} is the class {source.__name__}, expected "
            f"an instance, {source.__name__}(...)."
        )
    if (
        isinstance(source, EmbeddedInputMixin)
        and not get_tags(source).input_tags.string
    ):
        raise TypeError(
            f"EmbeddingUnion: source {name!r} is a {type(source).__name__}, which "
            "takes EmbeddedSequences. Put it behind the union in the Pipeline."
        )
    if not (hasattr(source, "fit") and hasattr(source, "transform")):
        raise TypeError(
            f"EmbeddingUnion: source {name!r} must have fit and transform, or be "
            f'"drop"; got {type(source).__name__}: {_shown(source)}.'
        )


@contextmanager
def on_tokens(name, source):
    """Say how to wrap a source of another package that fails on a TokenSequences."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        if reads_tokens(source):
            raise
        kind = type(source).__name__
        raise TypeError(
            f"EmbeddingUnion: source {name!r}, a {kind}, failed on a TokenSequences: "
            f"{error}. {_wrapped(kind)}"
        ) from error


def _wrapped(kind):
    return (
        "To use a scikit-learn transformer as a source, wrap it: "
        f"EstimatorEmbedding({kind}(...), joined=True) if it takes texts as str, as "
        "TfidfVectorizer does, and without joined if it takes a TokenSequences."
    )


def check_same_tokens(name, source, embedded, tokens):
    """Raise an error unless a source gave vectors of the tokens it was given."""
    if not isinstance(embedded, EmbeddedSequences):
        raise TypeError(
            f"EmbeddingUnion: source {name!r}, a {type(source).__name__}, must give "
            f"EmbeddedSequences, got {type(embedded).__name__}. "
            + (
                "Put it before the union in the Pipeline."
                if isinstance(embedded, TokenSequences)
                else _wrapped(type(source).__name__)
            )
        )
    theirs = embedded.tokens
    same = theirs is tokens or (
        np.array_equal(theirs.codes, tokens.codes)
        and np.array_equal(theirs.offsets, tokens.offsets)
        and np.array_equal(theirs.types, tokens.types)
    )
    if not same:
        raise ValueError(
            f"EmbeddingUnion: source {name!r} gave vectors of other tokens "
            f"({theirs!r}) than it was given ({tokens!r}). Sources must keep the "
            "tokens as they are; tokenise before the union."
        )
