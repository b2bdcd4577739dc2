"""contextual_to_static: one vector per word, averaged over its contexts in a corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from numbers import Integral
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_scalar

from ..._core._arrays import offsets_of
from ..._core._errors import prefix_errors
from ..._core._typing import StrPath, SupportsTransform, Texts
from ...sequences import EmbeddedSequences, TokenSequences
from ...sequences._api import read_rows
from ...vectors import WordVectors
from .._text_streams import is_stream


@prefix_errors
def contextual_to_static(
    source: SupportsTransform,
    corpus: Texts,
    *,
    block: str | None = None,
    min_count: int = 1,
    batch_size: int = 256,
    path: StrPath | None = None,
    cache_dir: StrPath | None = None,
) -> WordVectors:
    """Average the vectors of each word over its contexts in a corpus.

    Creates static word vectors from any source that embeds words in context; averages
    of a middle layer over many contexts compare well with trained word vectors [1]_.
    The result can be used like any other store: in a `PretrainedEmbedding`, in gensim
    by its `to_keyed_vectors`, or to measure word similarity. A source whose vectors do
    not depend on the context returns its own vectors.

    Parameters
    ----------
    source : fitted estimator
        An encoder or fitted Pipeline whose transform returns EmbeddedSequences with a
        vector per token.
    corpus : iterable of texts or of token lists
        Input of `source`, read once and in batches: also a generator, an open file or
        gensim's ``LineSentence``.
    block : str, default=None
        Name of the block to average, such as a layer. None requires a single block.
        ``ConcatMetaEmbedding(normalize=False)`` after the source combines several
        blocks without scaling their vectors to unit length; an occurrence that only
        some blocks know then counts, with zeros for the other blocks.
    min_count : int, default=1
        Minimum number of known occurrences of a word.
    batch_size : int, default=256
        Number of sequences embedded at a time.
    path : str or path-like, default=None
        Directory of the new store. None writes it to the cache.
    cache_dir : str or path-like, default=None
        As for `WordVectors.open`.

    Returns
    -------
    WordVectors
        Vectors in float32. Words are sorted by the number of known occurrences, ties by
        first occurrence.

    Raises
    ------
    FileExistsError
        If `path` exists.
    TypeError
        If the source does not return EmbeddedSequences, or the corpus is not iterable.
    ValueError
        If `block` is required, the block is at sequence level, or no word is known
        often enough.

    Warns
    -----
    UserWarning
        If words of the corpus have no known occurrence; they are omitted.

    See Also
    --------
    export_vectors : Writes the result for other programs.

    Notes
    -----
    Sums are accumulated in float64 in the order of the corpus; unknown occurrences are
    not counted. Memory is bounded by the vocabulary and one batch. The batch size
    affects the result by rounding only.

    References
    ----------
    .. [1] R. Bommasani, K. Davis, C. Cardie, "Interpreting Pretrained Contextualized
       Representations via Reductions to Static Embeddings", ACL 2020.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import FunctionEmbedding, contextual_to_static
    >>> def positions(sequences):
    ...     return [[[i, len(row)] for i in range(len(row))] for row in sequences]
    >>> corpus = ["to be or", "not to be"]
    >>> source = FunctionEmbedding(positions, level="token").fit(corpus)
    >>> folder = tempfile.TemporaryDirectory()
    >>> wv = contextual_to_static(source, corpus, cache_dir=folder.name)
    >>> wv.words.tolist()
    ['to', 'be', 'or', 'not']
    >>> wv["be"]
    array([1.5, 3. ], dtype=float32)
    >>> folder.cleanup()
    """
    check_scalar(min_count, "min_count", Integral, min_val=1)
    check_scalar(batch_size, "batch_size", Integral, min_val=1)
    if not hasattr(source, "transform"):
        raise TypeError(
            f"source must be a fitted estimator with transform; got "
            f"{type(source).__name__}. If it is a Pipeline that ends with a predictor, "
            "pass the steps before it: pipeline[:-1]."
        )
    if path is not None and Path(path).exists():  # raised before the long computation
        raise FileExistsError(
            f"{path} already exists. Open it with WordVectors.open, or pass another "
            "path."
        )
    means = RunningMeans()
    for rows in _batches(corpus, batch_size):
        means.add(*_token_vectors(source, rows, block))
    words, vectors = means.result(min_count)
    return WordVectors.from_arrays(words, vectors, path=path, cache_dir=cache_dir)


class RunningMeans:
    """Sums and counts of vectors by word."""

    def __init__(self):
        self._sums, self._seen = {}, {}

    def add(self, tokens, values, known):
        """Add the known vectors of one batch of tokens, (n_tokens, dim)."""
        used = np.flatnonzero(known)
        codes = tokens.codes[used]
        sums = group_sums(codes, values[used], tokens.n_types)
        counts = np.bincount(codes, minlength=tokens.n_types)
        for i in np.flatnonzero(tokens.type_counts()):
            word = tokens.types[i]
            self._seen[word] = self._seen.get(word, 0) + int(counts[i])
            self._sums[word] = self._sums.get(word, 0) + sums[i]

    def result(self, min_count):
        """Return the words known often enough, most frequent first, and their means."""
        words, seen = list(self._seen), np.array(list(self._seen.values()))
        if not words:
            raise ValueError(
                "the corpus contains no words. A generator or an open file "
                "can be read only once: create it again, or pass a list."
            )
        never = np.flatnonzero(seen == 0)
        order = np.argsort(-seen, kind="stable")
        order = order[seen[order] >= min_count]
        if not len(order):
            raise ValueError(
                f"none of the {len(words):,} words of the corpus has "
                f"{min_count} known occurrences; the maximum is {seen.max()}. Use a "
                "longer corpus or a smaller min_count."
            )
        if len(never):
            shown = ", ".join(repr(words[i]) for i in never[:5])
            warnings.warn(
                f"contextual_to_static: {len(never):,} of {len(words):,} words of the "
                f"corpus are unknown to the source and are omitted: {shown}"
                f"{', ...' if len(never) > 5 else '.'}",
                stacklevel=4,
            )
        words = [words[i] for i in order]
        sums = np.array([self._sums[word] for word in words])
        return words, (sums / seen[order][:, None]).astype(np.float32)


def group_sums(codes, values, n_groups):
    """Return the float64 sum of each group's rows in order, (n_groups, dim)."""
    order = np.argsort(codes, kind="stable")
    ends = offsets_of(np.bincount(codes, minlength=n_groups))
    ones = np.ones(len(codes))
    return csr_array((ones, order, ends), (n_groups, len(codes))) @ values.astype(
        np.float64
    )


