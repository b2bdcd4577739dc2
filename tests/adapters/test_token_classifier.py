"""TokenClassifier: features by hand, weights, searches, and invalid input."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    EmbeddingUnion,
    FunctionEmbedding,
    SequencePairs,
    TokenClassifier,
    TokenSequences,
)
from sk_metaembed.metrics import span_f1_score

from ..levels import LEVELS, embed

ROWS = [["in", "New", "York"], [], ["Ada"], ["York", "in", "Ada", "new"], ["new", "in"]]
TAGS = [
    ["O", "B-place", "I-place"],
    [],
    ["B-person"],
    ["B-place", "O", "B-person", "O"],
    ["O", "O"],
]


def embedded(rows=ROWS, levels=LEVELS):
    return embed(rows, levels)


def by_hand(X, window):
    """Return features of tokens, one token and one neighbor at a time."""
    features = []
    for row in range(len(X)):
        part = X[[row]]
        blocks = [part.broadcast(block, "token") for block in part.blocks]
        for i in range(part.tokens.n_tokens):
            cells = []
            for j in range(i - window, i + window + 1):
                there = 0 <= j < part.tokens.n_tokens
                for b in blocks:
                    cells += list(b.values[j]) if there else [0.0] * b.dim
            features.append(cells)
    return np.array(features, dtype=np.float32)


class Recording(ClassifierMixin, BaseEstimator):
    """Record the input."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.sample_weight_ = X, y, sample_weight
        self.classes_ = np.unique(y.astype(str))
        self.seen_ = []
        return self

    def predict(self, X):
        self.seen_.append(X)
        return self.classes_[(X.sum(axis=1) > 0).astype(int)]


@pytest.mark.parametrize(
    ("levels", "window"),
    [(("type",), 0), (("token", "type"), 1), (("type", "token", "sequence"), 3)],
)
def test_features_are_those_made_by_hand(levels, window):
    X = embedded(levels=levels)
    tagger = TokenClassifier(Recording(), window=window)
    tagger.fit(X, TAGS)
    expected = by_hand(X, window)
    np.testing.assert_array_equal(tagger.estimator_.X_, expected)
    assert tagger.estimator_.X_.dtype == np.float32
    assert tagger.estimator_.y_.tolist() == [tag for row in TAGS for tag in row]
    result = Recording().fit(expected, tagger.estimator_.y_).predict(expected)
    assert [tag for row in tagger.predict(X) for tag in row] == result.tolist()


def test_a_word_is_predicted_once_where_its_vector_is_all_there_is():
    X = embedded(levels=("type",))[[0, 3, 4]]
    tagger = TokenClassifier(Recording()).fit(X, [TAGS[i] for i in (0, 3, 4)])
    tagger.predict(X)
    assert [len(seen) for seen in tagger.estimator_.seen_] == [5]
    tagger.set_params(window=1).fit(X, [TAGS[i] for i in (0, 3, 4)]).predict(X)
    assert [len(seen) for seen in tagger.estimator_.seen_] == [9]


def test_results_have_the_shapes_of_the_sentences():
    X = embedded()
    tagger = TokenClassifier(LogisticRegression(C=100), window=1).fit(X, TAGS)
    assert tagger.predict(X).tolist() == TAGS
    assert tagger.score(X, TAGS) == 1.0
    shapes = [array.shape for array in tagger.predict_proba(X)]
    assert shapes == [(len(row), 4) for row in ROWS]
    for nothing in (X[:0], X[[1, 1]]):
        assert tagger.predict(nothing).tolist() == [[]] * len(nothing)
        shapes = [array.shape for array in tagger.predict_proba(nothing)]
        assert shapes == [(0, 4)] * len(nothing)
        assert tagger.score(nothing, [[]] * len(nothing)) == 1.0


def test_a_weight_is_a_copy():
    X = embedded()
    weights = np.array([2, 1, 0, 1, 3])
    copies = np.repeat(np.arange(5), weights)
    tagger = TokenClassifier(LogisticRegression(tol=1e-6), window=1)
    weighted = tagger.fit(X, TAGS, sample_weight=weights).predict_proba(X)
    copied = tagger.fit(X[copies], [TAGS[i] for i in copies]).predict_proba(X)
    for one, other in zip(weighted, copied, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2)
    score = tagger.score(X, TAGS, sample_weight=weights)
    assert score == tagger.score(X[copies], [TAGS[i] for i in copies])


