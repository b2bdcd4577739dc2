"""Steps of this package and others keep a pandas index, from texts to DataFrames."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    CommonComponentRemoval,
    DynamicMetaEmbedding,
    FunctionEmbedding,
    PairEncoder,
    Pooling,
    SequencePairs,
    Tokenizer,
    TokenSequences,
)
from sk_metaembed.sequences import EmbeddedInputMixin, SequencesOutputMixin

LENGTHS = FunctionEmbedding(lambda words: [[len(w), ord(w[0])] for w in words])
PIPE = make_pipeline(Tokenizer(), LENGTHS, Pooling())


def with_numbers(step=PIPE):
    parts = [("text", step, "t"), ("num", "passthrough", ["n"])]
    return ColumnTransformer(parts).set_output(transform="pandas")


def frame(n=40):
    words = np.array(["a", "to", "one", "four", "seven"])
    texts = [" ".join(words[[i % 5, i % 3]]) for i in range(n)]
    return pd.DataFrame({"t": texts, "n": [float(len(t)) for t in texts]})


@pytest.mark.parametrize(
    "change",
    [
        lambda df: df.sample(len(df), replace=True, random_state=0),
        lambda df: df.set_axis([f"row {i}" for i in range(len(df))]).iloc[::-1],
        lambda df: df.set_index(["t", "n"], drop=False).iloc[3:9],
    ],
    ids=["bootstrap", "strings", "levels"],
)
def test_frames_put_side_by_side(change):
    df = change(frame())
    result = with_numbers().fit_transform(df)
    assert result.index.equals(df.index)
    expected = PIPE.fit_transform(df["t"].tolist())
    np.testing.assert_array_equal(result.iloc[:, :2].to_numpy(), expected)
    np.testing.assert_array_equal(result.iloc[:, 2].to_numpy(), df["n"].to_numpy())


@pytest.mark.parametrize(
    "last",
    [
        Pooling(["mean", "max"]),
        make_pipeline(Pooling(), CommonComponentRemoval(1)),
        DynamicMetaEmbedding(
            output="sequence", projection_dim=4, encoder="mean", max_epochs=1
        ),
    ],
    ids=["pooling", "components", "dynamic"],
)
def test_every_dense_output_has_the_index(last):
    df = frame().sample(frac=1, random_state=0)
    pipe = make_pipeline(Tokenizer(), LENGTHS, last).set_output(transform="pandas")
    assert pipe.fit_transform(df["t"], df["n"] > 6).index.equals(df.index)
    assert pipe.transform(df["t"].iloc[:3]).index.equals(df.index[:3])


class Lengths(TransformerMixin, BaseEstimator):
    """A step without the mixins of this package."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.tokens.lengths[:, None]

    def __sklearn_is_fitted__(self):
        return True

    def get_feature_names_out(self, input_features=None):
        return np.array(["length"], dtype=object)


class OwnLengths(EmbeddedInputMixin, Lengths):
    pass


class Halves(OwnLengths):
    def transform(self, X):
        return super().transform(X) / 2


@pytest.mark.parametrize("step", [OwnLengths(), Halves()])
def test_steps_that_inherit_transform_keep_the_index(step):
    texts = frame()["t"].sample(frac=1, random_state=0)
    pipe = make_pipeline(LENGTHS, step).set_output(transform="pandas")
    assert pipe.fit_transform(texts).index.equals(texts.index)
    assert pipe.transform(texts[:3]).index.equals(texts.index[:3])


def test_pairs_keep_their_index():
    df = pd.DataFrame({"a": ["a b", "b"], "b": ["b", "a"]}, index=["x", "y"])
    pairs = PairEncoder(Tokenizer()).fit_transform(df)
    assert isinstance(pairs, SequencePairs)
    assert pairs.index.equals(df.index)
    assert pairs[[1]].index.tolist() == ["y"]
    assert pairs.first.index.equals(df.index) and pairs.second.index.equals(df.index)
    again = PairEncoder(make_pipeline(LENGTHS, Pooling())).set_output(
        transform="pandas"
    )
    assert again.fit_transform(pairs).index.equals(df.index)
    assert again.transform(df.iloc[::-1]).index.equals(df.index[::-1])


def test_containers_carry_labels():
    tokens = Tokenizer().transform(pd.Series(["a b", "b", "c"], index=list("xyz")))
    for copy in (deepcopy(tokens), pickle.loads(pickle.dumps(tokens))):
        assert copy.index.equals(tokens.index)
    assert tokens[[2, 0, 0]].index.tolist() == ["z", "x", "x"]
    assert tokens[np.array([False, True, True])].index.tolist() == ["y", "z"]
    assert tokens.compact()[1:].index.tolist() == ["y", "z"]
    embedded = LENGTHS.fit_transform(tokens[1:])
    assert embedded[::-1].index.tolist() == ["z", "y"]
    assert embedded.select(["function"]).index.tolist() == ["y", "z"]
    assert Tokenizer().transform(["a"]).index is None
    assert tokens == Tokenizer().transform(["a b", "b", "c"])


def test_own_labels():
    tokens = TokenSequences.from_lists([["a"], ["b"]], index=["x", "y"])
    assert tokens.index.tolist() == ["x", "y"]
    tokens = TokenSequences(["a"], [0], [0, 1], index=pd.Index([7]))
    assert tokens.index.tolist() == [7]
    with pytest.raises(ValueError, match="got 1 labels for 2 sequences"):
        TokenSequences.from_lists([["a"], ["b"]], index=["x"])


def test_wrong_order_of_bases_is_refused():
    with pytest.raises(TypeError, match="Wrong: SequencesOutputMixin must be to"):

        class Wrong(TransformerMixin, SequencesOutputMixin, BaseEstimator):
            pass
