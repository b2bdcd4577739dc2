"""check_tokens: valid input, and errors for invalid input."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from sk_metaembed import Block, EmbeddedSequences, TokenSequences
from sk_metaembed.sequences import check_tokens

TEXTS = ["to be", "", "or"]
LISTS = [["to", "be"], [], ["or"]]

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "Series": pd.Series,
    "DataFrame": lambda rows: pd.DataFrame({"text": rows}),
    "polars Series": pl.Series,
    "polars DataFrame": lambda rows: pl.DataFrame({"text": rows}),
    "arrow array": pa.array,
    "arrow table": lambda rows: pa.table({"text": rows}),
    "object array": lambda rows: pd.Series(rows, dtype=object).to_numpy(),
}
TEXT_CONTAINERS = CONTAINERS | {
    "array of U": np.array,
    "array of StringDType": lambda rows: np.array(rows, dtype=np.dtypes.StringDType()),
    "column of U": lambda rows: np.array(rows)[:, None],
    "str_ items": lambda rows: [np.str_(row) for row in rows],
    "arrow Series": lambda rows: pd.Series(rows, dtype="string[pyarrow]"),
    "categorical": lambda rows: pd.Series(rows, dtype="category"),
}


@pytest.mark.parametrize("make", TEXT_CONTAINERS.values(), ids=TEXT_CONTAINERS)
def test_texts(make):
    tokens = check_tokens(make(TEXTS))
    assert tokens.to_list() == LISTS
    assert [*tokens.texts] == TEXTS
    assert all(type(text) is str for text in tokens.texts)


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_token_lists(make):
    assert check_tokens(make(LISTS)).to_list() == LISTS


@pytest.mark.parametrize(
    "make_row",
    [tuple, np.array, lambda row: np.array(row, dtype=object), pd.Series, pl.Series],
)
def test_rows_of_tokens(make_row):
    rows = [["a", "b"], ["c", "d"]]
    tokens = check_tokens([make_row(row) for row in rows])
    assert tokens.to_list() == rows
    assert all(type(word) is str for word in tokens.types)


def test_pairs_of_texts_are_named_in_a_warning():
    pairs = [("is it on", "is it off"), ("on", "it is on")]
    with pytest.warns(UserWarning, match="tuples .* such as .'is it on', 'is it off'"):
        assert check_tokens(pairs).to_list() == [list(pair) for pair in pairs]
    with pytest.warns(UserWarning, match="read as two tokens.*PairEncoder"):
        check_tokens([None, *pairs], missing="empty")


@pytest.mark.parametrize(
    "rows",
    [
        [("is", "on"), ("it", "is")],
        [("New York", "is"), ("it", "is")],
        [("red apple", "green tea"), ("red apple", "milk", "green tea")],
        [["red apple", "green tea"], ["rye bread", "red apple"]],
        [()],
    ],
)
def test_other_rows_of_two_tokens_are_not(rows):
    assert check_tokens(rows).to_list() == [list(row) for row in rows]


def test_containers_pass_as_they_are():
    tokens = TokenSequences.from_lists(LISTS)
    assert check_tokens(tokens) is tokens
    embedded = EmbeddedSequences(tokens, [Block("x", np.eye(3), "type")])
    with pytest.raises(TypeError, match="would be lost. Pass X.tokens"):
        check_tokens(embedded)


REFUSED = [
    ("a text", "a single str: 'a text'. Put it in a list"),
    ("corpus.txt", r"'corpus.txt'. Put it in a list: \[text\]. Read a file first"),
    (Path("corpus.txt"), r"got a path: .* Read a file first.*read_text\(\).splitlines"),
    ([{"text": "a"}], r"row 0 is of type dict: .* \[row\[name\] for row in X\]"),
    (b"ab", "a single bytes"),
    (None, "got NoneType"),
    (float("nan"), "got float: nan"),
    ({"a": 1}, "got dict"),  # as a DatasetDict of Hugging Face
    (list, "got type"),
    (np.zeros((1, 1, 1)), r"got ndarray of shape \(1, 1, 1\)"),
    (pl.LazyFrame({"text": ["a"]}), r"call its collect\(\)"),
    (csr_array(np.ones((2, 1))), r"EstimatorEmbedding\(vectorizer, as_text=True"),
    ([1], "row 0 is of type int: 1"),
    ([b"a"], "row 0 is of type bytes.*"),
    (["a", ["b"]], "row 1 is of type list"),
    (pd.DataFrame({"price": [1, 2]}), "row 0, column 'price' is of type int"),
    (pd.DataFrame([1, 2]), "row 0, column 0 is of type int"),
    (pa.table({"price": [1, 2]}), "row 0, column 'price' is of type int"),
    (pl.Series("price", [1, 2]), "row 0, column 'price' is of type int"),
    (pa.array(["a", None]), "row 1 is missing.*an empty text"),
    (pd.Series([1, 2], dtype="category"), "a str or a list of str; .*wrong column"),
    (pd.Series(pd.to_datetime(["2020-01-01"])), "Timestamp.*the wrong column"),
]


@pytest.mark.parametrize(("X", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_refused(X, message):
    with pytest.raises(TypeError, match=message):
        check_tokens(X)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": ["x"], "b": ["y"]}),
        pd.DataFrame(index=[0, 1]),
        pa.table({"a": ["x"], "b": ["y"]}),
        np.array([["x", "y"]]),
    ],
    ids=lambda X: type(X).__module__,
)
def test_one_column_is_required(X):
    with pytest.raises(ValueError, match=r"one column of texts, got [02] columns"):
        check_tokens(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a"], "b"], "row 1 is of type str: 'b'.*cannot be mixed"),
        ([["a"], None], r"row 1 is missing.*\[\] \(no tokens\)"),
        ([["a"], b"b"], "row 1 is of type bytes.*decode"),
        ([["a"], ["b", 3]], r"row 1, token 1 is of type int \(3\)"),
        ([["a"], ["b", None]], "row 1, token 1 is missing.*leave missing tokens out"),
        ([["a"], ["b", b"c"]], "row 1, token 1 is of type bytes.*decode bytes first"),
        ([["a"], [["b"]]], "row 1, token 0 is of type list"),
        ([np.array([["a"]])], "row 0, token 0 is of type list"),
        ([["a"], [("b", "NN")]], "row 1, token 0 is .*one level too deep"),
        ([["a"], [np.array(["b"])]], "row 1, token 0 is .*one level too deep"),
        # The first present row tells texts from token lists.
        ([None, "a"], "row 0 is missing.*must be a str;.*empty text"),
        ([None, ["a"]], "row 0 is missing.*list of str;.*no tokens"),
    ],
)
def test_token_lists_that_are_refused(X, message):
    with pytest.raises(TypeError, match=message):
        check_tokens(X)


def test_columns_of_numbers_raise_with_a_remedy():
    with pytest.raises(ValueError, match="3 columns of numbers.*order of the steps"):
        check_tokens(np.ones((2, 3)))
    frame = pd.DataFrame({"text": ["a"], "price": [1]})
    with pytest.raises(ValueError, match=r"names \['text', 'price'\]"):
        check_tokens(frame)
