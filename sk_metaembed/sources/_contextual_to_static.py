"""contextual_to_static: one vector a word, the mean over the contexts it occurs in."""

import warnings
from collections.abc import Mapping, Set
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from .._core._parameters import is_integer
from ..sequences import EmbeddedSequences, TokenSequences
from ..sequences._validation import read_rows
from ..vectors import WordVectors

_WHOSE = "contextual_to_static"


def contextual_to_static(
    source,
    corpus,
    *,
    blocks=None,
    min_count=1,
    max_contexts=None,
    batch_size=256,
    path=None,
    cache_dir=None,
):
    """Average a source's vectors of each word over the contexts of a corpus.

    Makes word vectors of anything that embeds words in context: an average over many
    contexts of a middle layer compares well with trained word vectors [1]_. The result
    is a table like any other: for a `PretrainedEmbedding`, for gensim by its
    `to_keyed_vectors`, for word similarity. A source whose vectors do not depend on
    the context gives its own vectors back.

    Parameters
    ----------
    source : fitted estimator
        Or a fitted Pipeline, whose transform gives EmbeddedSequences with a vector for
        each token.
    corpus : iterable of texts or of token lists
        What `source` takes, read once and in batches: also a generator, an open file
        or gensim's ``LineSentence``.
    blocks : str or sequence of str, default=None
        The block to average, such as a layer; of several, their vectors side by side,
        and an occurrence counts that all of them know. None where there is only one.
    min_count : int, default=1
        Leave out words with fewer known occurrences.
    max_contexts : int, default=None
        Average a word's first known occurrences only, so many. None averages all.
    batch_size : int, default=256
        Number of sequences to embed at a time.
    path : str or path-like, default=None
        Directory of the store to make. None puts it into the cache.
    cache_dir : str or path-like, default=None
        As for `WordVectors.open`.

    Returns
    -------
    WordVectors
        In float32, the words with most known occurrences first, and equals in the order
        of their first occurrence.

    Raises
    ------
    FileExistsError
        If something is at `path`.
    TypeError
        If the source gives no EmbeddedSequences, or the corpus is no iterable.
    ValueError
        If blocks are to be chosen and are not, a block is at sequence level, or no
        word is known often enough.

    Warns
    -----
    UserWarning
        If words of the corpus were not known anywhere; they are counted, and left out.

    See Also
    --------
    export_vectors : Writes the result for other programs.

    Notes
    -----
    Sums run in float64, in the order of the corpus; occurrences that are not known
    are not counted. Memory is bounded by the vocabulary and one batch. The size of a
    batch changes a result by rounding only.

    References
    ----------
    .. [1] R. Bommasani, K. Davis, C. Cardie, "Interpreting Pretrained Contextualized
       Representations via Reductions to Static Embeddings", ACL 2020.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import FunctionEmbedding, contextual_to_static
    >>> def place(sequences):
    ...     return [[[i, len(row)] for i in range(len(row))] for row in sequences]
    >>> corpus = ["to be or", "not to be"]
    >>> source = FunctionEmbedding(place, level="token").fit(corpus)
    >>> folder = tempfile.TemporaryDirectory()
    >>> wv = contextual_to_static(source, corpus, cache_dir=folder.name)
    >>> wv.words.tolist()
    ['to', 'be', 'or', 'not']
    >>> wv["be"]
    array([1.5, 3. ], dtype=float32)
    >>> folder.cleanup()
    """
    _check_count("min_count", min_count)
    _check_count("batch_size", batch_size)
    if max_contexts is not None:
        _check_count("max_contexts", max_contexts)
    if not hasattr(source, "transform"):
        raise TypeError(
            f"{_WHOSE}: source must be a fitted estimator with transform, got "
            f"{type(source).__name__}. Of a Pipeline that ends in a predictor, pass "
            "the steps before it: pipeline[:-1]."
        )
    if path is not None and Path(path).exists():  # told now, not after hours
        raise FileExistsError(
            f"{_WHOSE}: {path} exists already. Open it with WordVectors.open, delete "
            "it first, or give another path."
        )
    means = RunningMeans(max_contexts)
    for rows in _batches(corpus, batch_size):
        tokens, values, known = _token_vectors(source, rows, blocks)
        means.add(tokens, values, known)
    words, vectors = means.result(min_count)
    return WordVectors.from_arrays(words, vectors, path=path, cache_dir=cache_dir)


