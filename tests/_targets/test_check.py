"""What y and groups may be, and what is said of anything else."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from sk_metaembed import StackedMetaClassifier, StackedMetaRegressor, TokenSequences

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

TEXTS, INTS, BOOLS = ["x", "y", "x"], [3, 4, 3], [True, False, True]
FLOATS = [0.5, 2.0, -1.0]
DECIMALS = [Decimal("0.50"), Decimal(2), Decimal(-1)]


def rows(n_rows=3):
    return TokenSequences.from_lists(
        [[f"w{i % 7}", f"v{i % 3}"] for i in range(n_rows)]
    )


def fit(kind, y, n_rows=3, **options):
    model = StackedMetaClassifier if kind == "classes" else StackedMetaRegressor
    return model(random_state=0).fit(rows(n_rows), y, **options)


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        *[(make(TEXTS), TEXTS) for make in (list, np.array, pd.Series, pl.Series)],
        (pd.Series(TEXTS, dtype="category"), TEXTS),
        (pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())), TEXTS),
        (pl.Series(TEXTS, dtype=pl.Enum(["y", "x"])), TEXTS),
        (pa.chunked_array([TEXTS[:1], TEXTS[1:]]), TEXTS),
        (np.array(TEXTS, dtype=np.dtypes.StringDType()), TEXTS),
        (pd.Series(INTS, dtype="Int64"), INTS),
        (np.array(INTS, dtype=object), INTS),
        (np.ma.masked_array(INTS, [0, 0, 0]), INTS),
        (pd.Series(BOOLS, dtype="boolean"), BOOLS),
        (pd.Series(FLOATS, dtype="float[pyarrow]"), FLOATS),
        (np.array(FLOATS, dtype=np.float16), FLOATS),
        (DECIMALS, FLOATS),
        ([Fraction(1, 2), 2, -1.0], FLOATS),
        (pd.Series(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(5, 2))), FLOATS),
        (["0.5", "2", "-1"], FLOATS),
    ],
)
def test_columns_of_any_library(y, expected):
    if expected != FLOATS:
        assert fit("classes", y).classes_.tolist() == sorted({*expected})
    if expected != TEXTS:
        predicted = fit("numbers", y).predict(rows())
        np.testing.assert_array_equal(
            predicted, fit("numbers", expected).predict(rows())
        )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(frame):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        assert fit("classes", frame({"a": TEXTS})).classes_.tolist() == ["x", "y"]
    columns = np.stack([INTS, FLOATS], axis=1)
    predicted = fit("numbers", frame({"a": INTS, "b": FLOATS})).predict(rows())
    np.testing.assert_array_equal(predicted, fit("numbers", columns).predict(rows()))


def test_indicator_matrices():
    labels = np.array([[0, 1], [1, 1], [1, 0]])
    for y in (labels, labels.tolist(), sparse.csr_array(labels), labels > 0):
        assert fit("classes", y).predict(rows()).shape == (3, 2)


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e12])
def test_a_constant_column_has_no_scale(unit):
    """Its mean is rounded, so that its variance is not exactly 0."""
    y = unit * np.random.default_rng(0).normal(size=41)
    two = fit("numbers", np.stack([y, np.full(41, 7.1 * unit)], axis=1), 41)
    predicted = two.predict(rows(41))
    np.testing.assert_allclose(predicted[:, 1], 7.1 * unit)
    one = fit("numbers", y, 41)
    assert two.weights_ == pytest.approx(one.weights_, rel=1e-4)


NAN = float("nan")
DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (3, "one value per row, got a single value of type int. Pass a list"),
        ((i for i in range(2)), "a single value of type generator"),
        (pl.LazyFrame({"a": [1]}), "y is a LazyFrame; call its collect"),
        ([1, 2, 3], "X has 2 rows and y 3 labels"),
        (np.zeros((2, 2, 2)), r"one column or several, got shape \(2, 2, 2\)"),
        (pd.DataFrame(index=[0, 1]), r"one column or several, got shape \(2, 0\)"),
        # Missing, or infinite.
        (["a", NAN], r"y is missing \(None, NaN or NaT\) at row 1, 1 row in all. Drop"),
        ([NAN, NAN], "missing .* at row 0, 2 rows in all"),
        (pd.Series([1, None], dtype="Int64"), "missing .* at row 1"),
        (pl.Series([None, "a"]), "missing .* at row 0"),
        (pa.array(["a", None]), "missing .* at row 1"),
        (np.array(["2020-01-01", "NaT"], dtype="M8[D]"), "missing .* at row 1"),
        (np.ma.masked_array(["a", "b"], [0, 1]), "missing .* at row 1"),
        ([("a", 1), (None, 2)], "missing .* at row 1, column 0, 1 row"),
        (pd.DataFrame({"a": [1, 2], "b": [1, None]}), r"row 1, column 1 \('b'\), 1"),
        (
            [1.5, np.inf],
            "y is infinite or .* at row 1, 1 row in all. Drop .* or divide",
        ),
        # Of several types, or of others.
        (["a", 1], "several types: 'a' at row 0, and 1 at row 1. Convert all"),
        ([b"a", b"b"], "type bytes at row 0: b'a'. .* Decode bytes"),
        (DAYS, r"type date at row 0: datetime.date\(2020, 1, 1\). .* days since"),
        (pd.Series(pd.to_datetime(DAYS)), "type datetime64 at row 0: .* days since"),
        ([1j, 2], "type complex128 at row 0: 1j. Labels are str, bools or numbers"),
        (pd.Series(pd.period_range("2020", periods=2)), "type Period at row 0"),
        ([{"a": 1}, {"a": 2}], "type dict at row 0: .*Convert the values"),
        ([{"a"}, {"b"}], "type set at row 0: {'a'}. .*MultiLabelBinarizer"),
        (pd.Series([["a"], ["b"]]), "type list at row 0: .*MultiLabelBinarizer"),
        ([["a"], ["b", "c"]], "rows of y have different lengths. .*MultiLabelBin"),
        ([["a", DAYS[0]], ["b", 3]], "type date at row 0, column 1: "),
    ],
)
def test_targets_refused_for_every_kind(y, message):
    for kind in ("classes", "numbers"):
        with pytest.raises((TypeError, ValueError), match=message):
            fit(kind, y, 2)


@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        ([1.0, 0.5], "classes", "has 0.5 at row 1. Unknown label type: continuous. Us"),
        (np.array([[1, 2], [1, 0.5]]), "classes", "has 0.5 at row 1, column 1. Unkn"),
        ([("a", 0.5), ("b", 1)], "classes", "has 0.5 at row 0, column 1. Unknown"),
        ([2**70, 1], "classes", "has 1.18.*e.21 at row 0. Unknown label type"),
        (["1", "a"], "numbers", "y must hold numbers, but it has 'a' at row 1. Use a"),
        (["1", "1,5"], "numbers", "has '1,5' at row 1. .* pandas.to_numeric"),
        (["1", "nan"], "numbers", "missing .* at row 1"),
        ([1, 10**400], "numbers", "infinite or beyond 1e.150 at row 1"),
        (["1", "1e200"], "numbers", "infinite or beyond 1e.150 at row 1"),
        (pd.DataFrame({"a": [1, 2], "b": ["3", "z"]}), "numbers", r"'z' at .*\('b'\)"),
    ],
)
def test_what_classifiers_or_regressors_refuse(y, kind, message):
    with pytest.raises(ValueError, match=message):
        fit(kind, y, 2)


def test_rows_are_named_by_their_number_among_all_rows():
    with pytest.raises(ValueError, match="has 0.5 at row 2"):
        fit("classes", [0, 1, 0.5], sample_weight=[0, 1, 1])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"X has 3 rows, but groups has shape \(2,\). Pass one"),
        (5, r"groups has shape \(\)"),
        ([("a", 1), ("a", 2), ("b", 1)], r"groups has shape \(3, 2\)"),
        ([1, None, None], "groups is missing .* at row 1, 2 rows in all"),
        ([1.0, 2.0, float("nan")], "groups is missing .* at row 2, 1 row in all"),
        (pd.array([1, pd.NA, 2]), "groups is missing .* at row 1"),
        ([1, "a", 1], "cannot be sorted: .*Convert all of them to str"),
    ],
)
def test_invalid_groups_are_refused_by_row(groups, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit("classes", TEXTS, groups=groups)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical, pl.Series])
def test_groups_of_any_type(kind):
    y, groups = [0, 1] * 20, [f"group {i // 3}" for i in range(40)]
    expected = fit("classes", y, 40, groups=np.arange(40) // 3).weights_
    for given in (kind(groups), pd.DataFrame({"group": groups})):
        assert fit("classes", y, 40, groups=given).weights_ == expected


def labels(**counts):
    return np.repeat([*counts], [*counts.values()]).astype(object)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (labels(a=100, b=50, c=10, d=11, e=1), r": 'c' \(10 rows\), 'e' \(1 row\)\. T"),
        (
            np.r_[np.repeat([100, 101], 90), np.arange(8)],
            r"0 \(1 row\), .*4 \(1 row\) and 3 more\.",
        ),
    ],
)
def test_classes_with_few_rows_next_to_others_are_rare(y, message):
    with pytest.warns(UserWarning, match=message):
        fit("classes", y, len(y))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "counts", [{"a": 4, "b": 4, "c": 1}, {"a": 400, "b": 3}, {"a": 400, "b": 3, "c": 2}]
)
def test_no_class_of_few_rows_or_without_two_common_ones_is_rare(counts):
    y = labels(**counts)
    assert fit("classes", y, len(y)).classes_.tolist() == [*counts]
