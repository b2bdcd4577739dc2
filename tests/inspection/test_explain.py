"""Contributions are exact where values are sums, and what leaving out changes else."""

from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from sk_metaembed import (
    AverageMetaEmbedding,
    Block,
    CommonComponentRemoval,
    ConcatMetaEmbedding,
    DynamicMetaEmbedding,
    EmbeddedSequences,
    EmbeddingUnion,
    FunctionEmbedding,
    PairEncoder,
    Pooling,
    SequencePairs,
    StackedMetaClassifier,
    StackedMetaRegressor,
    TextMetaEncoder,
    Tokenizer,
    TokenSequences,
    make_text_pipeline,
)
from sk_metaembed.inspection import explain
from sk_metaembed.sequences import EmbeddedInputMixin, SequencesOutputMixin

rng = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(30)]
# Each source lacks some words; "mask" has a vector of zeros.
FIRST = {word: rng.normal(size=5) + 1 for word in WORDS[:24]} | {"mask": np.zeros(5)}
SECOND = {word: rng.normal(size=3) - 1 for word in WORDS[4:]} | {"mask": np.zeros(3)}
TEXTS = [" ".join(rng.choice(WORDS, n)) for n in rng.integers(1, 9, size=60)]
SHOWN = [*TEXTS[:5], "unknown words", "w2, (W2) w28!", ""]
CLASSES = rng.choice(["a", "b", "c"], size=60)
BINARY = np.array([FIRST.get(t.split()[0], [1])[0] > 1 for t in TEXTS])
NUMBERS = rng.normal(size=60)


def first(words):
    return [FIRST.get(word) for word in words]


def second(words):
    return [SECOND.get(word) for word in words]


def is_a(X):
    return (np.asarray(X, dtype=object) == "a").astype(float)


def union():
    return EmbeddingUnion(
        [("first", FunctionEmbedding(first)), ("second", FunctionEmbedding(second))]
    )


def fitted(*steps, y=BINARY, X=TEXTS):
    return make_pipeline(Tokenizer(), union(), *steps).fit(X, y)


def word_sums(explanation):
    rows = explanation.tokens.segment_ids()
    return np.bincount(rows, explanation.words, minlength=len(explanation.values))


def assert_sums(explanation, expected):
    """Check that words and sources sum to values; the last text has no words."""
    total = explanation.base + word_sums(explanation)
    assert_close(total[:-1], expected[:-1])
    assert_close(explanation.base + sum(explanation.sources.values()), expected)


def assert_close(actual, expected, scale=None):
    size = np.abs(expected).max() if scale is None else scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * max(size, 1e-3))


@pytest.mark.parametrize(
    ("steps", "head", "y"),
    [
        ([Pooling()], LogisticRegression(), BINARY),
        ([Pooling(), StandardScaler()], LogisticRegression(), CLASSES),
        (
            [Pooling(weights="idf", add_indicator=True), MinMaxScaler(), PCA(4)],
            SVC(kernel="linear"),
            BINARY,
        ),
        ([Pooling(weights="usif"), CommonComponentRemoval(2)], Ridge(), NUMBERS),
        (
            [ConcatMetaEmbedding(), Pooling(["sum", "dct", "first", "last"])],
            LogisticRegression(),
            BINARY,
        ),
    ],
)
def test_base_and_contributions_sum_to_the_value(steps, head, y):
    pipe = fitted(*steps, clone(head), y=y)
    explanation = explain(pipe, SHOWN, method="exact")
    assert (explanation.word_method, explanation.source_method) == ("exact", "exact")
    predict = getattr(pipe, explanation.output)
    expected = predict(SHOWN)
    if y is NUMBERS:
        assert explanation.targets is None
    else:
        expected = np.abs(expected) if y is BINARY else expected.max(axis=1)
        assert explanation.targets.tolist() == pipe.predict(SHOWN).tolist()
    assert_close(explanation.values, expected)
    scale = np.abs(explanation.words).max() + np.abs(explanation.base).max()
    of_words = explanation.base + word_sums(explanation)
    assert_close(of_words[:-1], expected[:-1], scale)  # the last has no words
    total = explanation.base + sum(explanation.sources.values())
    assert_close(total, expected, scale)


