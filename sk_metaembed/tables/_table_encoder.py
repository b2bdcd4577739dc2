"""TableEncoder: encode the columns of a table as numbers, each by what it contains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._core._errors import plural
from .._core._estimators import fit_context, fit_task, part_tasks
from .._core._frames import plain_container, record_names, unique_names
from .._core._sample_weights import check_sample_weight
from .._core._sklearn import (
    COUNT,
    CallbackSupportMixin,
    StrOptions,
    get_output_config,
    with_callbacks,
)
from .._core._typing import Names
from .._stacking import deal_rows
from .._targets import (
    center_and_scale,
    check_groups,
    check_one_column,
    check_target,
    is_continuous,
    read_partial_labels,
)
from ..sequences._api import find_copies
from ._cells import distinct
from ._column_encoder import fit_column
from ._column_format import find_duplicates
from ._table_reader import read_table
from ._text_meta_encoder import NamedSourcesMixin, TextMetaEncoder

_FEWEST_ROWS = 30  # that out-of-fold predictions need
_NGRAMS = "ngrams"
_MAX_COLUMNS = 10  # the most frequent classes, with a column of predictions each


class TableEncoder(TransformerMixin, CallbackSupportMixin, NamedSourcesMixin):
    r"""Encode the columns of a table as numbers, each by what it contains.

    The kind of each column is decided from the training rows: numbers, also those
    written as "1,299", "12,5" or "8GB", dates in any usual format, categories, names,
    codes with numbers inside such as "Core i5 2.5GHz", texts, lists. `columns_` shows
    the decisions. Strings with many distinct values are encoded by their character
    n-grams, the numbers inside them, how often they occur, and the predictions of a
    ridge regression on their words and characters. Missing values stay NaN. Dates with
    a time zone are converted to UTC, durations and times of day to seconds. A warning
    names columns that are written differently than in `fit`, such as .849 for "84.9%".

    Parameters
    ----------
    sources : list of sources or of (str, source) pairs, default=None
        Sources of vectors for names, codes, texts and lists, in addition to n-grams, as
        for `EmbeddingUnion`. Sources without a name are named after their class.
        Sources encode categories with many values only if "ngrams" is not active.
    active : str or sequence of str, default=None
        Names of the sources to use, among "ngrams" and the names in `sources`. None
        uses all sources. An empty list leaves out strings with many values, except for
        the numbers inside them. The parameter can be tuned by a search.
    n_components : int, default=10
        Number of dimensions to keep for n-grams and for each source.
    target_type : {"auto", "continuous", "semi-supervised"}, default="auto"
        Type of y. "auto" decides as scikit-learn's `type_of_target` does: integers are
        classes. "continuous" reads any y as numbers. "semi-supervised" reads classes,
        with -1 for rows without a label, as `SelfTrainingClassifier` does.
    n_jobs : int, default=None
        Number of columns that are fitted in parallel.
    random_state : int, RandomState instance or None, default=None
        Determines the folds and the randomized SVD.

    Attributes
    ----------
    columns_ : list of Column
        For each column of the table: `name`, `kind`, `encodings`, `n_features` in the
        output, `n_distinct` and `n_missing` values, and `r2`, the share of the
        target's variance that the strings explain out of fold.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str objects, shape (n_features_in_,)
        Names of the columns, if all are str.

    Raises
    ------
    TypeError
        If a cell is not a number, a date, a str, a list of str or missing.
    ValueError
        If the columns differ from those in `fit`, or two columns have the same name.

    Warns
    -----
    UserWarning
        If cells of a column are unlike the others, and become missing values; if cells
        can be read in two ways, and no cell in `fit` shows which way is right: decimal
        points and commas, the order of day and month, codes such as "07" and "007",
        times with and without a zone; if the offset of a zone such as "IST" is unknown.

    See Also
    --------
    make_table_pipeline : Make a pipeline of this encoder and a model.
    TextMetaEncoder : Encodes columns of texts by several sources.

    Notes
    -----
    A code is the same as an integer, as a float and as text: 12, 12.0, "12" and "12.0".
    Leading zeros that a number has lost are restored: 7 is read as "007" if all codes
    in `fit` have three digits, or if "007" is the only code in `fit` for 7.

    All dates of a column are read in one order, in which most dates in `fit` are valid:
    "31/12/2019" shows the order for "05/03/2019". Monthly dates of several years, such
    as "01/05/2019", and points, such as "05.03.2019", also show the order. Otherwise,
    the month usually comes first with slashes, and the day with other marks.

    A date that repeats, far from all others, such as 9999-12-31, is encoded as an
    indicator and as missing, because linear models could not distinguish the other
    dates next to it. "15:00" is hours and minutes unless numbers such as "75:30" or
    "1:02:03" show minutes and seconds.

    Columns are found by name, in any order; further columns are ignored. The output is
    float32. The median is subtracted from numbers that float32 cannot distinguish, such
    as the seconds since 1970 on one day. The parts of dates have fractions: 07:30 is
    hour 7.5.

    ``fit_transform(X, y)`` differs from ``fit(X, y).transform(X)``, as for
    scikit-learn's `TargetEncoder`: ``fit_transform`` predicts each row by regressions
    that were not fitted on it. A Pipeline calls ``fit_transform``, as intended. Without
    y, or with fewer than 30 rows, there are no predictions.

    For a string with the TF-IDF features x (words, pairs of words, characters), the
    prediction is :math:`\bar y + x^\top w`, where w minimizes :math:`\sum_i (\bar y +
    x_i^\top w - y_i)^2 + \alpha \|w\|^2`, and :math:`\alpha` has the smallest error out
    of fold. y is divided by its standard deviation. Classes are encoded as indicators:
    one for the second of two classes, one per class, or one for each of the ten most
    frequent classes. Predictions of a column are dropped unless their out-of-fold
    :math:`R^2` exceeds 2 / n for n rows. Without `groups`, copies of rows are in one
    fold, as in `TableClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_metaembed import TableEncoder
    >>> table = pd.DataFrame({
    ...     "price": ["$1,299", "$899", None, "$950"],
    ...     "size": ["S", "M", "M", "S"],
    ...     "sold": ["2024-01-31", "2024-02-01", "2024-02-01", "2024-03-15"],
    ... })
    >>> encoder = TableEncoder().set_output(transform="pandas").fit(table)
    >>> [(column.name, column.kind) for column in encoder.columns_]
    [('price', 'number'), ('size', 'category'), ('sold', 'date')]
    >>> encoder.transform(table)[["price", "size__S"]].iloc[0].tolist()
    [1299.0, 1.0]
    """

    _parameter_constraints: dict = {
        "sources": [list, tuple, None],
        "active": [str, "array-like", None],
        "n_components": [COUNT],
        "target_type": [StrOptions({"auto", "continuous", "semi-supervised"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        sources: Sequence[Any] | None = None,
        *,
        active: str | Sequence[str] | None = None,
        n_components: int = 10,
        target_type: Literal["auto", "continuous", "semi-supervised"] = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sources = sources
        self.active = active
        self.n_components = n_components
        self.target_type = target_type
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def source_names(self) -> list[str]:
        """Names of all sources, active or not: "ngrams" and those in `sources`."""
        return [_NGRAMS, *(name for name, _ in self._named_sources)]

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Decide the kinds of the columns, and fit their encodings.

        Parameters
        ----------
        X : DataFrame, array of shape (n_rows, n_columns) or list of rows
            The table.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            Classes or numbers, for the predictions of strings.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row in the predictions.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group are in one fold. None groups copies of rows.

        Returns
        -------
        TableEncoder
            The fitted transformer.
        """
        self.fit_transform(X, y, sample_weight, groups)
        return self

    @fit_context
    @with_callbacks
    def fit_transform(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """Fit the encodings, and encode the training rows with out-of-fold predictions.

        Parameters
        ----------
        X : DataFrame, array of shape (n_rows, n_columns) or list of rows
            As for `fit`.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            As for `fit`.
        sample_weight : array-like of shape (n_rows,), default=None
            As for `fit`.
        groups : array-like of shape (n_rows,), default=None
            As for `fit`.

        Returns
        -------
        ndarray of float32, shape (n_rows, n_features_out)
            With the columns of `get_feature_names_out`.
        """
        X = plain_container(X)
        table = read_table(X)
        n_rows, names = table.n_rows, table.names
        for n, what in ((n_rows, "sample"), (len(names), "feature")):
            if not n:
                raise ValueError(
                    f"Found array with 0 {what}(s) (shape=({n_rows}, {len(names)})) "
                    "while a minimum of 1 is required."
                )
        rng = check_random_state(self.random_state)
        weights = check_sample_weight(sample_weight, range(n_rows))
        targets, self._target_names, weights = _read_targets(
            y, n_rows, self.target_type, weights
        )
        groups = check_groups(groups, n_rows)
        if np.count_nonzero(weights) < _FEWEST_ROWS:
            targets = None
        has_strings = any(each.values.dtype.kind == "O" for each in table.cells)
        if groups is None and targets is not None and has_strings:
            codes = [distinct(each.values)[1] for each in table.cells]
            groups = find_copies(codes, targets)
        training = targets, deal_rows(targets, groups, n_rows, rng), weights
        options = self._options_of_strings(int(rng.randint(2**31 - 1)))
        duplicates = find_duplicates(table.cells)
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        fitted = parallel(
            delayed(fit_column)(name, cells, j in duplicates, *training, **options)
            for j, (name, cells) in enumerate(zip(names, table.cells, strict=True))
        )
        with fit_task(self, X, y, len(names)) as context:
            results = [*part_tasks(self, context, names, fitted)]
            self._encoders, outputs = zip(*results, strict=True)
            self._is_named = table.is_named
            self.n_features_in_ = len(names)
            record_names(self, X)
            self.columns_ = [
                encoder.describe(output.shape[1]) for encoder, output in results
            ]
        out = self._join(outputs)
        if not out.shape[1]:
            kinds = [f"{column.name!r} is {column.kind}" for column in self.columns_]
            raise ValueError(
                f"no column of X differs between its {plural(n_rows, 'sample')}: "
                f"{', '.join(kinds[:5])}{', ...' if len(kinds) > 5 else ''}. Pass "
                "columns to learn from."
            )
        return out

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Encode a table.

        Parameters
        ----------
        X : DataFrame, array of shape (n_rows, n_columns) or list of rows
            A table with the columns seen in `fit`, in any order if they have names.

        Returns
        -------
        ndarray of float32, shape (n_rows, n_features_out)
            With the columns of `get_feature_names_out`.
        """
        check_is_fitted(self)
        return self._join([e.transform(cells) for e, cells in self._by_column(X)])

    def _join(self, outputs):
        """Return the columns of all encoders, in the memory layout of the output."""
        out = np.hstack(outputs)
        if get_output_config("transform", self)["dense"] == "pandas":
            # Trees of scikit-learn 1.9 refuse rows with NaN that pandas 3 shares.
            return np.asfortranarray(out)
        return out

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return a name for each column of the output.

        Parameters
        ----------
        input_features : ignored
            The names seen in `fit` are used.

        Returns
        -------
        ndarray of str objects
            The name of the column, or ``column__part`` if the column has several parts:
            values of categories, parts of dates, units of numbers inside strings.
        """
        check_is_fitted(self)
        names = [e.feature_names(self._target_names) for e in self._encoders]
        return unique_names(chain(*names))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _by_column(self, X):
        """Return pairs of the encoder of a column and its cells in a table."""
        names = [column.name for column in self.columns_]
        table = read_table(X, names, by_name=self._is_named)
        return zip(self._encoders, table.cells, strict=True)

    def _options_of_strings(self, seed):
        """Return the options of `fit_column` for columns of strings."""
        names = self.source_names
        if len(set(names)) < len(names):
            raise ValueError(
                f"the names of sources are not unique: {names}. {_NGRAMS!r} is a "
                "source of its own; rename those that you pass."
            )
        active = names if self.active is None else self.active
        active = [active] if isinstance(active, str) else list(active)
        unknown = [name for name in active if name not in names]
        if unknown:
            raise ValueError(
                f"active names {unknown}, which are not among the sources {names}."
            )
        others, sources = [each for each in active if each != _NGRAMS], None
        if others:
            sources = TextMetaEncoder(
                self.sources,
                active=others,
                n_components=self.n_components,
                random_state=seed,
            )
        return {
            "ngrams": _NGRAMS in active,
            "sources": sources,
            "n_components": self.n_components,
            "random_state": seed,
        }


def plain_features(encoder, X):
    """Return the features of each column that n-grams and sources do not encode."""
    pairs = zip(encoder.columns_, encoder._by_column(X), strict=True)
    return {
        column.name: of_column.transform(cells)
        for column, (of_column, cells) in pairs
        if column.n_features and not column.is_embedded
    }


def _read_targets(y, n_rows, target_type, weights):
    """Return y as columns of unit variance, (n_rows, n_targets), names and weights.

    Each class has an indicator, but two classes share one. Only the most frequent of
    many classes have a column. Without y, the columns are None. Rows without a label
    get the weight 0.
    """
    if y is None:
        return None, [], weights
    has_label = slice(None)
    if target_type == "semi-supervised":
        y, has_label = read_partial_labels(y)
    is_number = target_type == "continuous"
    y = check_target(y, n_rows, "numbers" if is_number else "any")
    if target_type == "semi-supervised":
        weights = np.where(has_label, weights, 0)
    if y.dtype.kind not in "biuf":
        check_one_column(y)
    if is_number or is_continuous(y) or y.ndim == 2:
        columns = y.astype(np.float64).reshape(n_rows, -1)
        names = [""] if y.ndim == 1 else [f"__{j}" for j in range(y.shape[1])]
    else:
        classes, codes = np.unique(y, return_inverse=True)
        shown = np.argsort(-np.bincount(codes), kind="stable")[:_MAX_COLUMNS]
        shown = [1] if len(classes) == 2 else np.sort(shown)
        columns = (codes[:, None] == shown).astype(np.float64)
        names = [f"__{classes[j]}" for j in shown]
    return columns / center_and_scale(columns[has_label])[1], names, weights
