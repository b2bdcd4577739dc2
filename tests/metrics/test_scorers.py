import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from sk_metaembed import (
    AverageMetaEmbedding,
    ConcatMetaEmbedding,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    TokenSequences,
    WordVectors,
    metrics,
)
from sk_metaembed.metrics import (
    analogy_score,
    sentence_similarity_score,
    word_similarity_score,
)

make_scorer = metrics.make_unsupervised_scorer
RNG = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(60)]
MEANING = RNG.normal(size=(60, 12))
PAIRS = [(WORDS[i], WORDS[j]) for i, j in RNG.integers(0, 60, size=(150, 2))]


def similarity(pairs):
    rows = np.array([[int(word[1:]) for word in pair] for pair in pairs])
    left, right = MEANING[rows[:, 0]], MEANING[rows[:, 1]]
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return (left * right).sum(axis=1) / norms


GOLD = similarity(PAIRS)
SETS = {"first": (PAIRS[:80], GOLD[:80]), "second": (PAIRS[80:], GOLD[80:])}


def source(columns, shift):
    # Each sees half of the meaning, beside a direction that all its words share.
    values = MEANING[:, columns] + shift * np.ones(6)
    return PretrainedEmbedding(WordVectors.from_arrays(WORDS, values))


@pytest.fixture
def pipeline():
    sources = [("a", source(slice(0, 6), 4.0)), ("b", source(slice(6, 12), -4.0))]
    return Pipeline(
        [("embed", EmbeddingUnion(sources)), ("meta", AverageMetaEmbedding())]
    )


GRID = {
    "meta": [AverageMetaEmbedding(), ConcatMetaEmbedding()],
    "embed__a__preprocess": [None, "center"],
    "embed__b__preprocess": [None, "center"],
}


def fitted_best(search):
    result = search.best_params_
    return (
        type(result["meta"]),
        result["embed__a__preprocess"],
        result["embed__b__preprocess"],
    )


def test_a_search_without_labels_finds_the_planted_best(pipeline):
    scorer = make_scorer(word_similarity_score, (PAIRS, GOLD))
    search = GridSearchCV(pipeline, GRID, scoring=scorer, cv=2)
    search.fit(WORDS)
    assert fitted_best(search) == (ConcatMetaEmbedding, "center", "center")
    assert search.best_score_ > 0.9
    assert search.score(WORDS) == word_similarity_score(
        search.best_estimator_, PAIRS, GOLD
    )


def test_a_search_over_several_metrics_refits_on_their_mean(pipeline):
    scorer = make_scorer(word_similarity_score, SETS, average=False)
    search = GridSearchCV(pipeline, GRID, scoring=scorer, refit="mean", cv=2)
    results = search.fit(TokenSequences.from_lists([w] for w in WORDS)).cv_results_
    np.testing.assert_allclose(
        results["mean_test_mean"],
        (results["mean_test_first"] + results["mean_test_second"]) / 2,
    )
    assert fitted_best(search) == (ConcatMetaEmbedding, "center", "center")


@pytest.mark.parametrize("routing", [False, True])
def test_cross_validation_takes_words_as_X(pipeline, routing):
    scorer = make_scorer(word_similarity_score, SETS)
    with sklearn.config_context(enable_metadata_routing=routing):
        scores = cross_val_score(pipeline, WORDS, scoring=scorer, cv=KFold(4))
        both = cross_validate(pipeline, WORDS, scoring={"w": scorer}, cv=KFold(4))
    expected = [
        word_similarity_score(pipeline.fit(WORDS), *each) for each in SETS.values()
    ]
    np.testing.assert_allclose(scores, np.mean(expected))
    np.testing.assert_array_equal(both["test_w"], scores)


TEXTS = [" ".join(WORDS[i] for i in row) for row in RNG.integers(0, 60, size=(40, 5))]
TEXT_PAIRS = list(zip(TEXTS[:20], TEXTS[20:], strict=True))
TEXT_GOLD = RNG.normal(size=20)


def test_sentence_scorer_separates_its_sets():
    estimator = TfidfVectorizer().fit(TEXTS)
    sets = {
        "a": (TEXT_PAIRS[:7], TEXT_GOLD[:7]),
        "b": {"data": TEXT_PAIRS[7:], "target": TEXT_GOLD[7:]},
    }
    scorer = make_scorer(
        sentence_similarity_score, sets, average=False, correlation="spearman"
    )
    result = scorer(estimator, TEXTS, np.zeros(len(TEXTS)))
    for name, part in (("a", slice(0, 7)), ("b", slice(7, None))):
        assert result[name] == sentence_similarity_score(
            estimator, TEXT_PAIRS[part], TEXT_GOLD[part], correlation="spearman"
        )
    assert result["mean"] == pytest.approx((result["a"] + result["b"]) / 2)


def test_sentence_scorer_reads_ratings_of_frames_and_next_to_labels():
    estimator = TfidfVectorizer().fit(TEXTS)
    labels = ["ENTAILMENT"] * len(TEXT_PAIRS)
    frame = pd.DataFrame(TEXT_PAIRS)
    expected = make_scorer(sentence_similarity_score, (TEXT_PAIRS, TEXT_GOLD))(
        estimator
    )
    for bunch in (
        Bunch(data=frame, target=pd.Series(TEXT_GOLD)),
        Bunch(data=TEXT_PAIRS, target=labels, scores=TEXT_GOLD),
    ):
        assert make_scorer(sentence_similarity_score, bunch)(estimator) == expected


def test_analogy_scorer_checks_its_arguments():
    questions = [tuple(WORDS[:4])]
    with pytest.raises(ValueError, match="missing must be one of"):
        make_scorer(analogy_score, questions, vocabulary=WORDS, missing="drop")
    for vocabulary in ("king", 1000, None):
        with pytest.raises(TypeError, match="vocabulary must be a list of words"):
            make_scorer(analogy_score, questions, vocabulary=vocabulary)


def test_pickle_and_repr_of_a_scorer(pipeline):
    scorer = make_scorer(word_similarity_score, SETS)
    pipeline.steps.append(("pool", Pooling()))
    fitted = pipeline.fit(WORDS)
    assert pickle.loads(pickle.dumps(scorer))(fitted) == scorer(fitted)
    assert repr(scorer).startswith("UnsupervisedScorer(score_func=<function word_sim")
    assert len(repr(scorer)) < 200


def test_invalid_data():
    def refused(error, message, data, score=word_similarity_score, **options):
        with pytest.raises(error, match=f"^make_unsupervised_scorer: {message}"):
            make_scorer(score, data, **options)

    sets = {**SETS, "second": ([("a",)], [1])}
    with pytest.raises(ValueError, match="pairs, row 0: expected 2 words") as caught:
        make_scorer(word_similarity_score, sets)
    assert caught.value.__notes__ == ["The set is 'second'."]
    refused(ValueError, "got 150 pairs and scores of shape", (PAIRS, GOLD[:3]))
    refused(ValueError, "got 150 pairs and scores", {"a": {"data": PAIRS}})
    refused(ValueError, "At least one set", {})
    refused(ValueError, "The name 'mean'", {"mean": SETS["first"]}, average=False)
    refused(ValueError, "missing must be one of", SETS, missing="skip")
    refused(
        ValueError,
        "correlation must be one of",
        (TEXT_PAIRS, TEXT_GOLD),
        sentence_similarity_score,
        correlation="r",
    )
    for single in ("ws353", (PAIRS, GOLD, GOLD), [1, 2]):
        with pytest.raises((TypeError, ValueError)):
            make_scorer(word_similarity_score, single)