@pytest.mark.parametrize("background", [None, [*TEXTS[:5], None]])
def test_an_indicator_of_missing_texts_is_part_of_the_base(background):
    steps = Tokenizer(missing="empty"), union(), Pooling(add_indicator=True)
    pipe = make_pipeline(*steps, StandardScaler(), Ridge())
    pipe.fit([*TEXTS, *[None] * 20], [*NUMBERS, *[5] * 20])
    shown = [*SHOWN[:-2], None]
    explanation = explain(pipe, shown, background=background, method="exact")
    assert_sums(explanation, pipe.predict(shown))


def shapley_values(game, n):
    """Return the Shapley values of a game over n players, by all their orders."""
    known = cache(game)

    def value(players):
        return known(tuple(sorted(players)))

    orders = list(permutations(range(n)))
    values = np.zeros(n)
    for order in orders:
        for k, player in enumerate(order):
            values[player] += value(order[: k + 1]) - value(order[:k])
    return values / len(orders)


@pytest.mark.parametrize("weights", [None, "idf"])
def test_contributions_are_shapley_values_of_masked_words(weights):
    texts = [*TEXTS, "mask mask"]
    y = [*BINARY, True]
    pipe = fitted(Pooling(weights=weights), LogisticRegression(), X=texts, y=y)
    if weights:  # a masked word must not change the sum of weights
        pipe[2].word_weights_ = dict.fromkeys([*WORDS, "mask"], 1.7)
    words = ["w5", "w9", "w5", "w20", "w11"]

    def game(shown):
        text = " ".join(w if i in shown else "mask" for i, w in enumerate(words))
        return pipe.decision_function([text])[0]

    explanation = explain(pipe, [" ".join(words)], target=True)
    assert_close(explanation.words, shapley_values(game, 5))
    assert_close(explanation.base, game(()))


class Decay(EmbeddedInputMixin, TransformerMixin, BaseEstimator):
    """Third-party pooling: each word counts half as much as the word before it."""

    def fit(self, X, y=None):
        self.dim_ = X.dim
        return self

    def pool_with_weights(self, X):
        offsets = X.tokens.offsets[:-1][X.tokens.segment_ids()]
        decay, rows = 0.5 ** (np.arange(X.tokens.n_tokens) - offsets), []
        parts = [(b, decay * X.broadcast(b, "token").known) for b in X.blocks]
        for block, weights in parts:
            sums = np.zeros((len(X), block.dim))
            weighted = weights[:, None] * X.broadcast(block, "token").values
            np.add.at(sums, X.tokens.segment_ids(), weighted)
            rows.append(sums)
        return np.hstack(rows), parts

    def from_pooled(self, pooled):
        return pooled

    def transform(self, X):
        return self.pool_with_weights(X)[0]


def test_third_party_poolings_are_exact():
    pipe = fitted(Decay(), StandardScaler(), LogisticRegression())
    explanation = explain(pipe, SHOWN, target=True, method="exact")
    assert explanation.word_method == explanation.source_method == "exact"
    assert_sums(explanation, pipe.decision_function(SHOWN))


def test_reference_is_the_training_mean_or_the_background():
    pipe = fitted(Pooling(), StandardScaler(), LogisticRegression())
    pooled = pipe[:3].transform(TEXTS).astype(float)
    slopes = pipe[-1].coef_[0] / pipe[-2].scale_

    def linear_shap(rows, mean):
        return (rows - mean) * slopes

    explanation = explain(pipe, SHOWN, target=True)
    assert_close(explanation.base, np.full(len(SHOWN), pipe[-1].intercept_[0]))
    effects = linear_shap(pipe[:3].transform(SHOWN), pooled.mean(axis=0))
    assert_close(explanation.sources["first"], effects[:, :5].sum(axis=1))
    assert_close(explanation.sources["second"], effects[:, 5:].sum(axis=1))

    some = TEXTS[10:20]
    explanation = explain(pipe, SHOWN, target=True, background=some)
    effects = linear_shap(pipe[:3].transform(SHOWN), pooled[10:20].mean(axis=0))
    assert_close(explanation.sources["first"], effects[:, :5].sum(axis=1))
    base = pipe.decision_function(some).mean()
    assert_close(explanation.base, np.full(len(SHOWN), base))
    assert_sums(explanation, pipe.decision_function(SHOWN))
    left_out = explain(pipe, SHOWN, target=True, background=some, method="occlusion")
    assert_close(left_out.base, explanation.base)


