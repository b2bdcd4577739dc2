"""The model of words in StackedMetaEmbedding, ``tfidf=True``."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline

import sk_metaembed
from sk_metaembed import (
    Block,
    EmbeddedSequences,
    SequencePairs,
    StackedMetaEmbedding,
    TokenSequences,
)
from sk_metaembed._core._arrays import pair_features

LOGISTIC = [0.1, 1.0, 10.0, 100.0, 1000.0]
RIDGE = [100.0, 10.0, 1.0, 0.1, 0.01]


def texts(n=200, seed=0):
    """Return token lists; the order of two adjacent words decides the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    lists = []
    for label in y:
        words = rng.choice([f"word{i}" for i in range(40)], rng.integers(3, 12))
        marker = ["good", "bad"] if label else ["bad", "good"]
        lists.append([*words[:2].tolist(), *marker, *words[2:].tolist()])
    return lists, y


def with_noise(lists, *, pairs=False, seed=0):
    """Return the token lists with a source of noise."""
    noise = np.random.default_rng(seed).normal(size=(len(lists), 4))
    tokens = TokenSequences.from_lists(lists)
    X = EmbeddedSequences(tokens, [Block("noise", noise, "sequence")])
    return SequencePairs(X) if pairs else X


def vectorizer():
    """Return scikit-learn's features of the same words."""
    return TfidfVectorizer(
        sublinear_tf=True,
        tokenizer=list,
        preprocessor=list,
        token_pattern=None,
        ngram_range=(1, 2),
    )


def best_of(models, X, y, cv, method, loss):
    results = [
        cross_val_predict(make_pipeline(vectorizer(), m), X, y, cv=cv, method=method)
        for m in models
    ]
    best = int(np.argmin([loss(y, values) for values in results]))
    return results[best], make_pipeline(vectorizer(), models[best]).fit(X, y)


def test_classes_are_those_of_scikit_learn():
    lists, y = texts()
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    models = [LogisticRegression(C=C, solver="newton-cg") for C in LOGISTIC]
    expected, fitted = best_of(
        models,
        lists,
        y,
        cv,
        "decision_function",
        lambda y, values: log_loss(y, 1 / (1 + np.exp(-values))),
    )
    stacked = StackedMetaEmbedding(tfidf=True, output="sources", random_state=0)
    columns = stacked.fit_transform(with_noise(lists), y)
    names = stacked.get_feature_names_out().tolist()
    assert names == ["noise__1", "tfidf__1"]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(columns[:, 1], expected, atol=1e-3 * scale)
    new, _ = texts(50, seed=1)
    new += [[], ["unknown"], ["unknown", "good", "bad"]]
    values = stacked.transform(with_noise(new))[:, 1]
    expected = fitted.decision_function(new)
    np.testing.assert_allclose(values, expected, atol=1e-3 * scale)


def test_numbers_are_those_of_scikit_learn():
    lists, label = texts()
    y = label + np.array([len(words) for words in lists]) / 10
    cv = KFold(5, shuffle=True, random_state=0)
    models = [Ridge(alpha) for alpha in RIDGE]
    expected, _ = best_of(models, lists, y, cv, "predict", mean_squared_error)
    stacked = StackedMetaEmbedding(tfidf=True, output="sources", random_state=0)
    columns = stacked.fit_transform(with_noise(lists), y)
    np.testing.assert_allclose(columns[:, 1], expected, atol=1e-2)


def test_pairs_have_features_of_both_sides():
    lists, y = texts(120)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    both = lists + lists[::-1]
    stacked = StackedMetaEmbedding(tfidf=True, output="sources", cv=cv)
    stacked.fit(with_noise(both, pairs=True), y)
    model = stacked.estimators_["tfidf"]
    tfidf = vectorizer().fit(both)
    sides = [tfidf.transform(side) for side in (lists, lists[::-1])]
    expected = pair_features(*sides).toarray()
    features = model[0].transform(SequencePairs(TokenSequences.from_lists(both)))
    # Columns are in another order.
    products = [each @ each.T for each in (features.toarray(), expected)]
    np.testing.assert_allclose(*products, atol=1e-5)


def test_words_complement_the_vectors():
    lists, y = texts(400)
    X = with_noise(lists)
    train, test = np.arange(200), np.arange(200, 400)
    scores = {}
    for tfidf in (False, True):
        model = make_pipeline(
            StackedMetaEmbedding(tfidf=tfidf, random_state=0), LogisticRegression()
        )
        scores[tfidf] = model.fit(X[train], y[train]).score(X[test], y[test])
    assert scores[False] < 0.65
    assert scores[True] > 0.95
    weights = model[0].weights_
    assert weights["tfidf"] > 0.5 > weights["noise"]


def test_useless_words_do_no_harm():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    signal = y[:, None] * 4 + rng.normal(size=(300, 3))
    words = rng.choice([f"word{i}" for i in range(200)], (300, 8)).tolist()
    X = EmbeddedSequences(
        TokenSequences.from_lists(words), [Block("signal", signal, "sequence")]
    )
    stacked = StackedMetaEmbedding(tfidf=True, random_state=0).fit(X[:200], y[:200])
    right = (stacked.transform(X[200:])[:, 0] > 0) == y[200:]
    assert right.mean() > 0.95
    assert stacked.weights_["tfidf"] < 0.2 * stacked.weights_["signal"]


