"""`align_vectors`: map the word vectors of a language into the space of another.

The map is orthogonal and is learned from pairs of translations, or of identical words.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from .._core._arrays import chunks, normalize_rows, row_norms
from .._core._checked_parameters import is_integer
from .._core._named_errors import names_errors
from ._csls import mutual_neighbors
from ._word_vectors import WordVectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .._core._typing import StrPath

_N_NEIGHBORS = 10  # of CSLS, as in Conneau et al.
_N_MEAN = 100_000  # words, from the first, whose mean is subtracted
_ADVICE = "Pass more pairs of words as dictionary, or a larger n_words."


@dataclass(frozen=True)
class AlignmentReport:
    """Result of `align_vectors`: the mapped vectors, and what they were learned from.

    Check `n_seeds`: a dictionary whose words are written in another way than in the
    stores, for example with capitals, has few.

    Parameters
    ----------
    vectors : WordVectors
        The words of the source in the space of the target.
    rotation : ndarray of float32, shape (source.dim, target.dim)
        The map of centered unit vectors, with orthonormal rows or columns.
    n_seeds : int
        Number of pairs of the dictionary, or of identical words, that were used.
    pairs : tuple of (str, str)
        The pairs of words, source and target, from which `rotation` was learned.

    See Also
    --------
    align_vectors : Returns the report.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import WordVectors, align_vectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> vectors = [[1.0, 0.5], [0.2, 1.0], [-1.0, 0.3]]
    >>> store = WordVectors.from_arrays(["a", "b", "c"], vectors, cache_dir=folder.name)
    >>> align_vectors(store, store, cache_dir=folder.name)
    AlignmentReport(vectors=WordVectors(3 words, dim=2, ...), n_seeds=3)
    >>> folder.cleanup()
    """

    vectors: WordVectors
    rotation: NDArray[np.float32] = field(repr=False)
    n_seeds: int
    pairs: tuple[tuple[str, str], ...] = field(repr=False)


@names_errors
def align_vectors(
    source: WordVectors,
    target: WordVectors,
    dictionary: Mapping[str, str] | Iterable[tuple[str, str]] | None = None,
    *,
    n_refinements: int = 5,
    n_words: int = 5_000,
    path: StrPath | None = None,
    cache_dir: StrPath | None = None,
    dtype: Literal["float32", "float16"] = "float32",
) -> AlignmentReport:
    r"""Map the word vectors of one language into the space of another.

    Word vectors of two languages, trained apart, have different axes. An orthogonal
    map, learned from known translations, makes a word and its translation neighbors
    [1]_, so that a classifier trained on texts in one language reads the other. The
    target does not change.

    Parameters
    ----------
    source : WordVectors
        Store to map, most frequent words first.
    target : WordVectors
        Store into whose space it is mapped, most frequent words first. Its dimension
        may differ.
    dictionary : mapping of str to str, or iterable of (str, str), default=None
        Pairs of a word of the source and its translation in the target. Pairs with a
        word that is not in its store are skipped. None uses words that are identical in
        both stores: names, numbers and loan words.
    n_refinements : int, default=5
        Number of times that the map is learned again from the words that it makes each
        other's nearest neighbors. Important without a dictionary, or with a small one.
        0 uses the given pairs only.
    n_words : int, default=5,000
        Number of words, from the first, in which each refinement searches. The time of
        a refinement grows with its square.
    path : str or path-like, default=None
        Directory to create for the result. None means the cache, as in
        `WordVectors.from_arrays`.
    cache_dir : str or path-like, default=None
        Directory of the cache, as in `WordVectors.open`.
    dtype : {"float32", "float16"}, default="float32"
        Type of the stored vectors.

    Returns
    -------
    AlignmentReport
        `vectors`, the store of the source's words in the space of the target;
        `rotation`; `n_seeds`, the number of pairs that were found in both stores; and
        `pairs`, those that the final map was learned from.

    Raises
    ------
    TypeError
        If a store is not a WordVectors, or a word of the dictionary is not a str.
    ValueError
        If no pair is found in both stores, or a number is invalid.

    Warns
    -----
    UserWarning
        If the final map was learned from fewer pairs than dimensions, so that it is not
        unique.

    See Also
    --------
    ProcrustesMetaEmbedding : Aligns sources that share their words.
    sk_metaembed.metrics.word_translation_score : Measures how many words have their
        translation as nearest neighbor.

    Notes
    -----
    Vectors are scaled to unit length, centered and scaled again [2]_; call them x and
    y. The map W maximizes :math:`\sum_i \langle x_i W, y_i \rangle` over the pairs
    (orthogonal Procrustes): with the singular value decomposition
    :math:`\sum_i x_i^T y_i = U S V^T`, it is :math:`W = U V^T`. If the source has more
    dimensions than the target, W projects. The words' frequencies are used in three
    places: the means are over the first 100,000 words, identical words count
    wherever they are, and refinements read the first `n_words`.

    A refinement learns W from pairs of mutual nearest neighbors by CSLS, with 10
    neighbors [3]_, and so does the next. The first map need not be good: a few per cent
    of correct translations suffice, if the spaces are similar. Distant languages and
    corpora of different kinds need a dictionary.

    The returned vectors are those for which unit length, centering by the target's mean
    and unit length give x W, scaled by the mean norm of the target's vectors. A source
    with ``preprocess="unit-center-unit"`` on the words of both languages thus uses
    what was aligned. n-gram vectors of fastText are not mapped.

    References
    ----------
    .. [1] Smith, Turban, Hamblin and Hammerla (2017). Offline bilingual word vectors,
       orthogonal transformations and the inverted softmax. ICLR.
    .. [2] Artetxe, Labaka and Agirre (2018). Generalizing and improving bilingual word
       embedding mappings with a multi-step framework of linear transformations. AAAI.
    .. [3] Conneau, Lample, Ranzato, Denoyer and Jegou (2018). Word translation without
       parallel data. ICLR.

    Examples
    --------
    The German vectors are the English ones with other axes:

    >>> import tempfile
    >>> import numpy as np
    >>> from sk_metaembed import WordVectors, align_vectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> x = np.random.default_rng(0).normal(size=(4, 2))
    >>> english = ["dog", "house", "go", "2026"]
    >>> german = ["Hund", "Haus", "geh", "2026"]
    >>> en = WordVectors.from_arrays(english, x, cache_dir=folder.name)
    >>> turned = x @ [[0, 1], [-1, 0]]
    >>> de = WordVectors.from_arrays(german, turned, cache_dir=folder.name)
    >>> seeds = {"Hund": "dog", "Haus": "house"}
    >>> report = align_vectors(de, en, seeds, cache_dir=folder.name)
    >>> report.n_seeds, len(report.pairs)
    (2, 4)
    >>> cosine = report.vectors["geh"] @ en["go"]
    >>> cosine /= np.linalg.norm(report.vectors["geh"]) * np.linalg.norm(en["go"])
    >>> round(float(cosine), 3)
    1.0

    One store for both languages; of a word in both, the first is used:

    >>> both = WordVectors.from_arrays(
    ...     [*en.words, *report.vectors.words],
    ...     np.vstack([en.vectors, report.vectors.vectors]),
    ...     cache_dir=folder.name,
    ... )
    >>> both.words.tolist()
    ['dog', 'house', 'go', '2026', 'Hund', 'Haus', 'geh']
    >>> folder.cleanup()
    """
    _check(source, target, n_refinements, n_words)
    seeds = _seed_rows(source, target, dictionary)
    x, y = _Space(source), _Space(target)
    pairs, rotation = seeds, _rotation(x, y, seeds)
    if n_refinements:
        frequent_x, frequent_y = x.rows(slice(n_words)), y.rows(slice(n_words))
    for _ in range(n_refinements):
        mapped = normalize_rows(frequent_x @ rotation)
        found = mutual_neighbors(mapped, frequent_y, _N_NEIGHBORS)
        pairs = np.stack(found, axis=1)
        rotation = _rotation(x, y, pairs)
    if len(pairs) < min(source.dim, target.dim):
        warnings.warn(
            f"align_vectors: the map from {source.dim} to {target.dim} dimensions was "
            f"learned from only {len(pairs)} pairs of words, so that it is not unique. "
            + _ADVICE,
            UserWarning,
            stacklevel=2,
        )
    vectors = WordVectors.from_arrays(
        source.words,
        _mapped(x, rotation, y),
        path=path,
        cache_dir=cache_dir,
        dtype=dtype,
    )
    words = zip(source.words[pairs[:, 0]], target.words[pairs[:, 1]], strict=True)
    return AlignmentReport(vectors, rotation, len(seeds), tuple(words))


class _Space:
    """The centered unit vectors of a store."""

    def __init__(self, store):
        self.store = store
        first = store.vectors[:_N_MEAN]
        self.norm = float(row_norms(first).mean())
        self.mean = normalize_rows(first).mean(axis=0, dtype=np.float64)
        self.mean = self.mean.astype(np.float32)

    def rows(self, rows):
        """Return the centered unit vectors of some rows; vectors of zeros stay zero."""
        unit = normalize_rows(np.asarray(self.store.vectors[rows]))
        known = unit.any(axis=1)
        unit[known] -= self.mean
        return normalize_rows(unit)

    def restored(self, centered):
        """Return vectors of the store's space whose centered unit vectors are given.

        A centered unit vector c is that of the unit vector ``a c + mean``, with the
        positive a for which it has length 1.
        """
        along = centered @ self.mean
        rest = max(1 - float(self.mean @ self.mean), 0.0)
        scale = np.sqrt(along * along + rest) - along
        vectors = self.norm * (scale[:, None] * centered + self.mean)
        vectors[~centered.any(axis=1)] = 0
        return vectors


def _check(source, target, n_refinements, n_words):
    for name, store in (("source", source), ("target", target)):
        if not isinstance(store, WordVectors):
            raise TypeError(
                f"{name} must be a WordVectors; got "
                f"{type(store).__name__}. Open a file with WordVectors.open, or use "
                "WordVectors.from_keyed_vectors or from_arrays."
            )
    numbers = {"n_refinements": (n_refinements, 0), "n_words": (n_words, 1)}
    for name, (value, least) in numbers.items():
        if not is_integer(value) or value < least:
            raise ValueError(
                f"{name} must be an int of at least {least}; got {value!r}."
            )


def _seed_rows(source, target, dictionary):
    """Return the rows of the pairs of words that both stores have, (n_pairs, 2)."""
    if dictionary is None:
        rows = source.lookup(target.words)
        pairs = np.stack([rows, np.arange(len(rows))], axis=1)
        given = "no word is in both stores. Pass pairs of words as dictionary."
    else:
        words = _checked_pairs(dictionary)
        if not words:
            raise ValueError(
                "dictionary is empty. Pass pairs of words, or None to use "
                "words that are in both stores."
            )
        columns = [[pair[i] for pair in words] for i in (0, 1)]
        stores = (source, target)
        pairs = [s.lookup(column) for s, column in zip(stores, columns, strict=True)]
        pairs = np.stack(pairs, axis=1)
        missing = (pairs < 0).sum(axis=0)
        given = (
            f"of the {len(words)} pairs in dictionary, {missing[0]} have a first word "
            f"that is not in the source and {missing[1]} a second word that is not in "
            "the target. Check the order of the pair, and the case of the words."
        )
    pairs = pairs[(pairs >= 0).all(axis=1)].astype(np.intp)
    if not len(pairs):
        raise ValueError(given)
    return pairs


def _checked_pairs(dictionary):
    items = dictionary.items() if isinstance(dictionary, Mapping) else dictionary
    pairs = []
    for i, pair in enumerate(items):
        is_pair = isinstance(pair, tuple | list | np.ndarray) and len(pair) == 2
        if not (is_pair and all(isinstance(word, str) for word in pair)):
            raise TypeError(
                f"dictionary must have pairs of str; got {pair!r:.80} as pair {i}."
            )
        pairs.append(tuple(map(str, pair)))
    return list(dict.fromkeys(pairs))


def _rotation(x, y, pairs):
    """Return the orthogonal Procrustes map of pairs of rows, float32 (dim, dim)."""
    product = np.zeros((x.store.dim, y.store.dim))
    for part in chunks(len(pairs)):
        rows = pairs[part]
        values = x.rows(rows[:, 0]).astype(np.float64)
        product += values.T @ y.rows(rows[:, 1])
    left, _, right = np.linalg.svd(product, full_matrices=False)
    return (left @ right).astype(np.float32)


def _mapped(x, rotation, y):
    """Return all vectors of a space in the space of another, float32 (n, dim)."""
    n_words = len(x.store)
    mapped = np.empty((n_words, y.store.dim), dtype=np.float32)
    for part in chunks(n_words):
        mapped[part] = y.restored(normalize_rows(x.rows(part) @ rotation))
    return mapped
