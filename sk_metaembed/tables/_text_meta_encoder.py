"""TextMetaEncoder: encode text columns as numbers, by several sources at once."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._core._errors import NamedErrorsMixin, plural, short_repr
from .._core._estimators import (
    NamedEstimatorsMixin,
    fit_context,
)
from .._core._frames import (
    check_names,
    check_same_names,
    plain_container,
    record_names,
    unique_names,
)
from .._core._sklearn import COUNT, NATURAL, HasMethods, StrOptions
from .._core._typing import Names
from .._targets import check_target, is_continuous, read_partial_labels
from ..meta import BlockPCA, StackedMetaClassifier, StackedMetaRegressor
from ..pooling import Pooling
from ..sequences import (
    EmbeddedInputMixin,
    SequencePairs,
    SequencesInputMixin,
    Tokenizer,
)
from ..sequences._api import check_cells, distinct_cells, read_columns
from ..sources import EmbeddingUnion, LSAEmbedding, make_embedding_union
from ._cells import MISSING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from sklearn.pipeline import Pipeline


def named_sources(sources: Sequence[Any] | None) -> Any:
    """Return (name, source) pairs; sources without names are named by their classes."""
    sources = () if sources is None else sources
    if not isinstance(sources, list | tuple):
        return sources  # invalid; fit raises the error
    if all(isinstance(source, tuple | list) for source in sources):
        return list(sources)
    return make_embedding_union(*sources).sources


class NamedSourcesMixin(NamedErrorsMixin, NamedEstimatorsMixin):
    """Get and set the parameters of named `sources`."""

    sources: Sequence[Any] | None
    _named_estimators = "_named_sources"

    @property
    def _named_sources(self):
        return named_sources(self.sources)

    @_named_sources.setter
    def _named_sources(self, sources):
        self.sources = sources


# With fewer rows, out-of-fold predictions did not improve the next step, or made it
# worse.
FEWEST_ROWS = 200


class StackedPredictions(EmbeddedInputMixin, TransformerMixin, BaseEstimator):
    """Predict y from sequences, out of fold for the training rows.

    Not public. The columns are the decision values of a `StackedMetaClassifier`, or the
    predictions of a `StackedMetaRegressor`; there are no columns for fewer than 200
    training rows with ``cv="auto"``, or if almost all texts are equal, so that no row
    can be held out. Sources in `ignored` are left out, because the stack reads the
    words themselves.
    """

    def __init__(self, ignored, tfidf, target_type, cv, random_state, n_jobs):
        self.ignored = ignored
        self.tfidf = tfidf
        self.target_type = target_type
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Fit the stack."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X, y):
        """Return the prediction of each row by models that have not seen the row."""
        self.stack_, weights, n_rows = None, None, len(X)
        if self.target_type == "semi-supervised":
            y, weights = read_partial_labels(y)
            n_rows = np.count_nonzero(weights)
        if n_rows < FEWEST_ROWS:
            if self.cv == "auto":
                return np.zeros((len(X), 0), dtype=np.float32)
            warnings.warn(
                f"TextMetaEncoder: out-of-fold predictions of {n_rows} rows, cv="
                f"{self.cv!r}, are noisy and can make the next step worse. Set "
                f"cv='auto', which adds them from {FEWEST_ROWS} rows on.",
                stacklevel=2,
            )
        is_number = self.target_type == "continuous" or is_continuous(check_target(y))
        kind = StackedMetaRegressor if is_number else StackedMetaClassifier
        stack = kind(
            tfidf=self.tfidf,
            cv=None if self.cv == "auto" else self.cv,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "no row could be held out", UserWarning)
            columns = stack.fit_transform(self._read(X), y, weights)
        if np.isnan([*stack.scores_.values()]).all():
            return np.zeros((len(X), 0), dtype=np.float32)
        self.stack_ = stack
        return stack.combine(columns).astype(np.float32)

    def transform(self, X):
        """Return predictions of models that were fitted on all training rows."""
        check_is_fitted(self)
        if self.stack_ is None:
            return np.zeros((len(X), 0), dtype=np.float32)
        decide = getattr(self.stack_, "decision_function", self.stack_.predict)
        return decide(self._read(X)).reshape(len(X), -1).astype(np.float32)

    def get_feature_names_out(self, input_features=None):
        """Return "stacked", or ``stacked__class`` for each column."""
        check_is_fitted(self)
        if self.stack_ is None:
            return np.array([], dtype=object)
        first, *others = self.stack_.weights_
        names = self.stack_.get_feature_names_out()
        names = names[: len(names) // (1 + len(others))]
        endings = [name.removeprefix(first) for name in names]
        return np.array([f"stacked{ending}" for ending in endings], dtype=object)

    def _read(self, X):
        """Return the sources that the stack reads, or the tokens if there are none."""
        names = [name for name in X.names if name not in self.ignored]
        return X.select(names) if names else X.tokens


_CHAR_NGRAMS = {"words": None, "chars": (3, 4)}


class TextMetaEncoder(SequencesInputMixin, TransformerMixin, NamedSourcesMixin):
    r"""Encode text columns as numbers, for any scikit-learn estimator.

    Each text column is embedded by several sources: latent semantic analysis of its
    words and of their character n-grams, which need no files or downloads, and further
    `sources` such as a `TransformerEmbedding` or a `PretrainedEmbedding`. Each source
    is reduced to few dimensions and scaled. With `cv`, the out-of-fold predictions of a
    stack of linear models of words, characters and all dimensions of the sources are
    added, which often improves results as much as a further source.

    `to_pipeline` returns the steps of the encoder.

    Parameters
    ----------
    sources : list of sources or of (str, source) pairs, default=None
        Sources in addition to "words" and "chars", as for `EmbeddingUnion`. Sources
        without a name are named after their class. Each column has its own clones,
        which share files, models and caches.
    active : str or sequence of str, default=None
        Names of the sources to use, among "words", "chars" and the names in `sources`.
        None uses all sources. The parameter can be tuned by a search.
    combine : meta-embedding, default=None
        Combines the sources' sequence vectors after their reduction, such as
        `AverageMetaEmbedding` or `SVDMetaEmbedding`. None concatenates them. It must
        not learn from y.
    n_components : int, default=30
        Number of dimensions to keep for each source.
    cv : "auto", int, cross-validation generator or an iterable, default=None
        Folds of the out-of-fold predictions that are added, for which `fit` needs y.
        None adds no predictions. "auto" lets the stack choose the folds, and adds no
        predictions for fewer than 200 rows, because they are too noisy for the next
        step; other values issue a warning in this case.
    target_type : {"auto", "continuous", "semi-supervised"}, default="auto"
        Type of y, as for `TableEncoder`. Used only if `cv` is set.
    cardinality_threshold : int, default=40
        A column of a table with fewer distinct values is one-hot encoded, if its values
        occur twice or more on average. A list or Series of texts is one-hot encoded
        only if all texts are equal.
    n_jobs : int, default=None
        Number of columns, sources or models that are fitted in parallel.
    random_state : int, RandomState instance or None, default=None
        Determines the randomized SVD of "words" and "chars", and the folds if `cv` is
        an int.

    Attributes
    ----------
    encoders_ : dict of str to estimator
        The fitted pipeline of each column, or its OneHotEncoder.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str objects, shape (n_features_in_,)
        Names of the columns, if all are str.
    n_missing_ : dict of str to int
        Number of missing values of each column in the data passed to `fit`.

    Raises
    ------
    TypeError
        If a value is not a str, a list of str or missing.
    ValueError
        If the columns of X differ from those in `fit`, if a source name is used twice
        or is unknown in `active`, or if `cv` is set and y is missing.

    See Also
    --------
    make_table_pipeline : A pipeline for tables with columns of all kinds.
    make_text_pipeline : A pipeline for texts alone.
    PairEncoder : Encodes pairs of texts to compare, by one encoder.

    Notes
    -----
    A missing value is treated as an empty text. In a table, texts that tools write for
    missing values, such as "NA" and "NULL", are treated as missing. If the training
    data have missing values, the column ``<name>__missing`` indicates them. Equal texts
    are computed once.

    With `cv`, ``fit_transform(X, y)`` differs from ``fit(X, y).transform(X)``, as for
    scikit-learn's `TargetEncoder`: ``fit_transform`` predicts each row by models that
    were not fitted on it. A Pipeline calls ``fit_transform``, as intended.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_metaembed import TextMetaEncoder
    >>> table = pd.DataFrame({
    ...     "remarks": ["no damage to wing", "damage to engine", "dents in wing", None],
    ...     "phase": ["climb", "climb", "approach", "approach"],
    ... })
    >>> encoder = TextMetaEncoder(n_components=2, random_state=0)
    >>> encoder = encoder.set_output(transform="pandas")
    >>> encoder.fit_transform(table).columns.tolist()
    ['remarks__words__0', 'remarks__words__1', 'remarks__chars__0',
     'remarks__chars__1', 'remarks__missing', 'phase__approach', 'phase__climb']
    """

    _parameter_constraints: dict = {
        "sources": [list, tuple, None],
        "active": [str, "array-like", None],
        "combine": [HasMethods(["fit", "transform"]), None],
        "n_components": [COUNT],
        "cv": ["cv_object", StrOptions({"auto"})],
        "target_type": [StrOptions({"auto", "continuous", "semi-supervised"})],
        "cardinality_threshold": [NATURAL],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        sources: Sequence[Any] | None = None,
        *,
        active: str | Sequence[str] | None = None,
        combine: Any = None,
        n_components: int = 30,
        cv: Literal["auto"] | Any = None,
        target_type: Literal["auto", "continuous", "semi-supervised"] = "auto",
        cardinality_threshold: int = 40,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sources = sources
        self.active = active
        self.combine = combine
        self.n_components = n_components
        self.cv = cv
        self.target_type = target_type
        self.cardinality_threshold = cardinality_threshold
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def source_names(self) -> list[str]:
        """Names of all sources, active or not, including "words" and "chars"."""
        return [*_CHAR_NGRAMS, *(name for name, _ in self._named_sources)]

    def to_pipeline(self) -> Pipeline:
        """Return the unfitted steps that encode one text column.

        Returns
        -------
        Pipeline
            The steps from texts to an array: tokens, sources, reduction, pooling, and
            models if `cv` is set. After `fit`, `encoders_` contains the fitted
            pipelines.
        """
        from sklearn.pipeline import FeatureUnion, Pipeline

        size, seed = self.n_components, self.random_state
        own = [
            (name, LSAEmbedding(size, char_ngrams=n, random_state=seed))
            for name, n in _CHAR_NGRAMS.items()
        ]
        given = [
            (name, clone(source, safe=False)) for name, source in self._named_sources
        ]
        union = EmbeddingUnion([*own, *given], active=self.active, n_jobs=self.n_jobs)
        steps = [("pca", BlockPCA(self.n_components))]
        if self.combine is not None:
            steps.append(("combine", clone(self.combine)))
        steps.append(("pool", Pooling()))
        if self.cv is not None:
            stacked = StackedPredictions(
                ignored=tuple(_CHAR_NGRAMS),
                tfidf=self._reads_words(),
                target_type=self.target_type,
                cv=self.cv,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
            both = [("vectors", Pipeline(steps)), ("predictions", stacked)]
            steps = [("features", FeatureUnion(both, verbose_feature_names_out=False))]
        tokens = Tokenizer(punctuation=True, missing="empty")
        return Pipeline([("tokens", tokens), ("sources", union), *steps])

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Fit the sources of each column.

        Parameters
        ----------
        X : DataFrame, array of shape (n_rows, n_columns), Series or list of str
            The texts. Token lists in a Series or DataFrame are texts that are already
            split; in a list of lists, each inner list contains the cells of a row.
        y : array-like of shape (n_rows,), default=None
            Classes or numbers, used only if `cv` is set.

        Returns
        -------
        TextMetaEncoder
            The fitted transformer.
        """
        self.fit_transform(X, y)
        return self

    @fit_context
    def fit_transform(self, X: Any, y: ArrayLike | None = None) -> NDArray[np.float32]:
        """Fit the sources of each column and encode the training data.

        Parameters
        ----------
        X : DataFrame, array of shape (n_rows, n_columns), Series or list of str
            As for `fit`.
        y : array-like of shape (n_rows,), default=None
            As for `fit`.

        Returns
        -------
        ndarray of float32, shape (n_rows, n_features_out)
            The output of `transform`, with out-of-fold predictions if `cv` is set.
        """
        y = self._check_target(y)
        cells, absent = self._read(X, reset=True)
        if not cells or not cells[0]:
            raise ValueError(
                "Found array with 0 sample(s): at least one row and column are needed "
                "to fit the sources."
            )
        if y is not None and self.target_type != "semi-supervised":
            is_number = self.cv is not None and self.target_type == "continuous"
            y = check_target(y, len(cells[0]), "numbers" if is_number else "any")
        encoders = [self._choose(column) for column in cells]
        results = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_encoder)(encoder, column, y)
            for encoder, column in zip(encoders, cells, strict=True)
        )
        fitted, outputs = zip(*results, strict=True)
        self.encoders_ = dict(zip(self._column_names, fitted, strict=True))
        counts = [int(flags.sum()) for flags in absent]
        self.n_missing_ = dict(zip(self._column_names, counts, strict=True))
        return self._joined(outputs, absent)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Encode the columns.

        Parameters
        ----------
        X : DataFrame, array of shape (n_rows, n_columns), Series or list of str
            The columns seen in `fit`.

        Returns
        -------
        ndarray of float32, shape (n_rows, n_features_out)
            Columns are named by `get_feature_names_out`.
        """
        check_is_fitted(self)
        cells, absent = self._read(X, reset=False)
        outputs = Parallel(n_jobs=self.n_jobs)(
            delayed(_encode)(encoder, column)
            for encoder, column in zip(self.encoders_.values(), cells, strict=True)
        )
        return self._joined(outputs, absent)

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return a name for each column of the output: ``column__source__number``.

        Parameters
        ----------
        input_features : ignored
            The names seen in `fit` are used.

        Returns
        -------
        ndarray of str objects
            Also ``column__missing`` for columns with missing values in `fit`,
            ``column__stacked__class`` for predictions, and ``column__value`` for
            columns of few values. Names have no ``column__`` if X is not a table.
        """
        check_is_fitted(self)
        names = []
        for column, encoder in self.encoders_.items():
            own = _output_names(encoder) + ["missing"] * (self.n_missing_[column] > 0)
            names += [f"{column}__{name}" if column else name for name in own]
        return unique_names(names)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # columns of a table
        tags.input_tags.allow_nan = True
        tags.input_tags.one_d_array = True  # a Series or list is one column
        tags.target_tags.required = self.cv is not None
        return tags

    def _reads_words(self):
        """Return whether a source of the words themselves is active."""
        active = [self.active] if isinstance(self.active, str) else self.active
        return active is None or any(name in _CHAR_NGRAMS for name in active)

    def _check_target(self, y):
        """Return y, or None if y is not used; raise an error if a step would leak y."""
        for name, step in [("combine", self.combine), *self._named_sources]:
            if hasattr(step, "fit") and get_tags(step).target_tags.required:
                raise ValueError(
                    f"{type(step).__name__}, {name!r}, learns from y, so its "
                    "vectors of the training rows would be optimistic. Remove it."
                )
        if self.cv is None:
            return None
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: the predictions of "
                f"cv={self.cv!r} learn from it. Pass y to fit, or set cv=None."
            )
        return y

    def _choose(self, cells):
        """Return the unfitted encoder of a column."""
        limit = self.cardinality_threshold if self._is_table else 2
        distinct, _ = distinct_cells(cells)
        is_repeated = len(distinct) < limit and len(distinct) <= len(cells) / 2
        if any(distinct) and not is_repeated:
            return self.to_pipeline()
        from sklearn.preprocessing import OneHotEncoder

        # One-hot encode an empty text as zeros, unless all texts are empty.
        values = sorted({_as_text(cell) for cell in cells} - {""}) or [""]
        return OneHotEncoder(
            categories=[values],
            handle_unknown="ignore",
            sparse_output=False,
            dtype=np.float32,
        )

    def _read(self, X, *, reset):
        """Return the cells of each column, "" if missing, and masks of missing cells.

        With ``reset=True``, in fit, record the names of the columns.
        """
        if isinstance(X, SequencePairs):
            raise TypeError(
                f"X must hold columns of texts, got {X!r}. Pass the original "
                "columns of texts."
            )
        X = plain_container(X)
        if not reset:
            check_same_names(self, X)
        columns, names = read_columns(X)
        if reset:
            is_frame = len(getattr(X, "shape", ())) == 2
            self._is_table = is_frame or len(columns) != 1
            if names is None:
                names = [f"x{j}" * self._is_table for j in range(len(columns))]
            check_names(names)
            self._column_names = tuple(names)
            self.n_features_in_ = len(names)
            record_names(self, X)
        expected = self._column_names
        if not any(columns):  # an empty list, which has no columns
            columns = [[]] * len(expected)
        if len(columns) != len(expected):
            raise ValueError(
                f"X has {plural(len(columns), 'column')}, but in fit it had "
                f"{len(expected)}: {short_repr(list(expected))}. Pass the same columns."
            )
        cells, absent = check_cells(
            columns,
            [f"column {name!r}" for name in expected],
            part="cell",
            reader=type(self).__name__,
            missing="empty",
        )
        if self._is_table:
            absent = absent | np.fromiter(map(_is_marked, cells), bool, len(cells))
        texts = zip(cells, absent, strict=True)
        cells = [c if _as_text(c) and not a else type(c)() for c, a in texts]
        n_rows = len(columns[0])
        spans = [slice(i * n_rows, (i + 1) * n_rows) for i in range(len(expected))]
        return [cells[span] for span in spans], [absent[span] for span in spans]

    def _joined(self, outputs, absent):
        parts, counts = [], self.n_missing_.values()
        for output, flags, n_missing in zip(outputs, absent, counts, strict=True):
            parts += [output, flags[:, None]] if n_missing else [output]
        return np.hstack(parts, dtype=np.float32, casting="unsafe")


