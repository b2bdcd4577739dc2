"""Dollar signs in words and names are not parsed as formulas."""

import warnings

import numpy as np
import pytest

from sk_metaembed.inspection import (
    SimilarityDisplay,
    SourceWeightsDisplay,
)

NAMES = ["$$", r"$\foo$", "a $5 b $6", "x_y^z"]
VECTORS = np.random.default_rng(0).normal(size=(4, 3))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: SimilarityDisplay.from_vectors(VECTORS, NAMES, title="$$"),
        lambda: SourceWeightsDisplay(
            np.full((4, 2), 0.5), sources=NAMES[:2], groups=NAMES, counts=[1] * 4
        ).plot(),
    ],
)
def test_dollar_signs_are_drawn(draw):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = draw()
        display.figure_.canvas.draw()