def _batches(corpus, size):
    """Yield the corpus in batches, each a list of rows or a TokenSequences."""
    if isinstance(corpus, Iterator) or is_stream(corpus):
        rows = iter(corpus)
        while batch := list(islice(rows, size)):
            yield batch
        return
    rows = corpus if isinstance(corpus, TokenSequences) else read_rows(corpus)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _token_vectors(source, rows, name):
    """Return tokens, their vectors (n_tokens, dim), and which are known."""
    embedded = source.transform(rows)
    if not isinstance(embedded, EmbeddedSequences):
        raise TypeError(
            f"{type(source).__name__} returns {type(embedded).__name__} instead of "
            "EmbeddedSequences. Leave out pooling and predictors: pipeline[:-1]."
        )
    if name is None and len(embedded.blocks) > 1:
        raise ValueError(
            f"the source returns the blocks {list(embedded.names)}. Pass block= with "
            "one of them, or add ConcatMetaEmbedding(normalize=False) after the source."
        )
    block = embedded.blocks[0] if name is None else embedded.block(name)
    if block.level == "sequence":
        raise ValueError(
            f"block {block.name!r} has one vector per sequence, not per token. Choose "
            "another with block=."
        )
    block = embedded.broadcast(block, "token")
    return embedded.tokens, block.values, block.known
