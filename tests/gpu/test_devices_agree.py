"""Every torch component gives the same on a GPU as on the CPU, up to rounding.

On a machine without a GPU, ``pytest -m gpu --gpu-device cpu`` compares the CPU with
itself, which tests these tests.
"""

import pytest

from .cases import CASES, rounding_effects
from .compare import differences, exact_products

pytestmark = pytest.mark.gpu
PAIRS = [(name, dtype) for name, case in CASES.items() for dtype in case.dtypes]


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_a_device_agrees_with_the_cpu(name, dtype, device):
    case = CASES[name]
    for package in case.needs:
        pytest.importorskip(package)
    with exact_products():
        # In bfloat16 devices round differently, so the reference is exact.
        expected = case.compute("cpu", "float32")
        actual = case.compute(device, dtype)
        effects = rounding_effects(case, expected) if dtype == "bfloat16" else None
    assert not differences(expected, actual, dtype, effects)