def _is_marked(cell):
    """Return whether a cell is a text that marks a missing value."""
    text = cell.strip() if isinstance(cell, str) else ""
    return text != "" and text in MISSING


def _fit_encoder(encoder, cells, y):
    """Return a column's fitted encoder, and its output."""
    with config_context(transform_output="default"):
        output = encoder.fit_transform(_encoder_input(encoder, cells), y)
    return encoder, output


def _encode(encoder, cells):
    """Return the output of a column's encoder, computed once for each distinct cell."""
    if not cells:
        return np.zeros((0, len(_output_names(encoder))), dtype=np.float32)
    distinct, places = distinct_cells(cells)
    with config_context(transform_output="default"):
        return encoder.transform(_encoder_input(encoder, distinct))[places]


def _encoder_input(encoder, cells):
    if hasattr(encoder, "steps"):
        return cells
    return np.fromiter(map(_as_text, cells), object)[:, None]


def _as_text(cell):
    """Return a cell, which is a text or a list of words, as the name of a category."""
    text = cell if isinstance(cell, str) else " ".join(cell)
    return unicodedata.normalize("NFC", text.strip())


def _output_names(encoder):
    """Return the names of an encoder's columns, without a prefix."""
    if hasattr(encoder, "steps"):
        return encoder.get_feature_names_out().tolist()
    return [value or "empty" for value in encoder.categories_[0]]
