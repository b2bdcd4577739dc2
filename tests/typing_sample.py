"""Calls of the public API: mypy checks their types, `test_public.py` runs them."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.utils import Bunch

import sk_metaembed
from sk_metaembed import (
    AverageMetaEmbedding,
    Block,
    DynamicMetaClassifier,
    DynamicMetaTagger,
    ElmoLanguageModel,
    EmbeddedSequences,
    EmbeddingUnion,
    FunctionEmbedding,
    Pooling,
    StackedMetaClassifier,
    TokenClassifier,
    Tokenizer,
    TokenSequences,
    WordVectors,
    export_vectors,
    load,
    make_embedding_union,
    source_subsets,
)
from sk_metaembed.datasets import load_glove_6b_50d
from sk_metaembed.metrics import (
    coverage_report,
    sentence_similarity_score,
    span_f1_score,
    word_similarity_score,
)
from sk_metaembed.out_of_core import transform_in_batches
from sk_metaembed.sequences import convert_tags

assert_type(sk_metaembed.__version__, str)

# Scores are floats, reports only on request.
vectors = {"cat": [1.0, 0.2], "dog": [0.9, 0.3], "car": [0.0, 1.0]}
pairs = [("cat", "dog"), ("dog", "car"), ("cat", "car")]
tags = [["B-place", "O"], ["O"]]


class Lengths:
    """A transformer without a base class."""

    def transform(self, X: list[str]) -> NDArray[np.float64]:
        """Return the length of each text, and 1."""
        return np.array([[len(text), 1.0] for text in X])


assert_type(word_similarity_score(vectors, pairs, [9, 2, 1]), float)
assert_type(
    sentence_similarity_score(Lengths(), [("a", "the"), ("of", "on")], [1, 2]), float
)
assert_type(coverage_report(vectors, ["cat and dog"]), list[dict[str, Any]])
assert_type(span_f1_score(tags, tags, scheme="IOB2"), float)
assert_type(span_f1_score(tags, tags, average=None), NDArray[np.float64])
assert_type(
    span_f1_score(tags, tags, return_report=True),
    dict[str, dict[str, float]],
)
# Containers are immutable; an int gives a row, any other index a container.
tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
assert_type(tokens[0], list[str])
assert_type(tokens[1:], TokenSequences)
block = Block("one-hot", np.eye(2), "type")
embedded = EmbeddedSequences(tokens, [block])
assert_type(embedded[[1, 0]].select(["one-hot"]), EmbeddedSequences)
assert_type(Tokenizer().fit_transform(["a b"]), TokenSequences)
assert_type(convert_tags(tags, to="IOBES"), NDArray[np.object_])
tagger = TokenClassifier(DummyClassifier()).fit(embedded, [["B-a", "O"], ["O"]])
assert_type(tagger.predict_proba(embedded), list[NDArray[Any]])


# Meta-embeddings combine blocks into one; pooling returns an array.
average = AverageMetaEmbedding(weights={"one-hot": 2.0})
assert_type(average.fit(embedded), AverageMetaEmbedding)
assert_type(average.transform(embedded), EmbeddedSequences)
assert_type(Pooling(["mean", "max"]).fit(embedded), Pooling)
pooled = Pooling(weights="idf").fit_transform(embedded)
assert_type(pooled, NDArray[np.float32])

# Sources return containers, and fit returns the source itself.
source = FunctionEmbedding(lambda words: [[len(word)] for word in words])
assert_type(source.fit_transform([["to", "be"]]), EmbeddedSequences)
union = make_embedding_union(source, FunctionEmbedding(len, level="sequence"))
assert_type(union, EmbeddingUnion)
assert_type(union.set_params(active="function-1"), EmbeddingUnion)
assert_type(source_subsets(union, max_size=1), list[tuple[str, ...]])


def stores(path: str) -> None:
    """Hold calls that write files: they are checked and not run."""
    wv = WordVectors.open(path, dtype="float16")
    assert_type(wv, WordVectors)
    assert_type(wv.lookup(["a"]), NDArray[np.int32])
    assert_type(wv.vectors_for(["a"]), tuple[NDArray[np.float32], NDArray[np.bool_]])
    assert_type(export_vectors(wv, wv.words, path, format="glove"), Bunch)
    assert_type(load_glove_6b_50d(), WordVectors)
    model = ElmoLanguageModel.load(path, batch_size=8)
    assert_type(model.score_samples([["to", "be"]]), NDArray[np.float64])


def nets(X: EmbeddedSequences, labels: list[str]) -> None:
    """Hold calls that train networks, which the test does not run."""
    clf = DynamicMetaClassifier("context", train_options={"gradient_clip": 1.0})
    assert_type(clf.fit(X, labels, X_val=X, y_val=labels), DynamicMetaClassifier)
    assert_type(clf.predict(X), NDArray[Any])
    assert_type(clf.layer_weights_, dict[str, float])
    stacked = StackedMetaClassifier(cv=3).fit(X, labels)
    assert_type(stacked.predict_proba(X), NDArray[np.floating])
    tagger = DynamicMetaTagger(scheme="IOB2")
    assert_type(tagger.predict(X), NDArray[np.object_])


def misuse() -> None:
    """Hold calls with type errors. An ignore comment without an error fails too."""
    FunctionEmbedding(len, level="word")  # type: ignore[arg-type]
    span_f1_score(tags, 12)  # type: ignore[call-overload]
    Block("x", np.eye(2), "word")  # type: ignore[arg-type]
    Pooling(mode="meen")  # type: ignore[arg-type]
    DynamicMetaClassifier("words")  # type: ignore[arg-type]
    transform_in_batches(source, ["a"], "out.npy", method="fit")  # type: ignore[arg-type]
    load("model.skm", trusted=[len])  # type: ignore[list-item]
