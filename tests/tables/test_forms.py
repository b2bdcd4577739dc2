"""A column means the same in any form that a tool hands over, or a warning says so."""

import decimal
import functools
import json
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sk_metaembed import TableEncoder, TextMetaEncoder, load, save

from .one_column import as_frame, encode, fit

N = 90
RNG = np.random.default_rng(0)
TENTHS = RNG.integers(1, 12, N)
DECIMALS = [decimal.Decimal(int(n)) / 10 for n in TENTHS]
SHARES = RNG.uniform(0, 100, N).round(1)
FLAGS = RNG.random(N) < 0.5
SECONDS = RNG.integers(60, 9000, N)
DAYS = pd.date_range("2024-01-01", periods=N, freq="7h")
WORDS = ["a", "b", "c d", "e, f", "it's", 'say "x"', "\N{SNOWMAN}"]
LISTS = [RNG.choice(WORDS, RNG.integers(1, 4)).tolist() for _ in range(N)]
PLAIN = [RNG.choice(["a", "b", "c d"], RNG.integers(1, 4)).tolist() for _ in range(N)]
NUMBERS = RNG.normal(size=N).round(2)
COLORS = RNG.choice(["red", "blue", "NA"], N).tolist()
MAYBE = RNG.choice(["True", "False", "maybe", "never"], N).tolist()


def with_some(values, *others):
    return [*map(str, values[len(others) :]), *others]


def saved(items, separator=", ", quote=""):
    return separator.join(f"{quote}{item}{quote}" for item in items)


# The first form, and others that have the same meaning.
SAME = {
    "tenths": [
        TENTHS / 10,
        (TENTHS / 10).astype(np.float32),
        (TENTHS / 10).astype(np.float16),
        TENTHS * 0.1,  # .30000000000000004
        pl.Series(TENTHS / 10, dtype=pl.Float32),
        pd.array((TENTHS / 10).astype(np.float32), "Float32"),
        pd.Series((TENTHS / 10).astype(np.float32), dtype="float[pyarrow]"),
        pd.Series((TENTHS / 10).astype(np.float32)).astype("category"),
        pd.Series(pd.arrays.SparseArray((TENTHS / 10).astype(np.float32))),
        pd.Series([*(TENTHS / 10).astype(np.float32)], dtype=object),
        [str(n / 10) for n in TENTHS],
        DECIMALS,
        pl.Series(DECIMALS),
    ],
    "sevenths": [TENTHS / 7, (TENTHS / 7).astype(np.float32)],
    "integers": [TENTHS, TENTHS.astype(np.uint8), TENTHS.astype(str), TENTHS * 1.0],
    "powers": [10.0 ** (8 * (TENTHS % 4)), np.float32(10.0) ** (8 * (TENTHS % 4))],
    "missing numbers": [
        [None, *NUMBERS[1:]],
        ["-", *NUMBERS[1:]],
        [".a", *map(str, NUMBERS[1:])],
    ],
    "large integers": [TENTHS + 2**24, (TENTHS + 2**24) * 1.0],
    "numbers and words": [
        [*map(str, NUMBERS[5:].astype(np.float32)), *["unknown"] * 5],
        [*NUMBERS[5:].astype(np.float32), *["unknown"] * 5],
        [*NUMBERS[5:], *["unknown"] * 5],
    ],
    "flags": [
        FLAGS,
        pl.Series(FLAGS),
        FLAGS.astype(object),
        FLAGS.astype(str),
        np.char.upper(FLAGS.astype(str)),
        np.where(FLAGS, "t", "f"),
        np.where(FLAGS, "Yes", "No"),
        np.where(FLAGS, "WAHR", "FALSCH"),
        FLAGS.astype(int),
        FLAGS.astype(int).astype(str),
        FLAGS * 1.0,
    ],
    "flags and words": [
        MAYBE,
        [text.upper() if text in ("True", "False") else text for text in MAYBE],
        [{"True": True, "False": False}.get(text, text) for text in MAYBE],
    ],
    "durations": [
        pd.to_timedelta(SECONDS, unit="s"),
        pl.Series(SECONDS * 1000).cast(pl.Duration("ms")),
        [f"{s // 3600}:{s // 60 % 60:02}:{s % 60:02}" for s in SECONDS],
        [f"{s} s" for s in SECONDS],
    ],
    "dates": [DAYS, DAYS.astype(str), DAYS.astype(object), pl.Series(DAYS)],
    "missing": [
        [None if color == "NA" else color for color in COLORS],
        COLORS,
        pl.Series(COLORS),
        [color.replace("NA", "#DIV/0!") for color in COLORS],
        [color.replace("NA", "(null)") for color in COLORS],
    ],
    "errors": [
        [None, None, None, *NUMBERS[3:]],
        ["#DIV/0!", "Err:502", "(null)", *map(str, NUMBERS[3:])],
        ["#WERT!", "#NAME?", "NULL", *NUMBERS[3:]],
    ],
    "lists": [
        LISTS,
        pl.Series(LISTS),
        [np.array(items, dtype=object) for items in LISTS],
        [str(items) for items in LISTS],
        [str([*map(np.str_, items)]) for items in LISTS],
        [str(np.array(items)) for items in LISTS],
        [json.dumps(items) for items in LISTS],
        [json.dumps(items, ensure_ascii=False) for items in LISTS],
        [str(tuple(items)) for items in LISTS],
    ],
    "lists of codes": [
        [[*items, "7", "a1"] if i % 5 else [] for i, items in enumerate(PLAIN)],
        [str([*items, "7", "a1"]) if i % 5 else "[]" for i, items in enumerate(PLAIN)],
    ],
    "plain lists": [
        PLAIN,
        [f"[{saved(items)}]" for items in PLAIN],
        ["{" + saved(items, ",") + "}" for items in PLAIN],
        ["{" + saved(items, ",", '"') + "}" for items in PLAIN],
        [f"c({saved(items, quote=chr(34))})" for items in PLAIN],
        [[*items, None] for items in PLAIN],
        [[*items, float("nan")] for items in PLAIN],
        [f"[{saved([*items, 'NULL'])}]" for items in PLAIN],
    ],
}
PAIRS = [(name, i) for name, forms in SAME.items() for i in range(1, len(forms))]


