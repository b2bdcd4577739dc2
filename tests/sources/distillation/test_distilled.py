"""DistilledEmbedding: the regression, its features, and when the teacher is used."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sk_metaembed
from sk_metaembed import (
    DistilledEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    LSAEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
)

WORDS = [
    *("good", "bad", "dull", "witty", "not", "very", "a", "film", "plot", "the"),
    *("and", "cast", "slow", "café", "東京"),
]
VECTORS = np.random.default_rng(7).normal(size=(len(WORDS), 6))
ROWS = dict(zip(WORDS, VECTORS, strict=True))


def texts(n_rows=150, seed=0, words=WORDS):
    """Return rows of two to eleven words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, rng.integers(2, 12))) for _ in range(n_rows)]


def mean_vectors(strings):
    """Return the mean vectors of texts; words may be unknown."""
    return [np.mean([ROWS.get(w, np.zeros(6)) for w in s.split()], 0) for s in strings]


class Teacher(TransformerMixin, BaseEstimator):
    """Mean word vectors; counts its calls."""

    calls = 0

    def fit(self, X, y=None):
        self.y_ = y
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        type(self).calls += 1
        return np.array(mean_vectors([" ".join(row) for row in X.to_list()]))


def teacher():
    return FunctionEmbedding(mean_vectors, level="sequence", as_text=True)


def words_of(*words):
    """Return a pipeline to mean vectors of some words, as `base`."""
    store = WordVectors.from_arrays(list(words), [ROWS[word] for word in words])
    return make_pipeline(PretrainedEmbedding(store), Pooling())


def vectors(student, X):
    return student.transform(X).block("distilled").values


@pytest.mark.parametrize("length", [1, 3])
def test_the_student_is_ridge_regression_on_features_of_scikit_learn(length):
    X, new = texts(), [*texts(40, seed=1), "zyxwv good zyxwv film", ""]
    student = DistilledEmbedding(teacher(), max_ngram=length, alpha=0.7).fit(X)
    words = {"sublinear_tf": True, "token_pattern": r"\w+"}
    features = TfidfVectorizer(ngram_range=(1, length), **words).fit(X)
    targets = np.array(mean_vectors(X))
    mean = targets.mean(axis=0)
    ridge = Ridge(0.7, fit_intercept=False).fit(features.transform(X), targets - mean)
    expected = ridge.predict(features.transform(new)) + mean
    expected[-1] = 0  # no words
    np.testing.assert_allclose(vectors(student, new), expected, atol=1e-4)


def test_components_of_the_teacher_beyond_its_rank_are_zeros():
    def twice(rows):
        return np.tile(rows, 2).astype(np.float32)

    reduced = make_pipeline(Teacher(), FunctionTransformer(twice), PCA(10))
    student = DistilledEmbedding(reduced, unlabeled=texts(20, seed=1)).fit(texts())
    sizes = abs(vectors(student, texts(40, seed=2))).max(axis=0)
    assert (sizes > 0).tolist() == [True] * 6 + [False] * 4


def test_base_is_regressed_first_and_knows_more_words():
    X = texts(words=WORDS[2:])
    base = words_of(*WORDS)
    alone = DistilledEmbedding(teacher(), random_state=0).fit(X)
    student = DistilledEmbedding(teacher(), base=base, random_state=0).fit(X)
    assert student.cosine_ > alone.cosine_
    new = ["good", "bad"]
    assert alone.transform(new).blocks[0].known.tolist() == [False, False]
    block = student.transform(new).blocks[0]
    assert block.known.all()
    fitted = student.student_
    from_mean = VECTORS[:2] - fitted.base_mean
    from_mean /= np.linalg.norm(from_mean, axis=1, keepdims=True)
    expected = fitted.mean + from_mean @ fitted.base_coefs
    np.testing.assert_allclose(block.values, expected, atol=1e-5)


def test_the_teacher_is_fitted_on_x_alone_and_called_in_fit_alone(monkeypatch):
    seen, X, y = [], texts(20, words=WORDS[2:]), np.arange(20)
    X[3] = ""
    original = Teacher()
    student = DistilledEmbedding(original, unlabeled=["good film", "", "a bad plot"])
    student.fit(X, y)
    assert not vars(original)  # a clone was fitted
    assert student.n_texts_ == 21
    assert "good" in student.student_.ngrams.words
    calls = Teacher.calls
    student.transform(X)
    assert Teacher.calls == calls
    assert not any(isinstance(each, Teacher) and vars(each) for each in vars(student))

    monkeypatch.setattr(Teacher, "fit", lambda self, X, y: seen.append(y) or self)
    clone(student).set_params(unlabeled=[""]).fit(X[:5], [1, 2, 3, 4, 5])
    DistilledEmbedding(FrozenEstimator(original)).fit(X)
    assert seen == [[1, 2, 3, 5]]


