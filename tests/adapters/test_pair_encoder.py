"""PairEncoder: one encoder for both sides, and its output."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer

from sk_metaembed import (
    ConcatMetaEmbedding,
    DynamicMetaEmbedding,
    EmbeddedSequences,
    EmbeddingUnion,
    FunctionEmbedding,
    PairEncoder,
    Pooling,
    SequencePairs,
    Tokenizer,
    Word2VecEmbedding,
)

X = np.array(
    [
        ("a dog runs", "a dog sleeps"),
        ("a cat sleeps", "no cat sleeps"),
        ("a dog runs", "a cat runs"),
        ("no dog", "no dog"),
    ]
    * 3,
    dtype=object,
)
Y = np.array([0, 1, 0, 1] * 3)
LSA = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))


class Recorder(TransformerMixin, BaseEstimator):
    """Record the input; the vector of a text is its length."""

    def fit(self, X, y=None):
        self.fitted_on_, self.y_ = list(X), y
        self.given_ = []
        return self

    def transform(self, X):
        self.given_.append(list(X))
        return np.array([[len(x), 1.0] for x in X])


def test_the_encoder_sees_both_sides_as_one_corpus_once_and_no_labels():
    step = PairEncoder(Recorder()).fit(X, Y)
    corpus = [*X[:, 0], *X[:, 1]]
    assert step.encoder_.fitted_on_ == corpus
    assert step.encoder_.y_ is None
    assert not hasattr(step.encoder, "fitted_on_")
    step.encoder_.given_.clear()
    step.transform(X)
    (given,) = step.encoder_.given_
    assert given == list(dict.fromkeys(corpus))
    both = PairEncoder(Recorder())
    both.fit_transform(X, Y)
    assert both.encoder_.fitted_on_ == corpus
    assert len(both.encoder_.given_) == 1


@pytest.mark.parametrize("encoder", [TfidfVectorizer(), LSA], ids=["sparse", "dense"])
def test_features_are_those_of_the_sides_encoded_alone(encoder):
    step = PairEncoder(encoder).fit(X)
    u, v = (step.encoder_.transform(X[:, side]) for side in (0, 1))
    out = step.transform(X)
    assert out.dtype == np.float32
    assert sparse.issparse(out) == sparse.issparse(u)
    u, v, out = (m.toarray() if sparse.issparse(m) else m for m in (u, v, out))
    expected = np.hstack([u, v, abs(u - v), u * v])
    np.testing.assert_allclose(out, expected, atol=1e-5)
    chosen = PairEncoder(encoder, ["product", "v"]).fit(X).transform(X)
    chosen = chosen.toarray() if sparse.issparse(chosen) else chosen
    np.testing.assert_allclose(chosen, np.hstack([u * v, v]), atol=1e-5)


def test_names_tell_feature_and_column():
    step = PairEncoder(CountVectorizer(), ("absdiff", "u")).fit(X)
    words = step.encoder_.get_feature_names_out()
    names = [f"{f}__{w}" for f in ("absdiff", "u") for w in words]
    assert step.get_feature_names_out().tolist() == names
    nameless = PairEncoder(FunctionTransformer(_lengths), ["u"]).fit(X)
    assert nameless.get_feature_names_out().tolist() == ["u__0", "u__1"]


def _lengths(texts):
    return np.array([[len(text), text.count("o")] for text in texts])


def _length_frame(texts):
    return pd.DataFrame(_lengths(texts), columns=["length", "os"])


def test_data_frames_in_and_out():
    frame = pd.DataFrame(X, columns=["premise", "hypothesis"])
    step = PairEncoder(FunctionTransformer(_length_frame)).set_output(
        transform="pandas"
    )
    out = step.fit_transform(frame)
    assert list(out.columns[:4]) == ["u__length", "u__os", "v__length", "v__os"]
    assert step.feature_names_in_.tolist() == ["premise", "hypothesis"]
    np.testing.assert_array_equal(step.transform(X), out)
    with pytest.raises(ValueError, match="feature names should match.*this order"):
        step.transform(frame[["hypothesis", "premise"]])
    with config_context(transform_output="polars"):
        assert PairEncoder(LSA).fit_transform(X).shape == (12, 12)


def test_encoders_of_sequences_give_sequence_pairs():
    source = make_pipeline(Tokenizer(), Word2VecEmbedding(vector_size=5, min_count=1))
    step = PairEncoder(source).set_output(transform="pandas")
    pairs = step.fit_transform(X)
    assert isinstance(pairs, SequencePairs)
    assert isinstance(pairs.sequences, EmbeddedSequences)
    assert pairs.to_list()[0][1].shape == (3, 5)
    assert step.transform(X) == pairs
    assert pairs.second == step.encoder_.transform(X[:, 1])
    assert len(step.get_feature_names_out()) == 5
    step.set_output(transform="default")

    rest = PairEncoder(make_pipeline(ConcatMetaEmbedding(), Pooling()), ["absdiff"])
    both = make_pipeline(step, rest, LogisticRegression()).fit(X, Y)
    one = make_pipeline(*source, ConcatMetaEmbedding(), Pooling())
    assert len(both[1].get_feature_names_out()) == 5
    assert both.predict(X).shape == Y.shape
    assert (
        both[1].transform(pairs).shape
        == PairEncoder(one, ["absdiff"]).fit_transform(X).shape
    )


@pytest.mark.parametrize(
    "encoder",
    [
        DynamicMetaEmbedding(),
        make_pipeline(make_union(LSA, make_pipeline(NeighborhoodComponentsAnalysis()))),
        EmbeddingUnion([("tokens", make_pipeline(DynamicMetaEmbedding()))]),
    ],
)
def test_an_encoder_that_needs_labels_is_refused(encoder):
    with pytest.raises(ValueError, match="labels of pairs.*after the PairEncoder"):
        PairEncoder(encoder).fit(X, Y)


@pytest.mark.parametrize("features", [("u", "cosine"), ["u", "u"]])
def test_strange_features_are_refused(features):
    with pytest.raises(ValueError, match="features must hold some of"):
        PairEncoder(LSA, features).fit(X)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda texts: np.ones(len(texts)), "got 1D array"),
        (lambda texts: np.ones((1, 2)), "inconsistent numbers of samples"),
        (lambda texts: np.full((len(texts), 2), np.nan), "contains NaN"),
        (lambda texts: np.array([[t] for t in texts]), "could not convert string"),
    ],
)
def test_output_other_than_vectors_is_refused(function, reason):
    for method in ("fit", "fit_transform"):
        with pytest.raises(ValueError, match=f"one row of finite numbers.*{reason}"):
            getattr(PairEncoder(FunctionTransformer(function)), method)(X)


def _ragged(texts):
    return np.ones((len(texts), 1 + (texts[0] == "zzz")))


def _first_tokens(texts):
    return Tokenizer().fit_transform(texts[1:])


def test_output_that_depends_on_the_texts_is_refused():
    step = PairEncoder(FunctionTransformer(_ragged)).fit(X)
    with pytest.raises(ValueError, match="returned 2 columns, but 1 in fit"):
        step.transform([("zzz", "a")])
    with pytest.raises(ValueError, match="returned 23 sequences for 24 texts"):
        PairEncoder(FunctionTransformer(_first_tokens)).fit_transform(X)


def test_no_pairs_are_refused_in_fit_and_give_none_later():
    with pytest.raises(ValueError, match="at least one pair"):
        PairEncoder(LSA).fit([])
    assert PairEncoder(LSA).fit(X).transform([]).shape == (0, 12)
    assert len(PairEncoder(Tokenizer()).fit(X).transform([])) == 0


def test_the_columns_are_those_of_fit():
    step = PairEncoder(CountVectorizer(), features=["absdiff"]).fit([("a dog", "cat")])
    step.set_params(features=["u", "v"])
    assert step.transform([("dog", "cat")]).shape == (1, 2)
    assert step.get_feature_names_out().tolist() == ["absdiff__cat", "absdiff__dog"]
    assert step.fit_transform([("a dog", "cat")]).shape == (1, 4)


@pytest.mark.parametrize(
    "encoder", [Tokenizer(), FunctionEmbedding(lambda words: [[1.0]] * len(words))]
)
def test_features_that_would_not_be_used_are_refused(encoder):
    X = [("a dog", "a cat"), ("b", "c")]
    step = PairEncoder(encoder, ("absdiff", "product"))
    for method in (step.fit, step.fit_transform):
        with pytest.raises(ValueError, match="would not be used: the encoder returns"):
            method(X)
    order = ["product", "absdiff", "v", "u"]
    assert isinstance(PairEncoder(encoder, order).fit_transform(X), SequencePairs)