@functools.cache
def fit_to_first(name):
    return fit(SAME[name][0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "i"), PAIRS)
def test_forms_of_the_same_values(name, i):
    first, other = map(as_frame, (SAME[name][0], SAME[name][i]))
    encoders = fit_to_first(name), fit(SAME[name][i])
    assert encoders[0].columns_ == encoders[1].columns_
    names = [encoder.get_feature_names_out().tolist() for encoder in encoders]
    assert names[0] == names[1]
    for encoder in encoders:
        expected = encoder.transform(first)
        np.testing.assert_allclose(encoder.transform(other), expected, rtol=2e-6)
        alone = encoder.transform(other[3:4])
        np.testing.assert_allclose(alone, expected[3:4], rtol=2e-6)
        assert encoder.transform(other[:0]).shape == (0, expected.shape[1])


CHANGED = {
    "a share": (
        [f"{p}%" for p in SHARES],
        SHARES / 100,
        r"'[\d.]*%' in fit, but has 0\.",
    ),
    "no unit": ([f"{p} kg" for p in SHARES], SHARES, r"has [\d.]*, .* as [\d.]* kg"),
    "no currency": ([f"${p}" for p in SHARES], SHARES, r"'\$[\d.]*' in fit, but"),
    "seconds": (pd.to_timedelta(SECONDS, unit="s"), SECONDS, r"'\d* s' in fit, but"),
    "minutes": (["15:00", "07:30"] * 9, ["43:10"], "'15:00' in fit, but has '43:10'"),
    "a zone": (DAYS, DAYS.tz_localize("UTC"), "'2024-01-01' in fit, but has '.*Z'"),
    "no zone": (DAYS.tz_localize("UTC"), DAYS, "'.*Z' in fit, but has '2024-01-01'"),
    "offsets": (DAYS, DAYS.tz_localize("UTC").astype(str), r"has '2.*\+00:00'"),
    "years": (DAYS, [1999, 2003], "has '1999', which is read as 1999-01-01"),
    "flags": (NUMBERS, FLAGS, "but has (True|False), which is read as [01]"),
    "other flags": (FLAGS, [2, 3], "was yes or no in fit; 2 of 2"),
    "percent": (SHARES / 100, ["82.5%"], "was a number in fit; 1 of 1"),
    "durations": (NUMBERS, pd.to_timedelta([90], unit="s"), "1 of 1 .*: '90 s'"),
    "numbers": (COLORS, [3.5, 4], "'(red|blue)' in fit, but has 3.5"),
    "dates": (COLORS, DAYS[:3], "'(red|blue)' in fit, but has '2024-01-01'"),
    "flags in words": (COLORS, FLAGS, "'(red|blue)' in fit, but has (True|False)"),
    "lists in words": (COLORS, [["red"], ["a"]], r"fit, but has \"\['red'\]\""),
    "words in lists": (LISTS, ["z", "a"], r"in fit, but has 'z'"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_another_form_than_in_fit_is_named(name):
    seen, new, message = CHANGED[name]
    encoder = fit(seen)
    with pytest.warns(UserWarning, match=f"column 'x' .*{message}") as found:
        encoder.transform(as_frame(new))
    assert len(found) == 1
    with warnings.catch_warnings(action="error"):
        encoder.transform(as_frame(seen))
        encoder.transform(pd.DataFrame({"x": [None, None]}))


@pytest.mark.parametrize(
    ("seen", "new"),
    [
        ([f"{p} kg" for p in SHARES], ["1500 g"]),
        ([*(f"{p} kg" for p in SHARES), "3"], [3.0]),
        (SHARES, [3, 4]),
        (COLORS, ["red", None]),
        (LISTS, ["a", "b"]),
        ([*map(str, DAYS.date), *["soon"] * N], DAYS[:1]),
        ([*map(str, DAYS.date), *["soon"] * N], DAYS[-1:] + pd.Timedelta("1D")),
        ([*DAYS, *["soon", "later"] * N], DAYS[-1:] + pd.Timedelta("1D")),
    ],
)
def test_forms_whose_meaning_is_known(seen, new):
    encoder = fit(seen)
    with warnings.catch_warnings(action="error"):
        encoder.transform(as_frame(new))


IDS = [1234567890123456789 + 1000 * i for i in range(12)]


def test_a_row_alone_has_the_integers_of_a_batch():
    """pandas makes floats of integers next to categories, in a row of mixed types."""
    X = pd.DataFrame(
        {
            "id": np.resize(IDS, N),
            "c": pd.Categorical(np.resize([1, 2, 3], N)),
            "x": NUMBERS,
        }
    )
    encoder = TableEncoder().fit(X)
    expected = encoder.transform(X[:30:5])
    with warnings.catch_warnings(action="error"):
        for row, features in zip(range(0, 30, 5), expected, strict=True):
            for alone in (X.iloc[[row]], X.iloc[row].to_frame().T):
                np.testing.assert_array_equal(encoder.transform(alone)[0], features)


def test_long_codes_that_are_floats_are_named():
    encoder = fit([*map(str, IDS), *(f"A{i}" for i in range(15))] * 9)
    for rounded in "1.23457E+18", float(IDS[0]):
        message = f"the number {re.escape(str(rounded))}: a float has at most 17"
        with pytest.warns(UserWarning, match=message):
            encoder.transform(pd.DataFrame({"x": [rounded, "A1"]}))


def test_pandas_reads_the_missing_texts_of_every_column(tmp_path):
    texts = ["", "NA", "NULL", "None", "nan", "#N/A", "<NA>", "1.#IND", "Null", "none"]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["x", *(f'"{text}"' for text in texts)]))
    is_na = pd.read_csv(path, skip_blank_lines=False)["x"].isna().tolist()
    seen = ["a", "b", "-", ".", "no", "0", "#1", "#tag!", *texts] * 4
    encoder = fit(seen)
    assert encoder.columns_[0].kind == "category"
    names = {*encoder.get_feature_names_out()}
    assert [f"x__{text}" not in names for text in texts] == is_na
    assert {f"x__{text}" for text in seen[:8]} <= names