def test_unlabeled_texts_that_are_split_in_another_way_are_named():
    unlabeled, tokenizer = ["Good film!"], Tokenizer(lowercase=False)
    student = DistilledEmbedding(teacher(), unlabeled=unlabeled)
    tokens = tokenizer.fit_transform(["A film", "a Plot", "good film"])
    with pytest.warns(UserWarning, match="only one of them has the token 'A'. Pass T"):
        student.fit(tokens)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(student).set_params(unlabeled=tokenizer.transform(unlabeled)).fit(tokens)
        clone(student).fit(Tokenizer().fit_transform(["A film", "a Plot"]))
        clone(student).fit([["A", "film"], ["a", "Plot"]])


def test_texts_without_a_vector_of_the_teacher_are_left_out():
    def some(strings):
        return [
            None if "bad" in s else v
            for s, v in zip(strings, mean_vectors(strings), strict=True)
        ]

    X = texts()
    source = FunctionEmbedding(some, level="sequence", as_text=True)
    student = DistilledEmbedding(source).fit(X)
    good = [text for text in X if "bad" not in text]
    assert student.n_texts_ == len(good)
    np.testing.assert_allclose(
        vectors(student, X),
        vectors(DistilledEmbedding(teacher()).fit(good), X),
        atol=1e-5,
    )


def test_without_known_features_rows_are_zero():
    student = DistilledEmbedding(teacher()).fit(texts())
    block = student.transform(["zyxwv", "", "good"]).block("distilled")
    assert block.known.tolist() == [False, False, True]
    assert not block.values[:2].any()
    assert vectors(student, []).shape == (0, 6)


def test_copies_of_held_out_texts_are_not_learned_from():
    X = [f"u{i} v{i}" for i in range(40)] * 10
    noise = dict(
        zip(X[:40], np.random.default_rng(0).normal(size=(40, 30)), strict=True)
    )
    unlearnable = FunctionEmbedding(
        lambda strings: [noise[s] for s in strings], "sequence", as_text=True
    )
    student = DistilledEmbedding(unlearnable, random_state=0)
    assert abs(student.fit(X).cosine_) < 0.2
    assert student.fit(["u1 v1"] * 40).cosine_ is None


def test_cosine_is_of_texts_that_were_held_out():
    X = texts(400)
    student = DistilledEmbedding(teacher(), alpha=0.1, random_state=0).fit(X)
    assert 0.9 < student.cosine_ < 1
    other = clone(student).set_params(random_state=1).fit(X)
    assert other.cosine_ != student.cosine_
    np.testing.assert_array_equal(other.student_.coefs, student.student_.coefs)
    assert DistilledEmbedding(teacher(), validation_fraction=0).fit(X).cosine_ is None
    assert DistilledEmbedding(teacher()).fit(X[:5]).cosine_ is None


def test_files_leave_the_teacher_out(tmp_path):
    X = texts()
    student = DistilledEmbedding(teacher(), unlabeled=["good film"]).fit(X)
    with warnings.catch_warnings(action="error"):  # a teacher's function needs trust
        sk_metaembed.save(student, tmp_path / "student.skm")
    loaded = sk_metaembed.load(tmp_path / "student.skm")
    assert loaded.teacher is loaded.unlabeled is None
    assert student.teacher is not None
    np.testing.assert_array_equal(vectors(loaded, X), vectors(student, X))
    with pytest.raises(ValueError, match="set_params"):
        loaded.fit(X)
    sk_metaembed.save(DistilledEmbedding(LSAEmbedding(2)), tmp_path / "new.skm")
    assert sk_metaembed.load(tmp_path / "new.skm").fit(X).dims_ == {"distilled": 2}


def test_blocks_of_the_teacher_are_concatenated():
    X = texts()
    both = EmbeddingUnion([("one", teacher()), ("lsa", LSAEmbedding(3))])
    student = DistilledEmbedding(both).fit(X)
    assert student.dims_ == {"distilled": 9}
    one = DistilledEmbedding(teacher()).fit(X)
    np.testing.assert_allclose(vectors(student, X)[:, :6], vectors(one, X), atol=1e-5)


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match="no vector for any of the 2 nonempty texts"):
        DistilledEmbedding(teacher()).fit(["zyxwv", "qqq", ""])


@pytest.mark.parametrize("name", ["teacher", "base"])
def test_steps_that_take_strings_are_told_to_be_wrapped(name):
    options = {"teacher": teacher(), name: make_pipeline(TfidfVectorizer())}
    message = f"{name} Pipeline failed on a TokenSequences: .*as_text=True"
    with pytest.raises(TypeError, match=message):
        DistilledEmbedding(**options).fit(texts(20))
