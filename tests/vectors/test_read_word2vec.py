import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sk_metaembed.vectors._read_word2vec import _line_spans, _parse_block

finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.floats(allow_nan=False, allow_infinity=False, width=32)
spelled = st.one_of(
    finite.map(repr),
    small.map(repr),
    small.map(lambda x: f"{x:.6f}"),
    small.map(lambda x: f"{x:+.3E}"),
    small.map(lambda x: f"{x:.25g}"),
    st.from_regex(
        r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
    st.from_regex(r"\.[0-9]{1,25}(e-?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(
        ["0", "-0", "-0.0", "1e-45", "7e-46", "3.4028236e38", "1e400", "inf"]
    ),
)


def parse(numbers, dim):
    rows = [numbers[i : i + dim] for i in range(0, len(numbers), dim)]
    text = "\n".join(f"w{i} " + " ".join(row) for i, row in enumerate(rows))
    buf = np.frombuffer(text.encode(), np.uint8)
    _, vectors, _ = _parse_block(buf, *_line_spans(buf, None), dim, 1, "file")
    return vectors.ravel()


@settings(deadline=None, max_examples=150)
@given(st.lists(spelled, min_size=1, max_size=20))
def test_numbers_round_as_python_does(numbers):
    with np.errstate(over="ignore"):
        expected = np.array([np.float32(float(number)) for number in numbers])
    result = parse(numbers, 1)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@settings(deadline=None, max_examples=30)
@given(st.lists(small, min_size=12, max_size=12))
def test_float32_survives_text(values):
    result = parse([repr(value) for value in values], 4)
    np.testing.assert_array_equal(result, np.array(values, np.float32))


@pytest.mark.parametrize("digits", [16, 17, 18, 19, 20, 25])
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_halfway_cases_round_to_even(shift, digits):
    # decimals a hair from the middle between two neighbouring float32
    base = np.random.default_rng(0).normal(size=500).astype(np.float32)
    middle = (base.astype(float) + np.nextafter(base, np.float32(9)).astype(float)) / 2
    near = middle + shift * np.spacing(middle)
    numbers = [f"{value:.{digits}g}" for value in near]
    expected = np.array([np.float32(float(number)) for number in numbers])
    np.testing.assert_array_equal(parse(numbers, 5), expected)