def test_words_for_missing_numbers():
    marks = [".a", "-nan(ind)", "#VALEUR!", "err:502", "Null", "none", "NaN", "--"]
    with warnings.catch_warnings(action="error"):
        encoder = TableEncoder().fit(as_frame(["1.5", "7", *marks] * 4))
        found = encoder.transform(as_frame(marks))
    assert encoder.columns_[0].kind == "number"
    assert np.isnan(found).all()
    named = fit(["1.5", "7", "unknown", "Nan Goldin"] * 4).get_feature_names_out()
    assert named.tolist() == ["x", "x__Nan Goldin", "x__unknown"]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("['a', 'b']", ("a", "b")),
        ("['a, b', \"c's\"]", ("a, b", "c's")),
        ("[\"it's\" 'b']", ("it's", "b")),
        ('["a\\"b", "\\u00e9"]', ('a"b', "\N{LATIN SMALL LETTER E WITH ACUTE}")),
        ("[x, it's]", ("x", "it's")),
        ('{a,"b c",NULL}', ("a", "b c")),
        ("('a',)", ("a",)),
        ("array(['a', 'b'], dtype=object)", ("a", "b")),
        ("array(['a', 'b'], dtype='<U1')", ("a", "b")),
        ("frozenset({'a'})", ("a",)),
        ("[]", ()),
        ("(a)", None),
        ("[a](b)", None),
        ("{'a': 1}", None),
        ("{a=1}", None),
        ("[[a], [b]]", None),
        ("[a", None),
        ("u, v", None),
    ],
)
def test_saved_lists(text, items):
    encoder = fit_to_first("lists")
    expected = [text] if items is None else [[*items]]
    np.testing.assert_array_equal(encode(encoder, [text]), encode(encoder, expected))
    with warnings.catch_warnings(record=True, action="always") as found:
        encoder.transform(as_frame([text]))
    assert len(found) == (items is None)