def test_stacked_models_are_exact_if_they_are_linear():
    for y in (BINARY, CLASSES, NUMBERS):
        kind = StackedMetaRegressor if y is NUMBERS else StackedMetaClassifier
        pipe = fitted(kind(tfidf=False, random_state=0, cv=3), y=y)
        explanation = explain(pipe, SHOWN)
        assert explanation.word_method == explanation.source_method == "exact"
        assert set(explanation.sources) == {"first", "second"}
        assert_sums(explanation, explanation.values)
        # The base is that of a text without known words.
        assert_close(explanation.values[-1], explanation.base[-1])
        background = explain(pipe, SHOWN, background=TEXTS)
        total = background.base + sum(background.sources.values())
        assert_close(total, explanation.values)
    forest = RandomForestClassifier(5, random_state=0)
    pipe = fitted(StackedMetaClassifier(forest, tfidf=False, random_state=0, cv=3))
    assert explain(pipe, SHOWN).word_method == "occlusion"
    pipe = fitted(StackedMetaClassifier(random_state=0, cv=3))
    assert explain(pipe, SHOWN).word_method == "occlusion"


def shorter(text):
    """Return the text without each of its words in turn."""
    words = text.split()
    return [" ".join(words[:k] + words[k + 1 :]) for k in range(len(words))]


def left_out(value, text):
    return [value([text])[0] - value([other])[0] for other in shorter(text)]


REGRESSORS = {"poisson", "transformed", "far from zero"}
NOT_LINEAR = {
    "max": [Pooling("max"), LogisticRegression()],
    "forest": [Pooling(), RandomForestClassifier(9, random_state=0)],
    "poisson": [Pooling(), PoissonRegressor()],
    "far from zero": [Pooling(), FunctionTransformer(np.sin), Ridge()],
    "transformed": [
        Pooling(),
        TransformedTargetRegressor(Ridge(), func=np.arcsinh, inverse_func=np.sinh),
    ],
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_words_are_left_out_unless_values_are_sums(name):
    numbers = {"transformed": NUMBERS, "far from zero": NUMBERS + 1e5}
    pipe = fitted(*NOT_LINEAR[name], y=numbers.get(name, BINARY))
    with pytest.raises(ValueError, match="method='exact' requires"):
        explain(pipe, SHOWN, method="exact")
    target = None if name in REGRESSORS else True
    explanation = explain(pipe, TEXTS[:4], target=target)
    assert explanation.word_method == "occlusion"

    def value(texts):
        output = getattr(pipe, explanation.output)(texts)
        return output[:, 1] if output.ndim == 2 else output

    expected = np.concatenate([left_out(value, text) for text in TEXTS[:4]])
    assert_close(explanation.words, expected)
    assert_close(explanation.values, value(TEXTS[:4]))
    assert_close(explanation.base, np.repeat(value([""]), 4))


SMALL = {"projection_dim": 3, "encoder": "mean", "max_epochs": 1, "random_state": 0}
MIXING = [AverageMetaEmbedding(), DynamicMetaEmbedding(**SMALL)]


@pytest.mark.parametrize("meta", MIXING)
def test_sources_are_left_out_where_a_step_mixes_them(meta):
    pipe = fitted(meta, Pooling(), StandardScaler(), LogisticRegression())
    explanation = explain(pipe, SHOWN, target=True)
    assert explanation.word_method == "exact"
    assert explanation.source_method == "occlusion"
    total = explanation.base + word_sums(explanation)
    assert_close(total[:-1], explanation.values[:-1])
    embedded = pipe[:2].transform(SHOWN)
    n_types = embedded.tokens.n_types
    hidden = Block("second", np.zeros((n_types, 3)), "type", np.zeros(n_types))
    embedded = embedded.with_blocks([embedded.block("first"), hidden])
    without = pipe[2:].decision_function(embedded)
    assert_close(explanation.sources["second"], pipe.decision_function(SHOWN) - without)


class Unlearned(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    """A source that learns nothing."""

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True


class Lengths(Unlearned):
    """A source of two blocks: the length of each word, and its square."""

    def transform(self, X):
        tokens = Tokenizer().transform(X)
        lengths = np.array([[float(len(word))] for word in tokens.types])
        blocks = [Block("n", lengths, "type"), Block("square", lengths**2, "type")]
        return EmbeddedSequences(tokens, blocks)


def test_all_blocks_of_a_source_are_left_out():
    """The contributions of a source are what hiding it in the union changes."""
    both = EmbeddingUnion([("first", FunctionEmbedding(first)), ("long", Lengths())])
    pipe = make_pipeline(Tokenizer(), both, Pooling(), SVC()).fit(TEXTS, CLASSES)
    explanation = explain(pipe, SHOWN, method="occlusion", target="b")
    values, pooled = pipe.decision_function(SHOWN)[:, 1], pipe[:-1].transform(SHOWN)
    assert_close(explanation.values, values)
    for name, hidden in (("first", slice(0, 5)), ("long", slice(5, 7))):
        without = pooled.copy()
        without[:, hidden] = 0
        effect = values - pipe[-1].decision_function(without)[:, 1]
        assert_close(explanation.sources[name], effect)


def test_searches_are_explained_by_their_best_estimator():
    pipe = make_pipeline(Tokenizer(), union(), Pooling(), LogisticRegression())
    search = GridSearchCV(pipe, {"logisticregression__C": [1, 2]}, cv=2)
    with pytest.raises(NotFittedError):
        explain(search, SHOWN)
    search.fit(TEXTS, BINARY)
    actual, expected = explain(search, SHOWN), explain(search.best_estimator_, SHOWN)
    assert actual.words.tolist() == expected.words.tolist()
    search = clone(search).set_params(refit=False).fit(TEXTS, BINARY)
    with pytest.raises(NotFittedError, match="refit"):
        explain(search, SHOWN)
    # A search may also be a step.
    head = GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2)
    assert explain(fitted(Pooling(), head), SHOWN).word_method == "exact"


def test_any_text_classifier_is_explained():
    pipe = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, BINARY)
    explanation = explain(pipe, TEXTS[:3], target=True)
    assert (explanation.sources, explanation.source_method) == ({}, None)
    expected = [left_out(pipe.decision_function, text) for text in TEXTS[:3]]
    assert_close(explanation.words, np.concatenate(expected))
    both = FeatureUnion([("x", clone(pipe[0])), ("y", fitted(Pooling())[:3])])
    pipe = make_pipeline(both, LogisticRegression()).fit(TEXTS, BINARY)
    explanation = explain(pipe, TEXTS[:3])
    assert list(explanation.sources) == ["first", "second"]
    assert explanation.source_method == "occlusion"


