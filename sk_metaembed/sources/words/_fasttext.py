"""FastTextEmbedding: fastText trained on the training data."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from ..._core._inherited_docs import inherit_docs
from ..._core._sklearn import COUNT, NATURAL
from ..._core._typing import RandomState
from ...vectors._api import import_gensim, ngram_ids, pack
from .._base import Preprocess
from ._base import OOV
from ._word2vec import Word2VecEmbedding


class NgramVectors:
    """Vectors of the n-grams that occur in the training words of a fastText model.

    `buckets`, int64 (n_trained,), are the hashes of these n-grams, ascending and below
    `n_buckets`; `vectors` is float32 (n_trained, dim). An n-gram has `min_n` to `max_n`
    characters, including the word boundaries.
    """

    def __init__(self, buckets, vectors, n_buckets, min_n, max_n):
        self.buckets, self.vectors = buckets, vectors
        self.n_buckets, self.min_n, self.max_n = n_buckets, min_n, max_n

    @classmethod
    def of_model(cls, model):
        """Return the n-gram vectors of a trained gensim FastText model."""
        wv = model.wv
        buckets = np.unique(np.concatenate(wv.buckets_word)).astype(np.int64)
        n_buckets = len(wv.vectors_ngrams)
        return cls(buckets, wv.vectors_ngrams[buckets], n_buckets, wv.min_n, wv.max_n)

    def compose(self, words):
        """Return mean n-gram vectors, (n_words, dim), and which words have n-grams."""
        shape = len(words), len(self.buckets)
        if not all(shape):
            values = np.zeros((len(words), self.vectors.shape[1]), dtype=np.float32)
            return values, np.zeros(len(words), dtype=bool)
        ids, ends = ngram_ids(pack(words), self.min_n, self.max_n, self.n_buckets)
        rows = np.minimum(np.searchsorted(self.buckets, ids), len(self.buckets) - 1)
        is_trained = (self.buckets[rows] == ids).astype(np.float32)
        weights = csr_array((is_trained, rows, ends), shape=shape)
        counts = weights.sum(axis=1)
        means = weights @ self.vectors / np.maximum(counts, 1)[:, None]
        return means.astype(np.float32, copy=False), counts > 0


@inherit_docs(Word2VecEmbedding)
class FastTextEmbedding(Word2VecEmbedding):
    """Train fastText vectors on the training data with gensim.

    The vector of a word is the mean of its own vector and the vectors of its character
    n-grams, so words that are not in the training data, such as misspelled or inflected
    words, get a vector from their n-grams.

    Parameters
    ----------
    min_count : int, default=5
        Words with fewer occurrences in the training data have no vector of their own.
    min_n : int, default=3
        Minimum length of character n-grams, with the marks of the word's start and end.
    max_n : int, default=6
        Maximum length of n-grams. With ``max_n < min_n``, none are used.
    bucket : int, default=2000000
        Number of vectors that n-grams are hashed to; each takes `vector_size` floats of
        memory during training. Fewer buckets save memory but cause more collisions.
    oov : {"subword", "zero", "mean", "error"}, default="subword"
        Vector of a word without a trained vector: composed of its n-grams, zeros, the
        mean of the vocabulary, or an error that names the word. A word with zeros is
        unknown and later steps skip it; any other vector is used like a trained one.

    Attributes
    ----------
    vectors_ : ndarray of float32, shape (n_words, vector_size)
        Trained vectors, composed of words and n-grams, before `preprocess`. The
        training state (output weights, counts) is discarded.
    ngrams_ : NgramVectors
        Vectors of the n-grams of training words.

    Raises
    ------
    ValueError
        If no word occurs `min_count` times.

    See Also
    --------
    Word2VecEmbedding : Faster to train, but knows only words of the training data.

    Notes
    -----
    The vector of an unseen word is the mean of the vectors of its n-grams that occur in
    a training word. gensim also adds the random initial vectors of other n-grams. A
    word without a trained n-gram is unknown.

    References
    ----------
    Bojanowski, Grave, Joulin and Mikolov (2017). Enriching word vectors with subword
    information. TACL.

    Examples
    --------
    >>> from sk_metaembed import FastTextEmbedding
    >>> texts = ["walking and talking", "walked and talked"] * 3
    >>> source = FastTextEmbedding(vector_size=4, bucket=100, min_count=3).fit(texts)
    >>> source.transform(["talks"]).block("fasttext").known
    array([ True])
    """

    _parameter_constraints: dict = {
        **Word2VecEmbedding._parameter_constraints,
        "min_n": [COUNT],
        "max_n": [NATURAL],
        "bucket": [COUNT],
    }

    def __init__(
        self,
        vector_size: int = 100,
        *,
        window: int = 5,
        min_count: int = 5,
        epochs: int = 5,
        sg: bool = False,
        hs: bool = False,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: bool = True,
        alpha: float = 0.025,
        min_alpha: float = 0.0001,
        sample: float | None = None,
        min_n: int = 3,
        max_n: int = 6,
        bucket: int = 2_000_000,
        oov: OOV = "subword",
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            vector_size,
            window=window,
            min_count=min_count,
            epochs=epochs,
            sg=sg,
            hs=hs,
            negative=negative,
            ns_exponent=ns_exponent,
            cbow_mean=cbow_mean,
            alpha=alpha,
            min_alpha=min_alpha,
            sample=sample,
            oov=oov,
            preprocess=preprocess,
            missing=missing,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.min_n = min_n
        self.max_n = max_n
        self.bucket = bucket

    def _make_model(self, **options):
        return import_gensim("FastTextEmbedding").models.FastText(
            **options, min_n=self.min_n, max_n=self.max_n, bucket=self.bucket
        )

    def _train(self, sentences, tokens=None, stream=None):
        try:
            return super()._train(sentences, tokens, stream)
        except UnicodeEncodeError as error:
            word, where = error.object.strip("<>"), ""  # gensim's word boundaries
            if tokens is not None:
                positions = np.flatnonzero(tokens.types[tokens.codes] == word)
                rows = tokens.segment_ids()[positions]
                where = f"row {rows[0]} contains " if len(rows) else ""
            raise ValueError(
                f"{where}the word {word!r}, which has a lone surrogate and cannot be "
                "encoded as UTF-8 for fastText's n-grams. Replace it in the texts, for "
                'example with text.encode("utf-8", "replace").decode().'
            ) from error

    def _store(self, model):
        super()._store(model)
        self.ngrams_ = NgramVectors.of_model(model)

    def _compose(self, words):
        return self.ngrams_.compose(words)
