"""Texts may be normalized; tokens are kept as they are, in every step."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import sk_metaembed as sk
from sk_metaembed.inspection import compare_sources

TINY = {"vector_size": 8, "min_count": 1, "epochs": 30, "random_state": 0}
# In each line, tokens differ in case alone, or in Unicode form alone.
ALIKE = [
    *("C", "c"),
    *("Event", "event"),
    *("\u212a", "K"),  # NFC of the first is the second
    *("e\u0301", "\u00e9"),
]


def rows_of(tokens, n):
    """Return rows of which one token tells the class, and the classes."""
    rng = np.random.RandomState(0)
    y = np.arange(n) % len(tokens)
    return [[*rng.choice(["x", "y", "z"], 3).tolist(), tokens[k]] for k in y], y


def constant():
    return sk.FunctionEmbedding(lambda words: np.ones((len(words), 1)))


def net():
    return sk.DynamicMetaClassifier(max_epochs=1, random_state=0)


MODELS = {
    "text pipeline": sk.make_text_pipeline,
    "words and vectors": lambda: make_pipeline(
        sk.Word2VecEmbedding(**TINY), sk.StackedMetaClassifier(cv=2, random_state=0)
    ),
    "lsa": lambda: make_pipeline(
        sk.Tokenizer(), sk.LSAEmbedding(12), sk.Pooling(), LogisticRegression(C=100)
    ),
    "word2vec": lambda: make_pipeline(
        sk.Word2VecEmbedding(**TINY), sk.Pooling("last"), LogisticRegression(C=1e4)
    ),
    "linear model beside a network": lambda: make_pipeline(constant(), net()),
}


@pytest.mark.parametrize("name", MODELS)
def test_tokens_that_differ_in_case_or_unicode_form_are_different(name):
    rows, y = rows_of(ALIKE, 96)
    model = MODELS[name]().fit(rows, y)
    new, classes = rows_of(ALIKE, 16)
    assert model.score(new, classes) == 1


def test_tokens_of_a_function_keep_their_case_in_texts_of_words():
    rows, y = rows_of(["C", "c"], 40)
    texts = ["".join(row) for row in rows]
    atoms = sk.Tokenizer(tokenizer=list, lowercase=False)
    model = make_pipeline(atoms, sk.StackedMetaClassifier(random_state=0))
    assert model.fit(texts, y).score(texts, y) == 1


def test_words_of_texts_are_counted_without_case():
    lower = ["tea is good", "milk is bad", "good tea", "bad milk"] * 5
    y = [1, 0, 1, 0] * 5
    upper = [text.title() for text in lower]
    cased = sk.Tokenizer(lowercase=False)
    model = make_pipeline(cased, sk.StackedMetaClassifier(random_state=0, cv=2))
    expected = clone(model).fit(lower, y).predict_proba(lower)
    model.fit(upper, y)
    np.testing.assert_allclose(model.predict_proba(upper), expected, rtol=1e-6)
    # What is learned in fit holds for token lists, too.
    lists = [text.split() for text in upper]
    np.testing.assert_allclose(model.predict_proba(lists), expected, rtol=1e-6)


def test_candidates_of_compare_sources_keep_tokens():
    rows, y = rows_of(["C", "c"], 40)
    found = compare_sources([constant()], rows, y, cv=2, random_state=0).frame()
    assert found.set_index("sources")["score"][["TF-IDF", "stack"]].tolist() == [1, 1]