def test_input_may_be_tokens_vectors_or_missing():
    pipe = fitted(Pooling("max"), LogisticRegression())
    expected = explain(pipe, TEXTS[:4])
    lists = [text.split() for text in TEXTS[:4]]
    series = pd.Series(TEXTS[:4], index=[3, 3, 1, 0])
    for X in (lists, TokenSequences.from_lists(lists), series, np.array(TEXTS[:4])):
        assert_close(explain(pipe, X).words, expected.words)
    embedded = pipe[:2].transform(TEXTS[:4])
    at_tokens = [embedded.broadcast(b, "token") for b in embedded.blocks]
    for X in (embedded, embedded.with_blocks(at_tokens)):
        explanation = explain(pipe[2:], X, method="occlusion")
        assert_close(explanation.words, expected.words)
        assert list(explanation.sources) == ["first", "second"]
    pipe = make_pipeline(Tokenizer(missing="empty"), *(s for _, s in pipe.steps[1:]))
    explanation = explain(pipe.fit(TEXTS, BINARY), ["w1 w2", None])
    assert explanation.tokens.lengths.tolist() == [2, 0]


class WrittenLength(Unlearned):
    """A source at token level that reads the original texts."""

    def transform(self, X):
        tokens = Tokenizer().transform(X)
        lengths = np.array([len(text) for text in tokens.texts])
        values = lengths[tokens.segment_ids(), None] * [[1.0, 0.5]]
        return EmbeddedSequences(tokens, [Block("length", values, "token")])


def test_original_texts_lack_the_word_too():
    pipe = make_pipeline(Tokenizer(), WrittenLength(), Pooling(), Ridge(0.1))
    texts = ["The film!", "a  b (cde)", "x"] * 5
    pipe.fit(texts, np.arange(15.0))
    text = "Oh, good film."
    explanation = explain(pipe, [text], method="occlusion")
    others = [", good film.", "Oh, film.", "Oh, good ."]
    assert_close(explanation.words, pipe.predict([text]) - pipe.predict(others))


def table():
    frame = {"remarks": TEXTS, "n": NUMBERS, "kind": CLASSES}
    return pd.DataFrame(frame, index=np.arange(100, 160))


def table_pipeline():
    text = Pipeline([("t", Tokenizer(missing="empty")), ("u", union())])
    columns = ColumnTransformer(
        [
            ("text", make_pipeline(text, Pooling()), "remarks"),
            ("n", StandardScaler(), ["n"]),
            ("kind", FunctionTransformer(is_a), ["kind"]),
        ]
    )
    return make_pipeline(columns, RandomForestClassifier(9, random_state=0))