class RunningMeans:
    """Sums of vectors by word, and how many went into each.

    Parameters
    ----------
    max_contexts : int or None
        Largest number that goes into a word's mean, its first ones.
    """

    def __init__(self, max_contexts=None):
        self.max_contexts = max_contexts
        self._rows = {}
        self._sums = np.zeros((0, 0))
        self._seen = np.zeros(0, dtype=np.int64)

    def add(self, tokens, values, known):
        """Take the vectors of one batch.

        Parameters
        ----------
        tokens : TokenSequences
        values : ndarray of shape (n_tokens, dim)
        known : ndarray of bool, shape (n_tokens,)
        """
        rows = self._rows_of(tokens.types, tokens.type_counts() > 0, values.shape[1])
        used = np.flatnonzero(known)
        codes = tokens.codes[used]
        counts = np.bincount(codes, minlength=tokens.n_types)
        present = np.flatnonzero(counts)
        if self.max_contexts is not None:
            places = self._seen[rows[codes]] + _places(codes)
            used = used[places < self.max_contexts]
        sums = sums_by(tokens.codes[used], values[used], tokens.n_types)
        self._sums[rows[present]] += sums[present]
        self._seen[rows[present]] += counts[present]

    def _rows_of(self, types, occurs, dim):
        """Return each type's row of the sums, -1 for one that does not occur."""
        if not self._rows:
            self._sums = np.zeros((0, dim))
        table = self._rows
        rows = np.full(len(types), -1, dtype=np.int64)
        for i in np.flatnonzero(occurs):
            rows[i] = table.setdefault(types[i], len(table))
        if len(table) > len(self._seen):
            more = max(len(table), 2 * len(self._seen)) - len(self._seen)
            self._sums = np.concatenate([self._sums, np.zeros((more, dim))])
            self._seen = np.concatenate([self._seen, np.zeros(more, dtype=np.int64)])
        return rows

    def result(self, min_count):
        """Return the words known often enough, most frequent first, and their means.

        Parameters
        ----------
        min_count : int

        Returns
        -------
        words : list of str
        vectors : ndarray of float32, shape (n_words, dim)
        """
        words, seen = list(self._rows), self._seen[: len(self._rows)]
        if not words:
            raise ValueError(
                f"{_WHOSE}: the corpus holds no word. A generator or an open file "
                "gives its texts once only: make it again, or pass a list."
            )
        never = np.flatnonzero(seen == 0)
        order = np.argsort(-seen, kind="stable")
        order = order[seen[order] >= min_count]
        if not len(order):
            raise ValueError(
                f"{_WHOSE}: of {len(words):,} words in the corpus none is known to the "
                f"source {min_count} times or more; the most that one is known is "
                f"{seen.max()}. Give a longer corpus, or a smaller min_count."
            )
        if len(never):
            shown = ", ".join(repr(words[i]) for i in never[:5])
            warnings.warn(
                f"{_WHOSE}: {len(never):,} of {len(words):,} words of the corpus are "
                f"not known to the source anywhere, and left out: {shown}"
                f"{', ...' if len(never) > 5 else '.'}",
                UserWarning,
                stacklevel=3,
            )
        used = seen[order]
        if self.max_contexts is not None:
            used = np.minimum(used, self.max_contexts)
        vectors = (self._sums[order] / used[:, None]).astype(np.float32)
        return [words[i] for i in order], vectors


def sums_by(codes, values, n_groups):
    """Return the float64 sum of the rows of each group, each in the rows' order.

    Parameters
    ----------
    codes : ndarray of int, shape (n_rows,)
        The group of each row.
    values : ndarray of shape (n_rows, dim)
    n_groups : int

    Returns
    -------
    ndarray of float64, shape (n_groups, dim)
    """
    order = np.argsort(codes, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_groups))])
    ones = np.ones(len(codes))
    return csr_array((ones, order, ends), (n_groups, len(codes))) @ values.astype(
        np.float64
    )


def _places(codes):
    """Return how many earlier entries are equal to each."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    places = np.empty(len(codes), dtype=np.int64)
    places[order] = np.arange(len(codes)) - np.repeat(starts, counts)
    return places


def _check_count(name, value):
    if not is_integer(value):
        raise TypeError(f"{_WHOSE}: {name} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{_WHOSE}: {name} must be at least 1, got {value}.")


def _batches(corpus, size):
    """Yield the corpus in parts, each a list of rows or a TokenSequences."""
    if isinstance(corpus, TokenSequences):
        for start in range(0, len(corpus), size):
            yield corpus[start : start + size]
        return
    # Frames and arrays are read by column; whatever else iterates is streamed.
    strange = isinstance(corpus, str | bytes | Mapping | Set | EmbeddedSequences)
    in_memory = any(hasattr(corpus, a) for a in ("ndim", "columns", "to_pylist"))
    if strange or in_memory or not hasattr(corpus, "__iter__"):
        corpus = read_rows(corpus, caller=_WHOSE)
    rows = iter(corpus)
    while batch := list(islice(rows, size)):
        yield batch


def _token_vectors(source, rows, names):
    """Return tokens, their vectors side by side, and where all of them are known."""
    embedded = source.transform(rows)
    if not isinstance(embedded, EmbeddedSequences):
        raise TypeError(
            f"{_WHOSE}: {type(source).__name__} gives {type(embedded).__name__}, not "
            "EmbeddedSequences: leave pooling and predictors off, pipeline[:-1]."
        )
    chosen = [_at_tokens(embedded, name) for name in _names(embedded, names)]
    known = np.logical_and.reduce([block.known for block in chosen])
    if len(chosen) == 1:
        return embedded.tokens, chosen[0].values, known
    values = np.concatenate([block.values for block in chosen], axis=1)
    return embedded.tokens, values, known


def _names(embedded, names):
    there = list(embedded.names)
    if names is None:
        if len(there) > 1:
            raise ValueError(
                f"{_WHOSE}: the source gives the blocks {there}. Name one in blocks=, "
                "or a list of them to have their vectors side by side."
            )
        return there
    names = [names] if isinstance(names, str) else list(names)
    missing = [name for name in names if name not in there]
    if missing or not names or len(set(names)) < len(names):
        raise ValueError(
            f"{_WHOSE}: blocks must name some of {there}, each once, got {names}."
        )
    return names


def _at_tokens(embedded, name):
    block = embedded.block(name)
    if block.level == "sequence":
        raise ValueError(
            f"{_WHOSE}: block {name!r} has one vector a sequence, not one a token. "
            "Name another in blocks=."
        )
    return embedded.broadcast(block, "token")
