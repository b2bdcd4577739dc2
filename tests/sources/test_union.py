from inspect import signature
from threading import current_thread, main_thread

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    ConcatMetaEmbedding,
    EmbeddingUnion,
    FastTextEmbedding,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    TokenSequences,
    TrainableCharacters,
    Word2VecEmbedding,
    make_embedding_union,
    source_subsets,
)
from sk_metaembed.sources import BaseEmbedding


def lengths(words):
    return [[len(word)] for word in words]


def sequence_lengths(sequences):
    return [[len(words), 1] for words in sequences]


def w2v():
    return Word2VecEmbedding(3, min_count=1, epochs=1, random_state=0)


@pytest.fixture
def union(store):
    return EmbeddingUnion(
        [
            ("glove", PretrainedEmbedding(store)),
            ("w2v", w2v()),
            ("n", FunctionEmbedding(sequence_lengths, "sequence")),
        ]
    )


def test_blocks_are_those_of_the_sources(union, texts):
    embedded = union.fit_transform(texts)
    assert embedded.names == ("glove", "w2v", "n")
    assert [b.level for b in embedded.blocks] == ["type", "type", "sequence"]
    for name, source in union.sources:
        alone = clone(source).fit_transform(texts).blocks[0]
        assert embedded.block(name) == alone.rename(name)
    assert union.transform(texts) == embedded
    assert union.fit(texts).transform(texts) == embedded


def test_tokens_are_read_once(union, texts):
    tokens = TokenSequences.from_lists(texts)
    assert union.fit_transform(tokens).tokens is tokens
    assert union.transform(row for row in texts) == union.transform(tokens)


@pytest.mark.parametrize("active", [("n", "glove"), "n"])
def test_active(union, texts, active):
    assert "not active" in union.set_params(active=active)._repr_html_()
    names = union.set_params(active=active).fit_transform(texts).names
    assert names == tuple(n for n in ("glove", "w2v", "n") if n in active)
    assert tuple(name for name, _ in union.sources_) == names


def test_drop_and_nested_parameters(union, texts):
    union.set_params(glove="drop", w2v__vector_size=2)
    assert union.fit_transform(texts).names == ("w2v", "n")
    assert union.named_sources_.w2v.vectors_.shape[1] == 2
    union.set_params(glove=FunctionEmbedding(lengths))
    assert union.fit_transform(texts).block("glove").dim == 1


@pytest.mark.parametrize(
    "params, message",
    [
        ({"active": ["w2v", "elmo"]}, r"\['elmo'\].*\['glove', 'w2v', 'n'\]"),
        ({"active": ["w2v"], "w2v": "drop"}, "no source of .*dropped.*'w2v'"),
        ({"sources": [("a", w2v()), ("a", w2v())]}, "not unique"),
        ({"sources": [("a__b", w2v())]}, "must not contain __"),
    ],
)
def test_faulty_choices(union, texts, params, message):
    with pytest.raises(ValueError, match=message):
        union.set_params(**params).fit(texts)


@pytest.mark.parametrize(
    "sources, message",
    [
        ([w2v()], "got Word2VecEmbedding.* at index 0"),
        ([("a", Word2VecEmbedding)], "an instance of scikit-learn estimator"),
        ([("a", "w2v")], "must have fit and transform"),
        ([("a", TrainableCharacters())], r"'a' is a Trainable.*=\[\('a', Trainable"),
        ([("a", Pooling())], "'a' is a Pooling.*after the union"),
        ([("a", ConcatMetaEmbedding())], "'a' is a Concat.*after the union"),
    ],
)
def test_faulty_sources(sources, message, texts):
    with pytest.raises(TypeError, match=message):
        EmbeddingUnion(sources).fit(texts)


def test_a_source_must_give_vectors_of_the_same_tokens(texts):
    class Other(BaseEmbedding):
        def transform(self, X):
            return FunctionEmbedding(lengths).fit_transform(X[::-1])

        fit_transform = fit = lambda self, X, y=None: self.transform(X)

    class Arrays(Other):
        def fit_transform(self, X, y=None):
            return np.ones((len(X), 2))

    with pytest.raises(ValueError, match="'a' returned vectors of other tokens"):
        EmbeddingUnion([("a", Other())]).fit_transform(texts)
    with pytest.raises(TypeError, match="'a', a Arrays, must return .*got ndarray"):
        EmbeddingUnion([("a", Arrays())]).fit_transform(texts)