def test_columns_of_arrow_tables():
    pa = pytest.importorskip("pyarrow")
    frame = table()[["remarks", "kind"]]
    pipe = make_pipeline(TextMetaEncoder(n_components=2), LogisticRegression())
    pipe.fit(frame, BINARY)
    expected, found = (
        explain(pipe, kind(frame[:3]), column="remarks", background=kind(frame[9:12]))
        for kind in (pd.DataFrame, pa.Table.from_pandas)
    )
    np.testing.assert_array_equal(found.columns["kind"], expected.columns["kind"])


def test_words_and_columns_of_tables():
    frame = table()
    pipe = table_pipeline().fit(frame, BINARY)
    explanation = explain(pipe, frame[:3], column="remarks", target=True)
    assert explanation.columns == {}

    def value(row, **changes):
        return pipe.predict_proba(frame.iloc[[row]].assign(**changes))[0, 1]

    expected = [
        value(i) - value(i, remarks=other)
        for i in range(3)
        for other in shorter(TEXTS[i])
    ]
    assert_close(explanation.words, np.array(expected))
    assert_close(explanation.base, np.array([value(i, remarks="") for i in range(3)]))
    assert list(explanation.sources) == ["first", "second"]

    others = frame[20:24]
    options = {"column": "remarks", "target": True}
    explanation = explain(pipe, frame[:3], **options, background=others)
    assert list(explanation.columns) == ["remarks", "n", "kind"]
    expected = [
        value(i) - np.mean([value(i, n=NUMBERS[j]) for j in range(20, 24)])
        for i in range(3)
    ]
    assert_close(explanation.columns["n"], np.array(expected))
    assert_close(explanation.base, pipe.predict_proba(others)[:, [1, 1, 1]].mean(0))
    pd.testing.assert_frame_equal(frame, table())
    with pytest.raises(ValueError, match="is a table of shape"):
        explain(pipe, frame[:3])


def test_missing_texts_are_empty_if_the_estimator_accepts_them():
    pipe = make_text_pipeline(random_state=0).fit([*TEXTS, None], [*BINARY, True])
    X = pd.Series([TEXTS[0], None, np.nan], dtype=object)
    explanation = explain(pipe, X, target=True)
    assert explanation.tokens.lengths[1:].tolist() == [0, 0]
    assert_close(explanation.values, pipe.decision_function(X))
    assert_close(explanation.base, np.repeat(pipe.decision_function([""]), 3))
    assert explanation.source_method is None
    pipe = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, BINARY)
    with pytest.raises(TypeError, match=r"row 1 is missing \(None\).*replace it by"):
        explain(pipe, ["w1", None])


def test_unknown_columns_are_refused_with_the_known_ones():
    frame = table()
    pipe = table_pipeline().fit(frame, BINARY)
    with pytest.raises(ValueError, match=r"column='foo' is not one of .*'n', 'kind'\]"):
        explain(pipe, frame[:3], column="foo")
    for X in (TEXTS, frame.to_numpy()):
        with pytest.raises(ValueError, match="column='text' is for data frames"):
            explain(pipe, X, column="text")


def test_target_chooses_the_class():
    pipe = fitted(Pooling(), LogisticRegression(), y=CLASSES)
    values = pipe.decision_function(SHOWN)
    for i, name in enumerate("abc"):
        explanation = explain(pipe, SHOWN, target=name)
        assert_close(explanation.values, values[:, i])
        assert set(explanation.targets) == {name}
    pipe = fitted(Pooling(), LogisticRegression())
    yes, no = (explain(pipe, SHOWN, target=target) for target in (True, False))
    assert_close(yes.words, -no.words)
    assert_close(yes.values, pipe.decision_function(SHOWN))