def test_other_estimators_read_the_vectors_alone():
    lists, y = texts()
    stacked = StackedMetaEmbedding(Ridge(), tfidf=True, cv=3, random_state=0)
    stacked.fit(with_noise(lists), y.astype(float))
    assert isinstance(stacked.estimators_["noise"], Ridge)
    assert stacked.estimators_["tfidf"][0].ngrams_.words["good"] >= 0


def test_order_of_models_with_several_sources():
    lists, y = texts(60)
    X = with_noise(lists)
    X = X.with_blocks([X.blocks[0], X.blocks[0].rename("again")])
    stacked = StackedMetaEmbedding(tfidf=True, random_state=0, n_jobs=2).fit(X, y)
    assert [*stacked.weights_] == ["noise", "again", "concat", "tfidf"]
    alone = StackedMetaEmbedding(tfidf=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(stacked.transform(X), alone.transform(X))


def test_saved_models_predict_the_same(tmp_path):
    lists, y = texts(60)
    X = with_noise(lists)
    stacked = StackedMetaEmbedding(tfidf=True, random_state=0).fit(X, y)
    sk_metaembed.save(stacked, tmp_path / "stacked.skm")
    loaded = sk_metaembed.load(tmp_path / "stacked.skm")
    np.testing.assert_array_equal(loaded.transform(X), stacked.transform(X))


def test_grid_search_with_and_without():
    lists, y = texts(100)
    model = make_pipeline(
        StackedMetaEmbedding(cv=3, random_state=0), LogisticRegression()
    )
    grid = {"stackedmetaembedding__tfidf": [False, True]}
    search = GridSearchCV(model, grid, cv=2).fit(with_noise(lists), y)
    assert search.best_params_ == {"stackedmetaembedding__tfidf": True}


def test_errors():
    X = with_noise([["a"], []] * 10)
    y = np.arange(20) % 2
    renamed = X.with_blocks([X.blocks[0].rename("tfidf")])
    with pytest.raises(ValueError, match=r"named 'tfidf'.*or set tfidf=False"):
        StackedMetaEmbedding(tfidf=True).fit(renamed, y)
    assert [*StackedMetaEmbedding(cv=2).fit(renamed, y).weights_] == ["tfidf"]
    with pytest.raises(ValueError, match=r"all sequences are empty. Set tfidf=False"):
        StackedMetaEmbedding(tfidf=True).fit(X[1::2], y[:10])


def test_training_rows_of_a_fold_may_have_no_words():
    lists = [[] for _ in range(60)]
    lists[7] = ["only"]
    y = np.arange(60) % 2
    noise = np.random.default_rng(0).normal(size=(60, 4)) + 3 * y[:, None]
    for pairs in (False, True):
        X = with_noise(lists + lists if pairs else lists)
        X = X.with_blocks([Block("signal", np.tile(noise, (1 + pairs, 1)), "sequence")])
        X = SequencePairs(X) if pairs else X
        stacked = StackedMetaEmbedding(tfidf=True, cv=2, random_state=0)
        assert np.isfinite(stacked.fit_transform(X, y)).all()
        assert stacked.scores_["signal"] > 0.9


def test_the_penalty_is_chosen_on_a_large_first_fold():
    lists, y = texts(2200)
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    stacked = StackedMetaEmbedding(tfidf=True, output="sources", cv=cv)
    columns = stacked.fit_transform(with_noise(lists), y)
    train, test = next(cv.split(np.zeros(len(y)), y))
    losses = {}
    for C in LOGISTIC:
        model = make_pipeline(
            vectorizer(), LogisticRegression(C=C, solver="newton-cg")
        ).fit([lists[i] for i in train], y[train])
        values = model.predict_proba([lists[i] for i in test])
        losses[C] = log_loss(y[test], values)
        if C == stacked.estimators_["tfidf"][1].C:
            expected = model.decision_function([lists[i] for i in test])
    assert min(losses, key=losses.get) == stacked.estimators_["tfidf"][1].C
    scale = np.abs(expected).max()
    np.testing.assert_allclose(columns[test, 1], expected, atol=1e-3 * scale)


def test_weights_and_groups_reach_the_model_of_words():
    lists, y = texts(120)
    X, weights = with_noise(lists), np.where(np.arange(120) < 60, 1.0, 0.0)
    flipped = np.where(weights > 0, y, 1 - y)
    stacked = StackedMetaEmbedding(tfidf=True, cv=3, random_state=0)
    stacked.fit(X, flipped, sample_weight=weights)
    assert stacked.scores_["tfidf"] > 0.85  # of rows with a weight
    copies = np.repeat(np.arange(60), 2)
    random = np.repeat(np.random.default_rng(0).integers(0, 2, 60), 2)
    marked = [[f"text{i}"] for i in copies]
    model = StackedMetaEmbedding(tfidf=True, cv=3, random_state=0)
    assert model.fit(with_noise(marked), random).scores_["tfidf"] > 0.75
    model.fit(with_noise(marked), random, groups=copies)
    assert model.scores_["tfidf"] < 0.65
