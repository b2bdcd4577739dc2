"""Drawing: dollar signs are no formulas, and a missing matplotlib is named."""

import sys
import warnings

import numpy as np
import pytest

from sk_metaembed.inspection import SourceWeightsDisplay

NAMES = ["$$", r"$\foo$", "a $5 b $6", "x_y^z"]


def test_dollar_signs_are_drawn():
    display = SourceWeightsDisplay(
        np.full((4, 2), 0.5), sources=NAMES[:2], groups=NAMES, counts=[1] * 4
    )
    with warnings.catch_warnings(action="error"):
        display.plot().figure_.canvas.draw()


def test_a_missing_matplotlib_is_named(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    display = SourceWeightsDisplay(
        np.ones((1, 1)), sources=["a"], groups=["g"], counts=[1]
    )
    with pytest.raises(ImportError, match=r"pip install 'sk_metaembed\[plot\]'"):
        display.plot()
