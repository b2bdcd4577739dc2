"""PairwiseDisplay: base class of the displays that compare tokens pairwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..sequences._word_lookup import lookup_vectors
from ._display import BaseDisplay
from ._token_selection import (
    check_count,
    embed_until_last,
    refuse_unknown,
    select_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from .._core._typing import WordEmbedding
    from ..sequences import EmbeddedSequences


class PairwiseDisplay(BaseDisplay):
    """Select what is compared; a subclass has `from_vectors`, `plot` and `matrix`."""

    if TYPE_CHECKING:
        labels: Sequence[str]

        @property
        def matrix(self) -> NDArray[np.float64]: ...

        @classmethod
        def from_vectors(
            cls,
            vectors: ArrayLike,
            labels: Sequence[object] | None = None,
            **options: Any,
        ) -> Self: ...

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Embed sequences with a fitted estimator and compare their tokens.

        Whole texts are embedded, so that a contextual source sees each word in its
        context. To compare words without context, use `from_words`.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union or a meta-embedder; or a Pipeline with such steps, a
            search (its ``best_estimator_`` is used), or a ColumnTransformer or
            FeatureUnion with one such branch. The last EmbeddedSequences are shown:
            steps after them, such as `Pooling` and a classifier, are ignored.
        X : input of the estimator
            Such as texts, token lists or TokenSequences. If the estimator takes a
            table, the texts alone are enough.
        **options
            Passed to `from_embedded`, such as `block` and `tokens`.

        Returns
        -------
        display
            Plotted.

        Raises
        ------
        TypeError
            If no step returns EmbeddedSequences.
        ValueError
            If several branches do; the message says how to pass one of them.
        """
        hint = " Pass a dict of vectors, a WordVectors or KeyedVectors to from_words."
        embedded = embed_until_last(estimator, X, hint)
        return cls.from_embedded(embedded, **options)

    @classmethod
    def from_embedded(
        cls,
        embedded: EmbeddedSequences,
        *,
        block: str | None = None,
        tokens: Sequence[tuple[int, int | str] | str | int] | None = None,
        labels: Sequence[object] | None = None,
        **options: Any,
    ) -> Self:
        """Compare tokens of embedded sequences.

        Use it to draw several pictures from one embedding step, or to compare
        occurrences of one word in different contexts.

        Parameters
        ----------
        embedded : EmbeddedSequences
            With the vectors to compare.
        block : str, default=None
            Name of the block to show. None takes the only one.
        tokens : sequence of tuple, str or int, default=None
            The tokens to compare, in this order: (sequence, position), counted from 0;
            (sequence, word), if the word occurs once in the sequence; or a word, if it
            occurs once in all sequences or the block has one vector per word. If the
            block has one vector per sequence, numbers of sequences. None takes all.
        labels : sequence of str, default=None
            Labels of the tokens. None takes the words, with (sequence, position) if a
            word is there more than once.
        **options
            Passed to `from_vectors`. The default title is the block's name.

        Returns
        -------
        display
            Plotted.

        Raises
        ------
        ValueError
            If a token does not exist, has no vector, or is ambiguous.
        """
        values, words, name = select_vectors(embedded, block, tokens)
        labels = words if labels is None else labels
        return cls.from_vectors(values, labels, **{"title": name} | options)

    @classmethod
    def from_words(
        cls,
        embedding: WordEmbedding,
        words: Iterable[str],
        *,
        labels: Sequence[object] | None = None,
        **options: Any,
    ) -> Self:
        """Compare words under an embedding of any kind.

        A contextual source sees each word alone.

        Parameters
        ----------
        embedding : fitted estimator, WordVectors, KeyedVectors or mapping
            With one vector per word.
        words : sequence of str
            The words to compare, in this order.
        labels : sequence of str, default=None
            Labels of the words. None takes the words.
        **options
            Passed to `from_vectors`.

        Returns
        -------
        display
            Plotted.

        Raises
        ------
        ValueError
            If a word has no vector, or there are several blocks.
        """
        words = list(words)
        check_count(len(words))
        values, known = lookup_vectors(embedding, words)
        refuse_unknown(known, words)
        return cls.from_vectors(values, words if labels is None else labels, **options)

    def frame(self) -> pd.DataFrame:
        """Return the numbers as a square table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row and one column per label.
        """
        import pandas as pd

        labels = list(self.labels)
        return pd.DataFrame(self.matrix, index=labels, columns=labels)


def cosine_matrix(vectors):
    """Return the cosines between nonzero rows, (n, dim) -> symmetric (n, n)."""
    unit = np.asarray(vectors, dtype=np.float64)
    # Squares of very large and very small entries overflow and underflow.
    unit = unit / abs(unit).max(axis=1, keepdims=True)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    product = np.clip(unit @ unit.T, -1, 1)
    product = (product + product.T) / 2
    np.fill_diagonal(product, 1)
    return product


def check_vectors(vectors, labels, *, need_direction):
    """Return vectors as float64 (n, dim) and labels as n str, or raise a ValueError.

    ``need_direction=True`` refuses vectors of zeros.
    """
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub":
        raise ValueError(
            f"vectors must be numbers of shape (n, dim); got shape "
            f"{vectors.shape} and dtype {vectors.dtype}."
        )
    vectors = vectors.astype(np.float64)
    check_count(len(vectors))
    if labels is None:
        labels = range(len(vectors))
    labels = [str(label) for label in labels]
    if len(labels) != len(vectors):
        raise ValueError(
            f"got {len(labels)} labels for {len(vectors)} vectors. Pass one "
            "label per vector."
        )
    is_infinite = ~np.isfinite(vectors).all(axis=1)
    if is_infinite.any():
        raise ValueError(
            f"the vector of {labels[int(is_infinite.argmax())]!r} contains "
            "NaN or infinity."
        )
    is_zero = ~vectors.any(axis=1)
    if need_direction and is_zero.any():
        raise ValueError(
            f"the vector of {labels[int(is_zero.argmax())]!r} is zero, so "
            "that its cosines are undefined. Leave it out."
        )
    return vectors, labels
