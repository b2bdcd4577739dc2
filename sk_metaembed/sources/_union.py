"""EmbeddingUnion: several sources on one grid of tokens.

What EmbeddingUnion asks of its sources, before and after they embed.

make_embedding_union: an EmbeddingUnion whose names need not be thought up.
"""

from contextlib import contextmanager
from numbers import Integral

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils import Bunch, get_tags
from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._core._decorators import fit_context, rollback_on_error
from .._core._messages import short_repr
from ..sequences import (
    EmbeddedInputMixin,
    EmbeddedSequences,
    TokenSequences,
    check_tokens,
)
from ..sequences._mixins import MISSING_CONSTRAINT, SequencesOutputMixin
from ..sequences._validation import count_missing
from ._base import used_types
from ._estimator import reads_tokens


def check_pairs(sources):
    """Raise a TypeError unless sources are pairs of a name and a source or "drop"."""
    for i, pair in enumerate(sources):
        named = isinstance(pair, tuple | list) and len(pair) == 2
        if not named or not isinstance(pair[0], str):
            raise TypeError(
                f"EmbeddingUnion: sources must be a list of (name, source) pairs, but "
                f"entry {i} is {short_repr(pair)}. make_embedding_union(*sources) "
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
            f'"drop"; got {type(source).__name__}: {short_repr(source)}.'
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


class EmbeddingUnion(
    SequencesOutputMixin,
    TransformerMixin,
    _BaseComposition,
    auto_wrap_output_keys=None,
):
    """Give the same token sequences the vectors of several sources.

    The input is read into tokens once, every source embeds these, and the blocks of
    all stand side by side under the union's names. Which sources take part is a
    parameter, so that a grid search can choose among them.

    Parameters
    ----------
    sources : list of (str, source) pairs
        A source is anything whose fit and transform give EmbeddedSequences of the
        same tokens, or "drop" to leave it out. Parameters are reached as
        ``name__parameter``; ``set_params(name=other)`` replaces a source.
    active : str or sequence of str, default=None
        Name or names of the sources that take part, in the order of `sources`. None
        means all that are not "drop".
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or take them as
        empty sequences. A TokenSequences is taken as it is.
    n_jobs : int, default=None
        Number of sources to fit or apply at a time, in threads: sources compute in
        NumPy, gensim or torch, which leave threads free, and share their vectors.
    verbose : bool, default=False
        Print the time that each source takes to fit.

    Attributes
    ----------
    sources_ : list of (str, source) pairs
        The fitted clones of the sources that take part.
    named_sources_ : Bunch
        The same by name.
    coverage_ : dict of str to dict
        Share of the training fold's ``"types"`` and ``"tokens"`` that each source
        knows.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    ValueError
        If names repeat, clash with parameters or hold ``__``; if `active` names what
        there is not; if no source is left.

    See Also
    --------
    make_embedding_union : The same without choosing names.

    Notes
    -----
    A source's only block takes the source's name; several become ``name__block``.

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
    """

    _parameter_constraints: dict = {
        "sources": [list],
        "active": [str, list, tuple, np.ndarray, None],
        "missing": MISSING_CONSTRAINT,
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self, sources, *, active=None, missing="raise", n_jobs=None, verbose=False
    ):
        self.sources = sources
        self.active = active
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    def get_params(self, deep=True):
        """Return the parameters of the union and of its sources.

        A search reads from it which names it may set.

        Parameters
        ----------
        deep : bool, default=True
            With those of the sources, as ``name__parameter``.

        Returns
        -------
        dict
            Values by name.
        """
        return self._get_params("sources", deep=deep)

    def set_params(self, **params):
        """Set parameters of the union, replace a source, or set a source's.

        A source that is replaced keeps name and place. Which sources help is found by a
        grid over `active`, such as `source_subsets` makes.

        Parameters
        ----------
        **params : dict
            ``active=("w2v",)``, ``w2v="drop"`` or ``w2v__vector_size=50``.

        Returns
        -------
        estimator instance
            The union.
        """
        self._set_params("sources", **params)
        return self

    # Nested estimators validate their own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit(self, X, y=None):
        """Fit every source that takes part.

        The sources are cloned first: those that were passed stay as they are, and the
        fitted ones are in `sources_`.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.
        y : array-like, default=None
            Passed on to the sources.

        Returns
        -------
        estimator instance
            The fitted union.
        """
        sources = self._taking_part()
        tokens = self._read(X)
        self._remember(sources, self._each(_fit, sources, tokens, y))
        self.n_missing_ = count_missing(tokens)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit_transform(self, X, y=None):
        """Fit every source that takes part, and embed with it.

        A Pipeline calls it while it is fitted, and each source computes the training
        fold once.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.
        y : array-like, default=None
            As for `fit`.

        Returns
        -------
        EmbeddedSequences
            As `transform` of the same data gives.
        """
        sources, tokens = self._taking_part(), self._read(X)
        results = self._each(_fit_transform, sources, tokens, y)
        fitted, embedded = zip(*results, strict=True)
        self._remember(sources, fitted)
        self.n_missing_ = count_missing(tokens)
        return self._joined(tokens, embedded)

    def transform(self, X):
        """Embed with every fitted source.

        A source that gives other tokens than it was passed is told by name: blocks side
        by side would belong to different words.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.

        Returns
        -------
        EmbeddedSequences
            The blocks of all sources.
        """
        check_is_fitted(self)
        tokens = self._read(X)
        embedded = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_transform)(name, source, tokens) for name, source in self.sources_
        )
        return self._joined(tokens, embedded)

    def get_feature_names_out(self, input_features=None):
        """Return the sources' feature names behind their names, ``name__feature``.

        A combining step and `SourceSelector` take them in, and name what they keep by
        them.

        Parameters
        ----------
        input_features : ignored
            Tokens have no feature names.

        Returns
        -------
        ndarray of str objects
            One name a dimension, over all blocks.
        """
        check_is_fitted(self)
        names = [
            f"{name}__{feature}"
            for name, source in self.sources_
            for feature in source.get_feature_names_out()
        ]
        return np.array(names, dtype=object)

    def __getitem__(self, name):
        """Return the source of that name, fitted if the union is."""
        sources = dict(getattr(self, "sources_", self.sources))
        if name not in sources:
            raise KeyError(f"No source is named {name!r}; there are {list(sources)}.")
        return sources[name]

    def _read(self, X):
        caller = type(self).__name__
        return used_types(check_tokens(X, caller=caller, missing=self.missing))

    def _taking_part(self):
        check_pairs(self.sources)
        names = [name for name, _ in self.sources]
        self._validate_names(names)
        dropped = [name for name, source in self.sources if isinstance(source, str)]
        active = names if self.active is None else self._active_names()
        absent = [name for name in active if name not in names]
        if absent:
            raise ValueError(
                f"EmbeddingUnion: active names {absent}, which are not among the "
                f"sources {names}."
            )
        taken = set(active) - set(dropped)
        left = [pair for pair in self.sources if pair[0] in taken]
        if not left:
            raise ValueError(
                f"EmbeddingUnion: no source is left. There are {names}; dropped are "
                f"{dropped}, active is {self.active!r}. Activate at least one that is "
                "not dropped."
            )
        return left

    def _active_names(self):
        return [self.active] if isinstance(self.active, str) else list(self.active)

    def _each(self, action, sources, tokens, y):
        messages = [
            f"(source {i} of {len(sources)}) Fitting {name}" if self.verbose else None
            for i, (name, _) in enumerate(sources, 1)
        ]
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(action)(name, clone(source), tokens, y, message)
            for (name, source), message in zip(sources, messages, strict=True)
        )

    def _remember(self, sources, fitted):
        names = [name for name, _ in sources]
        self.sources_ = list(zip(names, fitted, strict=True))
        self.named_sources_ = Bunch(**dict(self.sources_))
        self.coverage_ = {
            name: source.coverage_
            for name, source in self.sources_
            if hasattr(source, "coverage_")
        }

    def _joined(self, tokens, embedded):
        blocks = []
        for (name, source), part in zip(self.sources_, embedded, strict=True):
            check_same_tokens(name, source, part, tokens)
            several = len(part.blocks) > 1
            for block in part.blocks:
                blocks.append(
                    block.rename(f"{name}__{block.name}" if several else name)
                )
        return EmbeddedSequences(tokens, blocks)

    def _sk_visual_block_(self):
        fitted = dict(getattr(self, "sources_", ()))
        active = None if self.active is None else set(self._active_names())
        names, sources = [], []
        for name, source in self.sources:
            # What stands before a colon is the prefix of the parameters.
            dropped = isinstance(source, str)
            rests = active is not None and name not in active and not dropped
            names.append(f"{name}: not active" if rests else name)
            sources.append(fitted.get(name, source))
        return _VisualBlock("parallel", sources, names=names)


def _fit(name, source, tokens, y, message):
    with _print_elapsed_time("EmbeddingUnion", message), on_tokens(name, source):
        return source.fit(tokens, y)


def _transform(name, source, tokens):
    with on_tokens(name, source):
        return source.transform(tokens)


def _fit_transform(name, source, tokens, y, message):
    with _print_elapsed_time("EmbeddingUnion", message), on_tokens(name, source):
        if hasattr(source, "fit_transform"):
            return source, source.fit_transform(tokens, y)
        # A FrozenEstimator has none, as scikit-learn's own unions allow.
        return source, source.fit(tokens, y).transform(tokens)


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