def test_a_vectorizer_must_be_wrapped(texts):
    vectorizer = TfidfVectorizer()
    union = EmbeddingUnion([("n", FunctionEmbedding(lengths)), ("v", vectorizer)])
    message = r"source 'v', a Tfidf.*EstimatorEmbedding\(Tfidf.*\), as_text=True"
    with pytest.raises(TypeError, match=message):
        union.fit_transform(texts)
    with pytest.raises(TypeError, match=message):
        union.fit(texts).transform(texts)


def test_several_blocks_and_pipelines_as_sources(texts):
    inner = EmbeddingUnion([("x", FunctionEmbedding(lengths)), ("y", w2v())])
    outer = EmbeddingUnion(
        [("both", inner), ("as_text", make_pipeline(inner, ConcatMetaEmbedding()))]
    )
    embedded = outer.fit_transform(texts)
    assert embedded.names == ("both__x", "both__y", "as_text")
    assert outer.get_feature_names_out()[0] == "both__x__function0"
    assert len(outer.get_feature_names_out()) == embedded.dim


def test_y_reaches_the_sources(texts):
    class Labels(FunctionEmbedding):
        def _fit_vectors(self, tokens, y):
            super()._fit_vectors(tokens, y)
            self.y_ = y

    union = EmbeddingUnion([("a", Labels(lengths))])
    assert union.fit(texts, [1] * 15).named_sources_.a.y_ == [1] * 15
    union.fit_transform(texts, [2] * 15)
    assert union.named_sources_.a.y_ == [2] * 15


def test_make_embedding_union_passes_its_parameters():
    source = FunctionEmbedding(lengths)
    with pytest.raises(TypeError, match="row 1"):
        make_embedding_union(source).fit(["a b", None])
    union = make_embedding_union(w2v(), FastTextEmbedding(), w2v(), active="fasttext")
    names = [name for name, _ in union.sources]
    assert names == ["word2vec-1", "fasttext", "word2vec-2"]
    assert union.active == "fasttext"
    union = make_embedding_union(source, missing="empty", verbose=False)
    assert union.fit(["a b", None]).n_missing_ == 1
    options = {"active", "missing", "n_jobs", "verbose"}
    assert options <= {*signature(make_embedding_union).parameters}
    assert options == {*signature(EmbeddingUnion).parameters} - {"sources"}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_sources_run_in_threads_if_asked(n_jobs):
    used = []

    def noting(words):
        used.append(current_thread() is main_thread())
        return lengths(words)

    union = make_embedding_union(FunctionEmbedding(noting), n_jobs=n_jobs)
    union.fit(["a b"]).transform(["a b"])
    assert used == [n_jobs is None] * 2


def test_frozen_sources_are_not_fitted_again(texts):
    from sklearn.frozen import FrozenEstimator

    frozen = Word2VecEmbedding(3, min_count=1, random_state=0).fit(texts)
    union = EmbeddingUnion([("w2v", FrozenEstimator(frozen))])
    embedded = union.fit_transform(texts[:1])
    assert union.named_sources_.w2v.vectors_ is frozen.vectors_
    np.testing.assert_array_equal(embedded[0], frozen.transform(texts[:1])[0])


def test_sizes_are_bounded():
    names = list("abcd")
    assert {len(s) for s in source_subsets(names, min_size=2, max_size=3)} == {2, 3}
    assert source_subsets(names, min_size=4) == [tuple(names)]
    assert repr(source_subsets(np.array(names), min_size=4)) == repr([tuple(names)])
    assert source_subsets(names, max_size=np.int64(1)) == [(name,) for name in names]


def test_a_union_gives_its_names_without_what_is_dropped():
    sources = [(name, FunctionEmbedding(lengths)) for name in "abc"]
    some = EmbeddingUnion(sources, active=("c",)).set_params(b="drop")
    assert source_subsets(some) == [("a",), ("c",), ("a", "c")]


@pytest.mark.parametrize(
    ("names", "options", "error", "words"),
    [
        ("glove", {}, TypeError, "source_subsets: names must.*'glove'"),
        ([("a", None)], {}, TypeError, "not .name, source. pairs"),
        (["a", "b", "a"], {}, ValueError, "distinct, and at least one"),
        (["a", "b"], {"max_size": 3}, ValueError, "2, the number.*max_size=3"),
    ],
)
def test_invalid_subsets_raise(names, options, error, words):
    with pytest.raises(error, match=words):
        source_subsets(names, **options)
