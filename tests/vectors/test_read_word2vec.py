import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_metaembed import WordVectors

small = st.floats(allow_nan=False, allow_infinity=False, width=32)
spelled = st.one_of(
    st.floats(-1e30, 1e30).map(repr),
    small.map(repr),
    small.map(lambda x: f"{x:+.3E}"),
    small.map(lambda x: f"{x:.25g}"),
    st.from_regex(
        r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True
    ),
    st.from_regex(r"\.[0-9]{1,25}(e-?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["0", "-0", "-0.0", "1e-45", "7e-46", "3.4028235e38"]),
)


def parse(write, numbers):
    """Return numbers as they are read from a text file, float32 (n,)."""
    text = "".join(f"w{i} {number}\n" for i, number in enumerate(numbers))
    return WordVectors.open(write("x.txt", text)).vectors[:, 0]


def rounded(numbers):
    with np.errstate(over="ignore"):
        return np.array([np.float32(float(number)) for number in numbers])


@given(st.lists(spelled, min_size=1, max_size=20))
def test_numbers_round_as_python_does(write, numbers):
    numbers = [number for number in numbers if np.isfinite(rounded([number])[0])]
    if numbers:
        assert parse(write, numbers).tobytes() == rounded(numbers).tobytes()


@pytest.mark.parametrize("digits", [16, 17, 18, 19, 25])
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_halfway_cases_round_to_even(shift, digits, write):
    # decimals close to the middle between two neighbouring float32
    base = np.random.default_rng(0).normal(size=500).astype(np.float32)
    middle = (base.astype(float) + np.nextafter(base, np.float32(9)).astype(float)) / 2
    near = middle + shift * np.spacing(middle)
    numbers = [f"{value:.{digits}g}" for value in near]
    np.testing.assert_array_equal(parse(write, numbers), rounded(numbers))
