"""Cells of columns of texts; numbers are told from texts column by column."""

import datetime

import numpy as np
import pytest

from sk_metaembed.sequences._validation import check_cells

NAMES = {"part": "cell", "reader": "Encoder"}


def test_missing_cells_are_of_the_kind_of_the_others():
    columns = [None, "a"], [None, None]
    cells, absent = check_cells(columns, "xy", missing="empty", **NAMES)
    assert cells == ["", "a", "", ""]
    assert absent.tolist() == [True, False, True, True]
    columns = [None, None], [["a"], np.nan]
    cells, _ = check_cells(columns, "xy", missing="empty", **NAMES)
    assert cells == [[], [], ["a"], []]


@pytest.mark.parametrize("missing", ["raise", "empty"])
@pytest.mark.parametrize("texts", [["a", None], [["a"], ["b"]]])
@pytest.mark.parametrize("value", [1.5, 3, True, datetime.date(2020, 1, 2)])
def test_a_column_of_numbers_beside_texts_is_called_wrong(missing, texts, value):
    columns = [texts, [np.nan, value]]
    message = r"row 1, column 'n' is of type .*probably the wrong column"
    with pytest.raises(TypeError, match=message):
        check_cells(columns, ["text", "column 'n'"], missing=missing, **NAMES)


def test_a_number_among_texts_is_a_wrong_cell():
    columns = [["a", "b"], ["c", 3]]
    with pytest.raises(TypeError, match="row 1, y is of type int.* convert it to a s"):
        check_cells(columns, "xy", **NAMES)
