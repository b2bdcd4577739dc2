"""EmbeddingUnion: several sources over the same tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils import Bunch, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._core._errors import prefix_errors, short_repr
from .._core._estimators import NamedEstimatorsMixin
from .._core._sklearn import VisualBlock, print_elapsed_time
from .._core._typing import Names
from ..sequences import EmbeddedInputMixin, EmbeddedSequences
from ..sequences._api import explained_token_errors
from ._base import BaseEmbedding

_ADVICE = (
    "To use a scikit-learn transformer as a source, wrap it: EstimatorEmbedding({0}"
    "(...), as_text=True) if it takes texts as str, as TfidfVectorizer does, and with "
    "as_text=False if it takes a TokenSequences."
)


def _check_source(i, pair):
    """Raise a TypeError unless a pair is a name and a source or "drop"."""
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2
    if not is_pair or not isinstance(pair[0], str):
        raise TypeError(
            "sources must be a list of (name, source) pairs; got "
            f"{short_repr(pair)} at index {i}. make_embedding_union(*sources) "
            "chooses names itself."
        )
    name, source = pair
    kind = type(source).__name__
    if isinstance(source, str) and source == "drop":
        return
    if (
        isinstance(source, EmbeddedInputMixin)
        and not get_tags(source).input_tags.string
    ):
        raise TypeError(
            f"source {name!r} is a {kind}, which takes EmbeddedSequences. Add it after "
            "the union in the Pipeline."
        )
    if hasattr(source, "prepare") and not hasattr(source, "transform"):
        raise TypeError(
            f"source {name!r} is a {kind}, which is trained with a network and not by "
            "the union. Remove it here, and pass it to the Dynamic* estimator after "
            "the union, which mixes it with the sources of the union: "
            f"DynamicMetaClassifier(trainable=[({name!r}, {kind}(...))])."
        )
    if not (hasattr(source, "fit") and hasattr(source, "transform")):
        raise TypeError(
            f"source {name!r} must have fit and transform, or be "
            f'"drop"; got {kind}: {short_repr(source)}.'
        )


def _explained_errors(name, source):
    """Advise how to wrap a third-party source that fails on a TokenSequences."""
    kind = type(source).__name__
    what = f"source {name!r}, a {kind},"
    return explained_token_errors(source, what, _ADVICE.format(kind))


def _check_same_tokens(name, source, embedded, tokens):
    """Raise an error unless a source returned vectors of its input tokens."""
    if not isinstance(embedded, EmbeddedSequences):
        raise TypeError(
            f"source {name!r}, a {type(source).__name__}, must return "
            f"EmbeddedSequences; got {type(embedded).__name__}. "
            + _ADVICE.format(type(source).__name__)
        )
    result = embedded.tokens
    same = result is tokens or (
        np.array_equal(result.codes, tokens.codes)
        and np.array_equal(result.offsets, tokens.offsets)
        and np.array_equal(result.types, tokens.types)
    )
    if not same:
        raise ValueError(
            f"source {name!r} returned vectors of other tokens ({result!r}) than its "
            f"input ({tokens!r}). Sources must not change the tokens; tokenize before "
            "the union."
        )


class EmbeddingUnion(NamedEstimatorsMixin, BaseEmbedding):
    """Embed the same token sequences with several sources.

    The input is split into tokens once, every source embeds these tokens, and the
    result contains the blocks of all sources. The sources to use are a parameter, so a
    grid search can select among them.

    Parameters
    ----------
    sources : list of (str, source) pairs
        A source is an estimator whose fit and transform return EmbeddedSequences of the
        same tokens, or "drop" to ignore the entry. Its parameters are set as
        ``name__parameter``; ``set_params(name=other)`` replaces a source.
    active : str or sequence of str, default=None
        Name or names of the sources to use; they keep the order of `sources`. None
        means all that are not "drop".
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or treat them as
        empty sequences. A TokenSequences is used as it is. The parameter `missing` of
        the sources is not used.
    n_jobs : int, default=None
        Number of sources to fit or apply in parallel, in threads: sources compute in
        NumPy, gensim or torch, which release the GIL, and share their vectors.
    verbose : bool, default=False
        Print the time taken to fit each source.

    Attributes
    ----------
    sources_ : list of (str, source) pairs
        The fitted clones of the active sources.
    named_sources_ : Bunch
        The fitted clones by name.
    coverage_ : dict of str to dict
        Share of the training data's ``"types"`` and ``"tokens"`` known to each source.
    dims_ : dict of str to int
        Dimension of each block, by block name.
    n_missing_ : int
        Number of missing rows in the data passed to `fit`.

    Raises
    ------
    ValueError
        If names are not unique, clash with parameters or contain ``__``; if `active`
        contains an unknown name; if no source is left.

    See Also
    --------
    make_embedding_union : Chooses the names of sources itself.
    source_subsets : Values of `active` for a grid search.

    Notes
    -----
    A single block takes the source's name; several blocks become ``name__block``.

    Examples
    --------
    >>> from sk_metaembed import EmbeddingUnion, FunctionEmbedding
    >>> def length(words):
    ...     return [[len(word)] for word in words]
    >>> def vowels(words):
    ...     return [[sum(letter in "aeiou" for letter in word)] for word in words]
    >>> sources = [
    ...     ("length", FunctionEmbedding(length)),
    ...     ("vowels", FunctionEmbedding(vowels)),
    ... ]
    >>> union = EmbeddingUnion(sources)
    >>> union.fit_transform(["to be"])
    EmbeddedSequences(1 sequences, 2 tokens, 2 types; length: type 1d, vowels: type 1d)
    >>> union.set_params(active=["vowels"]).fit_transform(["to be"]).names
    ('vowels',)
    >>> union.get_feature_names_out()
    array(['vowels__function0'], dtype=object)
    >>> union.named_sources_["vowels"].dims_
    {'function': 1}
    """

    _named_estimators = "sources"
    _preprocessings: dict = {}  # the sources preprocess their vectors
    _parameter_constraints: dict = {
        "sources": [list],
        "active": [str, list, tuple, np.ndarray, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        sources: list[tuple[str, Any]],
        *,
        active: str | Sequence[str] | None = None,
        missing: Literal["raise", "empty"] = "raise",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.sources = sources
        self.active = active
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return the feature names of the sources, prefixed with the source's name.

        Parameters
        ----------
        input_features : ignored
            Tokens have no feature names.

        Returns
        -------
        ndarray of str objects
            One name per dimension over all blocks, ``name__feature``.
        """
        check_is_fitted(self)
        names = [
            f"{name}__{feature}"
            for name, source in self.sources_
            for feature in source.get_feature_names_out()
        ]
        return np.array(names, dtype=object)

    def _active_sources(self):
        """Return the (name, source) pairs to fit, or raise if `sources` is invalid."""
        for i, pair in enumerate(self.sources):
            _check_source(i, pair)
        names = [name for name, _ in self.sources]
        self._validate_names(names)
        dropped = [name for name, source in self.sources if isinstance(source, str)]
        active = names if self.active is None else self._active_names()
        unknown = [name for name in active if name not in names]
        if unknown:
            raise ValueError(
                f"active contains {unknown}, which are not among the sources {names}."
            )
        used = set(active) - set(dropped)
        sources = [pair for pair in self.sources if pair[0] in used]
        if not sources:
            raise ValueError(
                f"no source of {names} is active and not dropped; got "
                f"active={self.active!r} and dropped {dropped}. Activate at least one."
            )
        return sources

    def _active_names(self):
        return [self.active] if isinstance(self.active, str) else list(self.active)

    def _learn(self, tokens, y):
        sources = self._active_sources()
        messages = [
            f"(source {i} of {len(sources)}) Fitting {name}" if self.verbose else None
            for i, (name, _) in enumerate(sources, 1)
        ]
        results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_fit_source)(name, clone(source), tokens, y, message)
            for (name, source), message in zip(sources, messages, strict=True)
        )
        fitted, embedded = zip(*results, strict=True)
        self.sources_ = list(zip(dict(sources), fitted, strict=True))
        self.named_sources_ = Bunch(**dict(self.sources_))
        self.coverage_ = {
            name: source.coverage_
            for name, source in self.sources_
            if hasattr(source, "coverage_")
        }
        blocks = self._renamed_blocks(tokens, embedded)
        self.dims_ = {block.name: block.dim for block in blocks}
        return blocks

    def _embed(self, tokens):
        if effective_n_jobs(self.n_jobs) == 1:  # joblib has overhead
            embedded = [_apply(name, source, tokens) for name, source in self.sources_]
        else:
            embedded = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(_apply)(*pair, tokens) for pair in self.sources_
            )
        return self._renamed_blocks(tokens, embedded)

    def _renamed_blocks(self, tokens, embedded):
        """Return the blocks of all sources under the names of the sources."""
        blocks = []
        for (name, source), part in zip(self.sources_, embedded, strict=True):
            _check_same_tokens(name, source, part, tokens)
            several = len(part.blocks) > 1
            blocks += [
                block.rename(f"{name}__{block.name}" if several else name)
                for block in part.blocks
            ]
        return blocks

    def _sk_visual_block_(self):
        fitted = dict(getattr(self, "sources_", ()))
        active = None if self.active is None else set(self._active_names())
        names, sources = [], []
        for name, source in self.sources:
            # scikit-learn shows parameters with the text before the colon as prefix.
            dropped = isinstance(source, str)
            inactive = active is not None and name not in active and not dropped
            names.append(f"{name}: not active" if inactive else name)
            sources.append(fitted.get(name, source))
        return VisualBlock("parallel", sources, names=names)


