"""PairsDisplay: what displays of each token against each other share."""

import numpy as np

from ..sequences._word_lookup import lookup_vectors
from ._token_selection import (
    check_number,
    embed_until_last,
    refuse_unknown,
    select_vectors,
)


class PairsDisplay:
    """Ways to choose what is compared; a leaf has `from_vectors`, `plot`, `matrix`."""

    @classmethod
    def from_estimator(cls, estimator, X, **options):
        """Embed sequences with a fitted estimator, and compare tokens of them.

        The texts are embedded as they stand, so that a contextual source shows a word
        in its contexts. For words alone, `from_words` takes embeddings of any kind.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union, a meta-embedder; or a Pipeline with such steps, a search
            (its ``best_estimator_`` is taken), or a ColumnTransformer or FeatureUnion
            with one such branch. Shown is the last EmbeddedSequences on the way: steps
            after it, such as `Pooling` and a classifier, are ignored.
        X : what the estimator takes
            Such as texts, token lists or TokenSequences. If the estimator takes a
            table, the texts alone are enough.
        **options
            Passed on to `from_embedded`: which block, which tokens.

        Returns
        -------
        display
            Plotted.

        Raises
        ------
        TypeError
            If there are no EmbeddedSequences.
        ValueError
            If several branches give some; the message says how to pass one of them.
        """
        hint = " Vectors of words in a dict, a WordVectors or KeyedVectors go to "
        embedded = embed_until_last(estimator, X, cls.__name__, hint + "from_words.")
        return cls.from_embedded(embedded, **options)

    @classmethod
    def from_embedded(
        cls, embedded, *, block=None, tokens=None, labels=None, **options
    ):
        """Compare tokens of embedded sequences.

        Embedding can take long; from what is embedded once, many pictures are drawn.
        The same word can be compared with itself in other places.

        Parameters
        ----------
        embedded : EmbeddedSequences
            With the vectors to compare.
        block : str, default=None
            Name of the block that is shown. None takes the only one.
        tokens : sequence of tuple or str, default=None
            The tokens to compare, in this order. An entry is (sequence, position),
            counted from 0; or (sequence, word) for a word that the sequence has once;
            or a word, if it occurs once in all sequences or the block's vectors are
            those of words. Of a block of whole sequences an entry is a sequence's
            number. None takes all there are.
        labels : sequence of str, default=None
            What to call them. None takes the words, and adds (sequence, position)
            where a word is there more than once.
        **options
            Passed on to `from_vectors`; the block's name is the title by default.

        Returns
        -------
        display
            Plotted.

        Raises
        ------
        ValueError
            If a token does not exist, is not known to the source, or it is not clear
            which occurrence is meant.
        """
        values, words, name = select_vectors(embedded, block, tokens, cls.__name__)
        labels = words if labels is None else labels
        return cls.from_vectors(values, labels, **{"title": name} | options)

    @classmethod
    def from_words(cls, embedding, words, *, labels=None, **options):
        """Compare words under an embedding of any kind.

        A contextual source sees each word alone. Words that the embedding does not know
        are an error, since their vectors would say nothing.

        Parameters
        ----------
        embedding : fitted estimator, WordVectors, KeyedVectors or mapping
            What gives each word, by itself, one vector.
        words : sequence of str
            The words to compare, in this order.
        labels : sequence of str, default=None
            What to call them. None takes the words.
        **options
            Passed on to `from_vectors`.

        Returns
        -------
        display
            Plotted.

        Raises
        ------
        ValueError
            If a word is not known, or there are several blocks.
        """
        words = list(words)
        check_number(len(words), cls.__name__)
        values, known = lookup_vectors(embedding, words, caller=cls.__name__)
        refuse_unknown(known, words, cls.__name__)
        return cls.from_vectors(values, words if labels is None else labels, **options)

    def frame(self):
        """Return the numbers as a square table.

        For numbers in a text, or for a picture of one's own. Nothing is drawn and
        matplotlib is not needed; pandas is.

        Returns
        -------
        pandas.DataFrame
            One row and one column a label.
        """
        import pandas as pd

        labels = list(self.labels)
        return pd.DataFrame(self.matrix, index=labels, columns=labels)


def cosine_matrix(vectors):
    """Return the cosine between each two rows.

    Parameters
    ----------
    vectors : ndarray of shape (n, dim)
        None of them zero.

    Returns
    -------
    ndarray of float64, shape (n, n)
        Symmetric, within [-1, 1], and 1 on the diagonal.
    """
    unit = np.asarray(vectors, dtype=np.float64)
    # By the largest entry first: squares of huge and tiny numbers leave the range.
    unit = unit / abs(unit).max(axis=1, keepdims=True)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    product = np.clip(unit @ unit.T, -1, 1)
    product = (product + product.T) / 2
    np.fill_diagonal(product, 1)
    return product


def check_vectors(vectors, labels, caller, *, need_direction):
    """Return vectors as a float array and labels as a list of str, or say what fails.

    Parameters
    ----------
    vectors : array-like of shape (n, dim)
    labels : sequence of str or None
        None numbers them.
    caller : str
        Begins the error messages.
    need_direction : bool
        Whether a vector of zeros is an error.
    """
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub":
        raise ValueError(
            f"{caller}: vectors must be numbers of shape (n, dim), got shape "
            f"{vectors.shape} and dtype {vectors.dtype}."
        )
    vectors = vectors.astype(np.float64)
    check_number(len(vectors), caller)
    if labels is None:
        labels = range(len(vectors))
    labels = [str(label) for label in labels]
    if len(labels) != len(vectors):
        raise ValueError(
            f"{caller}: there are {len(labels)} labels for {len(vectors)} vectors. "
            "Give each vector one."
        )
    strange = ~np.isfinite(vectors).all(axis=1)
    if strange.any():
        raise ValueError(
            f"{caller}: the vector of {labels[int(strange.argmax())]!r} holds NaN or "
            "infinity."
        )
    zero = ~vectors.any(axis=1)
    if need_direction and zero.any():
        raise ValueError(
            f"{caller}: the vector of {labels[int(zero.argmax())]!r} is zero, and has "
            "a cosine with nothing. Leave it out."
        )
    return vectors, labels
