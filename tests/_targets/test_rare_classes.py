"""Classes that are too rare to be evaluated, and the warning that names them."""

import numpy as np
import pytest

from sk_metaembed._targets._check import (
    no_warning_of_rare_classes,
    rare_classes,
    warn_of_rare_classes,
)


def labels(**counts):
    return np.repeat([*counts], [*counts.values()]).astype(object)


def test_classes_with_few_rows_next_to_others_are_rare():
    classes, counts = rare_classes(labels(a=100, b=50, c=10, d=11, e=1))
    assert classes.tolist() == ["c", "e"]
    assert counts.tolist() == [10, 1]


@pytest.mark.parametrize(
    "counts",
    [{"a": 4, "b": 4, "c": 1}, {"a": 4000, "b": 3}, {"a": 4000, "b": 3, "c": 2}],
)
def test_no_class_of_few_rows_or_without_two_common_ones_is_rare(counts):
    assert not len(rare_classes(labels(**counts))[0])
    assert not len(warn_of_rare_classes(labels(**counts)))


def test_no_rows_have_no_rare_classes():
    assert not len(rare_classes(np.array([], dtype=object))[0])


def test_the_warning_names_rare_classes():
    y = labels(out=80, In=1, **{"in": 80, "parked": 3})
    with pytest.warns(UserWarning, match=r"'In' \(1 row\), 'parked' \(3 rows\)\. They"):
        assert warn_of_rare_classes(y).tolist() == ["In", "parked"]
    many = np.r_[np.repeat([100, 101], 90), np.arange(8)]
    with pytest.warns(UserWarning, match=r"0 \(1 row\), .*4 \(1 row\) and 3 more\."):
        warn_of_rare_classes(many)
    with no_warning_of_rare_classes():
        warn_of_rare_classes(many)