def test_errors_name_the_remedy():
    classes = fitted(Pooling(), LogisticRegression(), y=CLASSES)

    def fails(error, match, pipe=classes, X=SHOWN, **options):
        with pytest.raises(error, match=match):
            explain(pipe, X, **options)

    fails(ValueError, r"'d' is not one of the classes \['a', 'b'", target="d")
    fails(ValueError, "method must be one of", method="shap")
    fails(ValueError, "0 sample", X=[])
    fails(ValueError, "background has no rows. Pass some", background=[])
    fails(TypeError, "single", X="one text")
    fails(TypeError, "classifier or regressor", classes[:3])
    pairs = SequencePairs(Tokenizer().transform(["a", "b"]))
    fails(TypeError, "got SequencePairs", X=pairs)
    numbers = fitted(Pooling(), Ridge(), y=NUMBERS)
    fails(ValueError, "predicts numbers", numbers, target=1)
    several = fitted(Pooling(), Ridge(), y=np.c_[NUMBERS, NUMBERS])
    fails(ValueError, "one target at a time", several)
    pairwise = SVC(kernel="linear", decision_function_shape="ovo")
    pairwise = fitted(Pooling(), pairwise, y=CLASSES)
    fails(ValueError, "one per pair of classes", pairwise)
    frame = pd.DataFrame({"words": [["a", "b"], ["c"]]})
    fails(TypeError, "not token lists", X=frame, column="words")


def test_estimator_is_not_changed():
    pipe = fitted(AverageMetaEmbedding(), Pooling("max"), LogisticRegression())
    steps, names = list(pipe.steps), dict(pipe.named_steps)
    expected = pipe.decision_function(SHOWN)
    explain(pipe, SHOWN)
    assert pipe.steps == steps
    assert dict(pipe.named_steps) == names
    np.testing.assert_array_equal(pipe.decision_function(SHOWN), expected)


def test_one_side_of_pairs_is_a_column():
    pairs = pd.DataFrame({"first": TEXTS, "second": TEXTS[::-1]})
    encoder = make_pipeline(Tokenizer(missing="empty"), union(), Pooling())
    pipe = make_pipeline(PairEncoder(encoder), LogisticRegression()).fit(pairs, BINARY)
    explanation = explain(pipe, pairs[:2], column="second", target=True)
    for i in range(2):
        row, text = pairs[i : i + 1], pairs["second"][i]
        others = pd.concat([row.assign(second=other) for other in shorter(text)])
        expected = pipe.decision_function(row) - pipe.decision_function(others)
        own = explanation.tokens.segment_ids() == i
        assert_close(explanation.words[own], expected)


class Sizes(ClassifierMixin, BaseEstimator):
    """Gives each text its number of words, and lists how many it got at once."""

    def __init__(self, calls=None):
        self.calls = calls

    def fit(self, X, y=None):
        self.classes_, self.fitted_ = np.array([0, 1]), True
        return self

    def decision_function(self, X):
        texts = X["t"].tolist() if hasattr(X, "columns") else X
        lengths = np.array([len(text.split()) for text in texts])
        self.calls.append(int(lengths.sum()))
        return lengths.astype(float)

    predict = decision_function


def many_words(n):
    return " ".join(f"w{i % 7}" for i in range(n))


@pytest.mark.parametrize("kind", ["texts", "tokens", "vectors", "columns"])
def test_long_texts_are_explained_in_parts(kind, monkeypatch):
    """All texts without a word are together as long as the square of the text."""
    X = [many_words(n) for n in (20, 0, 3, 60, 1)]
    options = {"method": "occlusion", "target": True}
    if kind == "texts":
        pipe = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, BINARY)
    elif kind == "columns":
        X = table().iloc[:5].assign(remarks=X)
        options |= {"column": "remarks", "background": table().iloc[9:13]}
        pipe = table_pipeline().fit(table(), BINARY)
    else:
        embed, rest = make_pipeline(Tokenizer(), union()), [Pooling("max")]
        pipe = make_pipeline(embed, *rest, LogisticRegression()).fit(TEXTS, BINARY)
        if kind == "vectors":
            X, pipe = pipe[0].transform(X), pipe[1:]
    together = explain(pipe, X, **options)
    monkeypatch.setattr("sk_metaembed.inspection._explain._TOKENS_AT_ONCE", 50)
    found = explain(pipe, X, **options)
    assert_close(found.words, together.words)
    assert_close(found.base, together.base)
    assert found.columns.keys() == together.columns.keys()
    for name, values in found.columns.items():
        assert_close(values, together.columns[name])


@pytest.mark.parametrize("column", [None, "t"])
def test_the_texts_that_are_predicted_together_are_limited(column):
    """A text of 2,000 words has 4 million words in its variants."""
    calls = []
    X = [many_words(2000), "a b"] * 2
    X = X if column is None else pd.DataFrame({"t": X})
    explanation = explain(Sizes(calls).fit(X), X, column=column, target=1)
    assert explanation.words.tolist() == [1.0] * 4004
    assert max(calls) <= 1 << 18
    assert sum(calls) >= 2000 * 1999