def _fit_source(name, source, tokens, y, message):
    """Fit a source; return it, and the vectors of the tokens."""
    with (
        print_elapsed_time("EmbeddingUnion", message),
        _explained_errors(name, source),
    ):
        if hasattr(source, "fit_transform"):
            return source, source.fit_transform(tokens, y)
        source = source.fit(tokens, y)
        return source, source.transform(tokens)  # only a FrozenEstimator


def _apply(name, source, tokens):
    with _explained_errors(name, source):
        return source.transform(tokens)


def make_embedding_union(
    *sources: Any,
    active: str | Sequence[str] | None = None,
    missing: Literal["raise", "empty"] = "raise",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> EmbeddingUnion:
    """Make an EmbeddingUnion, with names derived from the sources' classes.

    Names are the `block_name` of the sources, such as "word2vec"; several sources of
    one class are numbered, "word2vec-1", "word2vec-2".

    Parameters
    ----------
    *sources : source
        Sources as in the pairs of `EmbeddingUnion`.
    active : str or sequence of str, default=None
        Name or names of the sources to use, None for all.
    missing : {"raise", "empty"}, default="raise"
        Whether missing rows raise an error or are empty sequences, as for
        `EmbeddingUnion`.
    n_jobs : int, default=None
        Number of sources to fit or apply in parallel.
    verbose : bool, default=False
        Print the time taken to fit each source.

    Returns
    -------
    EmbeddingUnion
        The unfitted union.

    See Also
    --------
    EmbeddingUnion : Takes explicit names.

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
    return EmbeddingUnion(
        pairs, active=active, missing=missing, n_jobs=n_jobs, verbose=verbose
    )


@prefix_errors
def source_subsets(
    names: Iterable[str] | EmbeddingUnion,
    *,
    min_size: int = 1,
    max_size: int | None = None,
) -> list[tuple[str, ...]]:
    """Return the subsets of sources, to search over the `active` of an EmbeddingUnion.

    Single sources come first, then pairs, and so on, each in the order of `names`, so
    the first rows of a grid are the single sources that a combination has to beat.
    There are 2 ** n - 1 subsets of n sources; `max_size` limits a grid.

    Parameters
    ----------
    names : sequence of str or EmbeddingUnion
        Names of the sources. For a union, all sources that are not "drop", regardless
        of `active`.
    min_size : int, default=1
        Number of sources in the smallest subsets.
    max_size : int, default=None
        Number of sources in the largest subsets, None for all sources.

    Returns
    -------
    list of tuple of str
        The smallest subsets first.

    Raises
    ------
    TypeError
        If `names` is a str or contains other types than str.
    ValueError
        If `names` is empty or has duplicates, or no subset has such a size.

    See Also
    --------
    EmbeddingUnion : Takes a subset as `active`.

    Examples
    --------
    >>> from sk_metaembed import source_subsets
    >>> source_subsets(["w2v", "ft", "glove"], max_size=2)
    [('w2v',), ('ft',), ('glove',), ('w2v', 'ft'), ('w2v', 'glove'), ('ft', 'glove')]
    >>> grid = {"embed__active": source_subsets(["w2v", "ft"])}
    >>> grid["embed__active"]
    [('w2v',), ('ft',), ('w2v', 'ft')]
    """
    if hasattr(names, "sources"):  # an EmbeddingUnion
        names = [name for name, source in names.sources if not isinstance(source, str)]
    names = names if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            "names must be a list of str or an EmbeddingUnion, not (name, source) "
            f"pairs; got {names!r}."
        )
    if not names or len(set(names)) < len(names):
        raise ValueError(f"names must be distinct, and at least one; got {names}.")
    distinct = [str(name) for name in names]  # converts numpy.str_
    largest = len(distinct) if max_size is None else max_size
    if not 1 <= min_size <= largest <= len(distinct):
        raise ValueError(
            "min_size and max_size must satisfy 1 <= min_size <= max_size <= "
            f"{len(distinct)}, the number of sources; got min_size={min_size}, "
            f"max_size={largest}."
        )
    return [
        subset
        for size in range(min_size, largest + 1)
        for subset in combinations(distinct, size)
    ]