def test_weights_reach_the_last_step_of_a_pipeline_or_are_refused():
    X, weights = embedded(), [2.0, 1.0, 1.0, 0.0, 3.0]
    inside = make_pipeline(StandardScaler(), make_pipeline(Recording()))
    tagger = TokenClassifier(inside).fit(X, TAGS, sample_weight=weights)
    given = tagger.estimator_[-1][-1].sample_weight_
    # Sentences of weight 0 are absent.
    assert given.tolist() == [2.0] * 3 + [1.0] + [3.0] * 2
    refusing = KNeighborsClassifier()
    for model in refusing, make_pipeline(StandardScaler(), make_pipeline(refusing)):
        with pytest.raises(ValueError, match="KNeighborsClassifier does not support"):
            TokenClassifier(model).fit(X, TAGS, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        tagger = TokenClassifier(Recording()).set_fit_request(sample_weight=True)
        pipe = make_pipeline(tagger).fit(X, TAGS, sample_weight=weights)
        assert pipe[-1].estimator_.sample_weight_ is not None


def spelling(words):
    return np.array([[w[0].isupper(), len(w), w.count("e")] for w in words], float)


def in_context(sequences):
    return [[(place, len(row)) for place in range(len(row))] for row in sequences]


def test_it_ends_a_pipeline_that_is_searched():
    rows, y = ROWS * 6, TAGS * 6
    union = EmbeddingUnion(
        [
            ("spelling", FunctionEmbedding(spelling)),
            ("context", FunctionEmbedding(in_context, level="token")),
        ]
    )
    pipe = make_pipeline(union, TokenClassifier(LogisticRegression(max_iter=500)))
    grid = {
        "tokenclassifier__window": [0, 1],
        "tokenclassifier__estimator__C": [0.1, 100.0],
        "embeddingunion__active": [("spelling",), ("spelling", "context")],
    }
    scorer = make_scorer(span_f1_score, zero_division=0)
    search = GridSearchCV(pipe, grid, scoring=scorer, cv=3, error_score="raise")
    search.fit(TokenSequences.from_lists(rows), y)
    assert search.best_params_["tokenclassifier__estimator__C"] == 100.0
    assert search.best_score_ == 1.0
    best = search.best_estimator_
    assert cross_val_predict(best, rows, y, cv=3).tolist() == y
    scores = cross_val_score(best, rows, np.array([*y, None], dtype=object)[:-1], cv=3)
    assert scores.tolist() == [1.0] * 3
    assert pickle.loads(pickle.dumps(best)).predict(rows).tolist() == y
    assert "TokenClassifier" in best._repr_html_()


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (ROWS, TAGS, TypeError, "TokenClassifier: .* Embedded.*, got list. Put a sou"),
        (
            embedded(),
            [*TAGS[:4], ["O"]],
            ValueError,
            r"row 4 of y has 1 tag .* 2 tokens: \['O'\] for \['new', 'in'\]",
        ),
        (embedded([[], []], ("sequence",)), [[], []], ValueError, "nothing to learn"),
    ],
)
def test_invalid_input_is_refused(X, y, error, message):
    with pytest.raises(error, match=message):
        TokenClassifier(LogisticRegression()).fit(X, y)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (None, [["I-x"] * 3, [], ["I-x"]]),
        ("IOB2", [["B-x", "I-x", "I-x"], [], ["B-x"]]),
        ("IOBES", [["B-x", "I-x", "E-x"], [], ["S-x"]]),
    ],
)
def test_a_scheme_repairs_predictions(scheme, expected):
    model = DummyClassifier(strategy="constant", constant="I-x")
    tagger = TokenClassifier(model, scheme=scheme)
    y = [*expected, ["O"] * 4, ["O"] * 2]
    assert tagger.fit(embedded(), y).predict(embedded()[:3]).tolist() == expected


def test_y_must_follow_the_scheme():
    tagger = TokenClassifier(LogisticRegression(), scheme="IOB2")
    broken = [*TAGS[:3], ["B-place", "O", "I-person", "O"], TAGS[4]]
    with pytest.raises(ValueError, match="row 3 of y, tag 2 is 'I-person'"):
        tagger.fit(embedded(), broken)
    with pytest.raises(ValueError, match="'scheme' parameter"):
        clone(tagger).set_params(scheme="IOB").fit(embedded(), TAGS)
    with pytest.raises(TypeError, match=r"single sequences.*X\.first"):
        tagger.fit(SequencePairs(embedded()[:4]), TAGS[:2])
