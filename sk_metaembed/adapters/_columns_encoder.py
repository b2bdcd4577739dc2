"""ColumnsEncoder: several columns of texts to vectors, by one encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy import sparse

from .._core._decorators import fit_context, rollback_on_error
from .._core._messages import short_repr
from .._core._sklearn import HasMethods
from ..pooling._sequence_blocks import sequence_blocks
from ..sequences import Block, EmbeddedSequences, TokenSequences
from ..sequences._mixins import MISSING_CONSTRAINT, block_dims
from ..sequences._row_errors import NUMBERS
from ..sequences._row_info import RowInfo, pandas_index
from ..sequences._validation import first_present
from ._base import BaseColumnsAdapter

if TYPE_CHECKING:
    from collections.abc import Sequence


class ColumnsEncoder(BaseColumnsAdapter):
    """Encode several columns of texts by one encoder, such as title and body.

    The encoder is fitted on the texts of all columns as one corpus, so the columns
    share its vocabulary, model, vectors and caches, and their vectors are comparable.

    If the encoder returns word or sentence vectors, such as a source or an
    `EmbeddingUnion`, the output is an `EmbeddedSequences` with one block per column and
    source, named ``title__glove``. Every step that combines sources then combines
    columns as well: `StackedMetaClassifier` learns one weight per column and source,
    `SourceSelector` chooses among them. If it returns an array, as a Pipeline that ends
    in `Pooling` does, the output has the columns of the encoder once per column of
    texts, side by side.

    Parameters
    ----------
    encoder : transformer or Pipeline
        With fit and transform, from a list of texts (or of token lists) to an
        `EmbeddedSequences`, or to an array, a sparse matrix or a DataFrame with one row
        per text. It is cloned before it is fitted.
    columns : list of str, default=None
        Names of the columns to encode, for DataFrames; others are ignored. None encodes
        all columns.
    missing : {"raise", "empty"}, default="raise"
        How to treat missing cells (None, NaN, null): raise an error, or use empty texts
        or token lists.
    add_indicator : bool, default=False
        Whether to append a column "missing__title" per column of texts, which marks
        missing cells. Not used if the output is an EmbeddedSequences, in which missing
        cells are unknown.

    Attributes
    ----------
    encoder_ : transformer
        The fitted clone.
    feature_names_in_ : ndarray of object, shape (n_columns,)
        The names of the encoded columns, if fit was passed a DataFrame.
    n_missing_ : int
        Number of missing cells in the data of `fit`.

    Raises
    ------
    TypeError
        If a cell is missing or not a text, cells of texts and of token lists are mixed,
        or the encoder returns tokens or anything but numbers. The message names row and
        column.
    ValueError
        If columns are not those of fit, `columns` are unknown or repeated, rows have
        different numbers of cells, the encoder needs labels, or its output is not
        finite or does not have one row per text.

    See Also
    --------
    PairEncoder : For two columns that are compared, such as premise and hypothesis.
    StackedMetaClassifier : Learns one weight per column and source.
    sklearn.compose.ColumnTransformer : Fits a separate encoder per column.

    Notes
    -----
    With k columns of n rows, `fit` passes all k n texts to the encoder, including
    repeated texts. In `transform` a text that is repeated, within a column or in
    several, is encoded once.

    In an EmbeddedSequences all blocks are at level "sequence", (n_rows, dim). Vectors
    of words are averaged over the known words of a cell, as by `Pooling`; to pool
    otherwise, let the encoder end in vectors of sequences, for example an
    `EstimatorEmbedding` of a Pipeline with its own `Pooling`. A cell without known
    words is unknown. The tokens of a row are those of its columns, in order.

    Labels are not passed to the encoder. A label belongs to a row, and any split that
    the encoder makes, for early stopping or cross-fitting, would put cells of one row
    on both sides. An encoder that needs labels raises an error: put supervised steps
    after the ColumnsEncoder, or fit one per column in a `ColumnTransformer`.

    Unnamed columns are called "x0", "x1" and so on. The columns of a DataFrame must
    have the names and the order seen in fit, as elsewhere in scikit-learn, unless
    `columns` selects them by name. A Series, or a list of texts, is one column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_metaembed import ColumnsEncoder, EmbeddingUnion, FunctionEmbedding
    >>> def length(words):
    ...     return [[len(word)] for word in words]
    >>> def vowels(words):
    ...     return [[sum(letter in "aeiou" for letter in word)] for word in words]
    >>> frame = pd.DataFrame(
    ...     {"title": ["to be", "or"], "body": ["or not", None], "price": [1.0, 2.5]}
    ... )
    >>> union = EmbeddingUnion(
    ...     [
    ...         ("length", FunctionEmbedding(length)),
    ...         ("vowels", FunctionEmbedding(vowels)),
    ...     ]
    ... )
    >>> encoder = ColumnsEncoder(union, columns=["title", "body"], missing="empty")
    >>> embedded = encoder.fit_transform(frame)
    >>> embedded.names
    ('title__length', 'title__vowels', 'body__length', 'body__vowels')
    >>> embedded.block("body__length").values.tolist()
    [[2.5], [0.0]]
    >>> embedded.block("body__length").known.tolist()
    [True, False]

    If the encoder returns an array, the output has one group of columns per column of
    texts:

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> words = ColumnsEncoder(CountVectorizer(), columns=["title", "body"])
    >>> words.set_params(missing="empty", add_indicator=True).fit_transform(frame).shape
    (2, 10)
    >>> words.get_feature_names_out()[[0, 4, 8, 9]].tolist()
    ['title__be', 'body__be', 'missing__title', 'missing__body']
    """

    _parameter_constraints: dict = {
        "encoder": [HasMethods(["fit", "transform"])],
        "columns": [list, tuple, np.ndarray, None],
        "missing": MISSING_CONSTRAINT,
        "add_indicator": ["boolean"],
    }
    _label_remedy = (
        "but a row's label belongs to all of its columns. Remove it from the encoder, "
        "and put it after the ColumnsEncoder: "
        "make_pipeline(ColumnsEncoder(encoder), ...). To fit one supervised encoder "
        "per column use ColumnTransformer."
    )

    def __init__(
        self,
        encoder: Any,
        *,
        columns: Sequence[str] | None = None,
        missing: Literal["raise", "empty"] = "raise",
        add_indicator: bool = False,
    ) -> None:
        self.encoder = encoder
        self.columns = columns
        self.missing = missing
        self.add_indicator = add_indicator

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit(self, X: Any, y: object = None) -> Self:
        """Fit a clone of the encoder on the texts of all columns, as one corpus.

        Parameters
        ----------
        X : DataFrame, Arrow table, array of shape (n_rows, n_columns) or list of rows
            Columns of texts or of token lists; a Series or list of texts is one column.
        y : None
            Ignored.

        Returns
        -------
        ColumnsEncoder
            The fitted estimator.
        """
        return self._fit(X)

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Fit a clone of the encoder on all columns, and encode them.

        The encoder's own `fit_transform` is used if it has one, so that it reads the
        texts once.

        Parameters
        ----------
        X : DataFrame, Arrow table, array of shape (n_rows, n_columns) or list of rows
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        EmbeddedSequences, or ndarray or sparse matrix of float32
            As from `transform`.
        """
        return self._fit_transform(X)

    def transform(self, X: Any) -> Any:
        """Encode the columns; a text in several cells is encoded once.

        Parameters
        ----------
        X : DataFrame, Arrow table, array of shape (n_rows, n_columns) or list of rows
            With the columns of `fit`.

        Returns
        -------
        EmbeddedSequences, or ndarray or sparse matrix of float32
            One block per column and source, or an array of shape
            (n_rows, n_columns * n_features of the encoder).
        """
        return self._transform(X)

    def _read(self, X, *, reset):
        cells, absent = self._read_columns(
            X, reset=reset, selected=self.columns, missing=self.missing
        )
        return cells, RowInfo(index=pandas_index(X), missing=absent)

    def _check_column(self, name, column):
        i, first = first_present(column)
        if isinstance(first, NUMBERS):
            raise TypeError(
                f"column {name!r} does not contain texts: row {i} is "
                f"{short_repr(first)}. Select the columns of texts: "
                'ColumnsEncoder(encoder, columns=["one column", "another"]).'
            )

    def _names_read(self, names):
        return list(self._column_names) if self._selects else names

    def _record_output(self, output, n_rows):
        if isinstance(output, TokenSequences):
            raise TypeError(
                "the encoder returns tokens, which "
                "cannot be divided by column. Add a source at its end: "
                "ColumnsEncoder(make_pipeline(Tokenizer(), source)). To read the "
                "columns as one text, join them before the Tokenizer."
            )
        super()._record_output(output, n_rows)
        if self._outputs_sequences:
            dims = block_dims(output)
            self._names = [f"{name}__{i}" for name in dims for i in range(dims[name])]

    def _groups(self):
        return self._column_names

    def _places(self):
        return self._column_names

    def _array(self, vectors, places):
        groups = [vectors[rows] for rows in places]
        if sparse.issparse(vectors):
            return sparse.hstack(groups, format="csr")
        return np.concatenate(groups, axis=1)

    def _sequences(self, output, info, places):
        places = np.arange(len(output)) if places is None else places
        places = places.reshape(len(self._column_names), -1)
        absent = np.zeros(places.size, bool) if info.missing is None else info.missing
        absent = absent.reshape(places.shape)
        sources = sequence_blocks(output)
        blocks = [
            Block._of_table(
                f"{column}__{source.name}",
                source.values,
                np.where(source.known[rows] & ~is_absent, rows, -1),
                "sequence",
            )
            for column, rows, is_absent in zip(
                self._column_names, places, absent, strict=True
            )
            for source in sources
        ]
        missing = None if info.missing is None else absent.all(axis=0)
        tokens = _row_tokens(output.tokens, places)
        tokens = tokens._with_row_info(index=info.index, missing=missing)
        return EmbeddedSequences(tokens, blocks)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True  # a Series or list is one column
        return tags

    def _sequence_names(self, names):
        return [f"{column}__{name}" for column in self._column_names for name in names]


def _row_tokens(tokens, places):
    """Return the tokens of the cells of each row, in order.

    Sequence ``places[i, j]`` is the cell in column i and row j.
    """
    cells = tokens[places.T.ravel()]
    offsets = np.ascontiguousarray(cells.offsets[:: len(places)])
    return TokenSequences._trusted(cells.types, cells.codes, offsets)
