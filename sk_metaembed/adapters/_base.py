"""Base classes of encoders of several columns of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core._messages import plural, short_repr
from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences
from ..sequences._columns import (
    check_names,
    column_names,
    distinct_cells,
    read_columns,
)
from ..sequences._mixins import SequencesInputMixin
from ..sequences._validation import check_cells, count_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TextColumnsMixin:
    """Reads columns of texts, and checks that they are those of fit."""

    _selects = False  # whether columns are selected by name
    _column_names: tuple[str, ...]

    def _unnamed(self, X, n_columns):
        """Return the names of columns without any."""
        return [f"x{j}" for j in range(n_columns)]

    def _check_column(self, name, column):
        """Raise an error for a column that does not hold texts."""

    def _names_read(self, names):
        """Return the names of the columns that are read, of all names."""
        return names

    def _record_names(self, X):
        self.__dict__.pop("feature_names_in_", None)
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = np.array(self._names_read(names), dtype=object)

    def _check_names(self, X):
        expected, received = getattr(self, "feature_names_in_", None), column_names(X)
        if expected is None or received is None:
            return
        expected = list(expected)
        if self._names_read(received) != expected:
            raise ValueError(
                "The feature names should match those that were passed during fit: "
                f"the columns {expected}, in this order; got {received}. Select them: "
                f"X[{expected}]."
            )

    def _read_columns(self, X, *, reset, selected=None, missing="raise"):
        """Return the cells, one column after the other, and which are missing or None.

        With ``reset=True``, in fit, record the names of the columns.
        """
        if isinstance(X, SequencePairs):
            raise TypeError(
                f"X must hold columns of texts, got {X!r}. Pass the columns that the "
                "pairs were made of."
            )
        columns, names = read_columns(X)
        if reset:
            self._selects = selected is not None
            chosen = selected if self._selects else names
            if chosen is None:
                chosen = self._unnamed(X, len(columns))
            check_names(chosen)
            self._column_names = tuple(chosen)
        if self._selects:
            columns = _select(columns, names, self._column_names)
        expected = list(self._column_names)
        if not any(columns):  # an empty list has no number of columns
            columns = [[]] * len(expected)
        if len(columns) != len(expected):
            raise ValueError(
                f"X has {plural(len(columns), 'column')}, but in fit it had "
                f"{len(expected)}: {short_repr(expected)}. Pass the same columns."
            )
        for name, column in zip(expected, columns, strict=True):
            self._check_column(name, column)
        return check_cells(
            columns,
            [f"column {name!r}" for name in expected],
            part="cell",
            reader=type(self).__name__,
            missing=missing,
        )


def _select(columns, names, selected):
    """Return the selected columns, by name."""
    if names is None:
        raise ValueError(
            f"columns={list(selected)} selects by name, but X does not name "
            "its columns. Pass a DataFrame, or leave out `columns`."
        )
    unknown = [name for name in selected if names.count(name) != 1]
    if unknown:
        raise ValueError(
            f"X must have each of the columns {list(selected)} once, but "
            f"{unknown} are not among its columns {short_repr(names)}."
        )
    return [columns[names.index(name)] for name in selected]


class BaseColumnsAdapter(
    TextColumnsMixin, SequencesInputMixin, TransformerMixin, BaseEstimator
):
    """Fit one encoder on the cells of all columns, and encode each distinct cell once.

    Subclasses have the parameters `encoder`, `missing` and `add_indicator`, and
    implement the hooks.
    """

    # Of messages: what a row is, and what to do with an encoder that learns from y.
    _row_noun = "row"
    _label_remedy = ""

    encoder: Any
    missing: str
    add_indicator: bool

    def _read(self, X, *, reset):
        """Return the cells, one column after the other, and their `RowInfo`.

        With ``reset=True``, in fit, record what the columns are.
        """
        raise NotImplementedError

    def _check_options(self):
        """Raise an error for parameters that do not fit together."""

    def _groups(self):
        """Return a name for each copy of the encoder's columns in the output."""
        raise NotImplementedError

    def _places(self):
        """Return a name for each column of the input."""
        raise NotImplementedError

    def _array(self, vectors, places):
        """Return the output, (n_rows, n_groups * dim), of an encoder that gives arrays.

        Row ``places[i, j]`` of the vectors belongs to column i and row j.
        """
        raise NotImplementedError

    def _sequences(self, output, info, places):
        """Return the output of an encoder that gives a container."""
        raise NotImplementedError

    def _start(self, X):
        """Check the parameters, read the columns and clone the encoder."""
        self._check_options()
        self._check_takes_no_labels()
        cells, info = self._read(X, reset=True)
        if len(cells) == 0:
            raise ValueError(
                "Found array with 0 sample(s): fitting the encoder needs at least "
                f"one {self._row_noun}."
            )
        self.encoder_ = clone(self.encoder)
        self._record_names(X)
        self.n_missing_ = count_missing(info)
        return cells, info

    def _check_takes_no_labels(self):
        for step in _fitted_steps(self.encoder):
            if get_tags(step).target_tags.required:
                raise ValueError(
                    f"{type(step).__name__} in the encoder "
                    f"learns from labels, {self._label_remedy}"
                )

    def _fit(self, X):
        cells, _ = self._start(X)
        self.encoder_.fit(cells, None)
        self._record_output(self.encoder_.transform(cells[:2]), len(cells[:2]))
        return self

    def _fit_transform(self, X):
        cells, info = self._start(X)
        if hasattr(self.encoder_, "fit_transform"):
            output = self.encoder_.fit_transform(cells)
        else:
            output = self.encoder_.fit(cells, None).transform(cells)
        self._record_output(output, len(cells))
        return self._combine(output, len(cells), info)

    def _transform(self, X):
        check_is_fitted(self, "encoder_")
        self._check_names(X)
        cells, info = self._read(X, reset=False)
        if not isinstance(cells, list):
            return self._combine(self.encoder_.transform(cells), len(cells), info)
        if not cells and self._dim is not None:
            # Most encoders raise an error for an empty list.
            n_indicators = len(self._places()) if self._indicates else 0
            n_columns = len(self._groups()) * self._dim + n_indicators
            return np.zeros((0, n_columns), dtype=np.float32)
        cells, places = distinct_cells(cells)
        return self._combine(self.encoder_.transform(cells), len(cells), info, places)

    def _record_output(self, output, n_rows):
        """Record the kind of the encoder's output, and the columns to make of it."""
        self._indicates = self.add_indicator
        self._outputs_sequences = isinstance(output, TokenSequences | EmbeddedSequences)
        self._dim = self._names = None
        if not self._outputs_sequences:
            self._names = column_names(output)
            self._dim = _as_vectors(output, n_rows).shape[1]

    def _combine(self, output, n_rows, info, places=None):
        """Return the output for all rows, of an encoder's output for n_rows cells.

        `places` are the rows of the encoder's output, one column after the other.
        """
        if isinstance(output, TokenSequences | EmbeddedSequences):
            if len(output) != n_rows:
                raise ValueError(
                    f"the encoder returned {len(output)} "
                    f"sequences for {n_rows} texts. It must return one per text."
                )
            return self._sequences(output, info, places)
        vectors = _as_vectors(output, n_rows)
        if vectors.shape[1] != self._dim:
            raise ValueError(
                f"the encoder returned {vectors.shape[1]} "
                f"columns, but {self._dim} in fit. Their number must not depend on the "
                "input."
            )
        places = np.arange(n_rows) if places is None else places
        places = places.reshape(len(self._places()), -1)
        features = self._array(vectors, places)
        return _with_indicator(features, info, places) if self._indicates else features

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return one name per column: the group and the encoder's name, joined.

        Parameters
        ----------
        input_features : ignored
            The columns are named after those of the encoder.

        Returns
        -------
        ndarray of object
            Such as "title__0" for a column of texts and "absdiff__0" for a feature of
            pairs, with numbers if the encoder does not name its columns. Pairs of
            sequences have the encoder's own names.
        """
        check_is_fitted(self, "encoder_")
        names = self._names
        if hasattr(self.encoder_, "get_feature_names_out"):
            names = self.encoder_.get_feature_names_out()
        if self._outputs_sequences:
            return np.asarray(self._sequence_names(names), dtype=object)
        if names is None:
            names = range(self._dim)
        names = [f"{group}__{name}" for group in self._groups() for name in names]
        if self._indicates:
            names += [f"missing__{place}" for place in self._places()]
        return np.array(names, dtype=object)

    def _sequence_names(self, names):
        """Return the names of a container's dimensions from those of the encoder."""
        raise NotImplementedError

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Choose the container of the features; sequences are not changed.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            The container. None leaves the choice unchanged.

        Returns
        -------
        estimator instance
            The estimator itself.
        """
        # Before fit it is not known whether the output can be wrapped.
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Columns of texts; two_d_array would mean that they may hold numbers.
        tags.input_tags.categorical = True
        return tags

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._sklearn_auto_wrap_output_keys = _WRAPPED


# scikit-learn reads from this attribute whether to wrap the output of transform, which
# depends on the encoder here, so it cannot be a keyword argument of the class.
_WRAPPED = property(
    lambda self: set() if getattr(self, "_outputs_sequences", False) else {"transform"}
)


def _fitted_steps(encoder):
    """Return the encoder, or the estimators that it is composed of and fits."""
    from sklearn.frozen import FrozenEstimator

    if isinstance(encoder, FrozenEstimator):
        return []
    for name in ("steps", "transformer_list", "transformers", "sources"):
        parts = getattr(encoder, name, None)
        if isinstance(parts, list):
            steps = [part[1] for part in parts if hasattr(part[1], "fit")]
            return [inner for step in steps for inner in _fitted_steps(step)]
    return [encoder]


def _as_vectors(output, n_rows):
    """Return an encoder's output as float32, dense or CSR (n_rows, dim), checked."""
    values = output.tocsr() if sparse.issparse(output) else np.asarray(output)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "the encoder must return numbers, tokens or word vectors; "
                f"got {type(output).__name__} of dtype {values.dtype}."
            ) from error
    if values.ndim != 2 or values.shape[0] != n_rows or not values.shape[1]:
        raise ValueError(
            "the encoder must return one row of numbers per text, an "
            f"array of shape ({n_rows}, dim); got shape {values.shape}."
        )
    with np.errstate(over="ignore"):  # refused below, as infinity
        values = values.astype(np.float32, copy=False)
    numbers = values.data if sparse.issparse(values) else values
    if not np.isfinite(numbers).all():
        raise ValueError(
            "the encoder returned NaN or infinity for some texts. Check "
            "its steps, for example for a division by the length of an empty text."
        )
    return values


def _with_indicator(features, info, places):
    """Append a column per column of the input: which cells were missing."""
    missing = np.zeros(places.size) if info.missing is None else info.missing
    columns = missing.reshape(places.shape).T.astype(np.float32)
    if sparse.issparse(features):
        return sparse.hstack([features, columns], format="csr")
    return np.concatenate([features, columns], axis=1)
