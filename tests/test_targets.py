"""All predictors accept, or refuse in the same words, the same forms of y."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaRegressor,
    FunctionEmbedding,
    Pooling,
    StackedMetaClassifier,
    StackedMetaRegressor,
    TableClassifier,
    TableRegressor,
    TextMetaEncoder,
    make_table_pipeline,
    make_text_pipeline,
)
from sk_metaembed.inspection import compare_sources

TEXTS = [f"{word} number {i}" for i in range(8) for word in ("good", "bad")]


def length(words):
    return [[len(word)] for word in words]


SOURCE = FunctionEmbedding(length)
ROWS = SOURCE.fit_transform(TEXTS)
NET = {"projection_dim": 2, "hidden_dims": (), "max_epochs": 1}


class Table:
    """make_table_pipeline on a table of one column, as a predictor."""

    def __init__(self, task):
        self.task = task

    def fit(self, X, y):
        make_table_pipeline(self.task).fit(pd.DataFrame({"text": X}), y)


class Compared:
    """compare_sources, as a predictor."""

    def fit(self, X, y):
        compare_sources([SOURCE], X, y, cv=2, random_state=0)


PREDICTORS = {
    "classes": [
        make_pipeline(SOURCE, StackedMetaClassifier()),
        make_pipeline(SOURCE, DynamicMetaClassifier(**NET)),
        make_text_pipeline(),
        make_pipeline(SOURCE, Pooling(), TableClassifier(["linear"])),
        Table("classifier"),
        TextMetaEncoder(cv=2),
        Compared(),
    ],
    "numbers": [
        make_pipeline(SOURCE, StackedMetaRegressor()),
        make_pipeline(SOURCE, DynamicMetaRegressor(**NET)),
        make_text_pipeline("regressor"),
        make_pipeline(SOURCE, Pooling(), TableRegressor(["linear"])),
        Table("regressor"),
        TextMetaEncoder(cv=2, target_type="continuous"),
    ],
}
CASES = [
    (kind, predictor) for kind, several in PREDICTORS.items() for predictor in several
]


def refused(kind):
    """Return forms of y that predictors of a kind refuse."""
    good = ["a", "b"] * 8 if kind == "classes" else [0.5, 1.5] * 8
    return [
        good[1:],
        [*good[1:], None],
        [*good[1:], float("nan")],
        [*good[1:], b"bytes"],
        [*good[1:], np.datetime64("2020-01-01")],
        [*good[1:], {}],
        [[], *good[1:]],
        pd.DataFrame({"a": [*good[1:], None], "b": range(16)}),
        [["a"], ["a", "b"]] * 8,
        3,
        [1, "a"] * 8,
        np.array([1, np.inf] * 8),
        *([["1", "2,5"] * 8] if kind == "numbers" else []),
    ]


@pytest.mark.parametrize(("kind", "predictor"), CASES)
def test_the_same_words_for_what_is_refused(kind, predictor):
    stack = PREDICTORS[kind][0][-1]
    for y in refused(kind):
        with pytest.raises((TypeError, ValueError)) as expected:
            stack.fit(ROWS, y)
        with pytest.raises(type(expected.value)) as received:
            predictor.fit(TEXTS, y)
        words = str(expected.value).removeprefix(f"{type(stack).__name__}: ")
        assert str(received.value).endswith(words)