def test_texts_for_missing_values_in_columns_of_texts():
    written = pl.DataFrame({"x": ["a b", "NA", "c d", "None", "a"]})
    missing = pd.DataFrame({"x": ["a b", None, "c d", None, "a"]})
    encoder = TextMetaEncoder(n_components=2, random_state=0).fit(missing)
    assert encoder.n_missing_ == {"x": 2}
    expected = encoder.transform(missing)
    np.testing.assert_array_equal(encoder.transform(written), expected)
    np.testing.assert_array_equal(encoder.fit(written).transform(missing), expected)
    words = TextMetaEncoder(n_components=2).fit(["a b", "NA", "c d", "None", "a"])
    assert words.n_missing_ == {"": 0}


def test_saved_encoders_know_the_forms_of_fit(tmp_path):
    X = pd.DataFrame({"share": [f"{p}%" for p in SHARES], "level": TENTHS / 10})
    encoder = TableEncoder().fit(X)
    save(encoder, tmp_path / "encoder.skm")
    loaded = load(tmp_path / "encoder.skm")
    other = X.assign(level=X["level"].astype(np.float32))
    np.testing.assert_array_equal(loaded.transform(other), encoder.transform(X))
    with pytest.warns(UserWarning, match="%' in fit, but has 0.5, which is read as"):
        loaded.transform(X.assign(share=0.5))
