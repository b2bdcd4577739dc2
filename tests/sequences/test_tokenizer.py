"""Tokenizer: splitting, token lists, and invalid input."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from sk_metaembed import Tokenizer

TEXTS = ["To be, or NOT to be:", "", "that is the question", "  \n\t", "naïve CAFÉ"]


def test_default_splits_into_lowered_words():
    assert Tokenizer().transform(TEXTS).to_list() == [
        ["to", "be", "or", "not", "to", "be"],
        [],
        ["that", "is", "the", "question"],
        [],
        ["naïve", "café"],
    ]


@pytest.mark.parametrize("normalize", ["NFC", "NFD", "NFKC", "NFKD"])
def test_one_accent_however_it_is_typed(normalize):
    tokens = Tokenizer(normalize=normalize).transform(["caf\u00e9", "cafe\u0301"])
    assert tokens.n_types == 1


def test_without_normalisation_spellings_stay_apart():
    tokens = Tokenizer(normalize=None).transform(["caf\u00e9 cafe\u0301"])
    assert tokens[0] == ["caf\u00e9", "cafe\u0301"]


@pytest.mark.parametrize(
    "pattern",
    [r"(?u)\b\w\w+\b", r"\S+", r"[a-z]+", r"#(\w+)", r"\w+(?:['-]\w+)*", r"(?i)[a-z]+"],
)
def test_pattern_finds_what_scikit_learn_finds(pattern):
    texts = ["It's a #well-known FACT, a b #x1", "", "日本語 ça va?"]
    analyse = CountVectorizer(token_pattern=pattern).build_analyzer()
    tokens = Tokenizer(pattern).transform(texts)
    assert tokens.to_list() == [analyse(text) for text in texts]


def test_callable_gets_the_prepared_text():
    seen = []

    def halves(text):
        seen.append(text)
        return tuple(text.split("|"))

    tokens = Tokenizer(tokenizer=halves).transform(["A|E\u0301", ""])
    assert seen == ["a|\u00e9", ""]
    assert tokens.to_list() == [["a", "\u00e9"], [""]]


@pytest.mark.parametrize("collect", [tuple, np.array, pl.Series, iter])
def test_callable_may_return_any_sequence_of_tokens(collect):
    tokenizer = Tokenizer(tokenizer=lambda text: collect(text.split()))
    tokens = tokenizer.fit_transform(["to be", "or"])
    assert tokens.to_list() == [["to", "be"], ["or"]]
    assert set(map(type, tokens.types)) == {str}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("ab", r"returned str for row 1\. It must return the tokens of a text, a list"),
        (None, "returned NoneType for row 1"),
        (np.array([["a", "b"]]), "row 1, token 0 is of type list .*nested"),
        (np.array([1.5]), r"row 1, token 0 is of type float \(1.5\)"),
        (["a", 3], r"row 1, token 1 is of type int \(3\)"),
    ],
)
def test_callable_must_return_tokens(returned, message):
    tokenizer = Tokenizer(tokenizer=lambda text: ["x"] if text == "ok" else returned)
    with pytest.raises(TypeError, match=message):
        tokenizer.transform(["ok", "bad"])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"token_pattern": "("}, "is not a regular expression"),
        ({"token_pattern": r"(a)(b)"}, "has 2 capturing groups"),
        ({"token_pattern": r"\w*"}, "matches the empty string"),
        ({"token_pattern": r"\w+", "tokenizer": str.split}, "are both set"),
        ({"token_pattern": r"\w+", "punctuation": True}, "punctuation=True applies"),
        ({"tokenizer": str.split, "punctuation": True}, "punctuation=True applies"),
    ],
)
def test_bad_parameters(params, message):
    for method in ("fit", "transform"):
        with pytest.raises(ValueError, match=message):
            getattr(Tokenizer(**params), method)(["a"])


def test_token_lists_pass_untouched():
    rows = [["To", "be,"], [], [" ", ""]]
    assert Tokenizer(r"\w+").fit_transform(rows).to_list() == rows


def test_fit_does_not_consume_iterators():
    rows = iter(["a b"])
    assert Tokenizer().fit(rows).transform(rows).to_list() == [["a", "b"]]
    assert Tokenizer().fit_transform(t for t in ["a b"]).to_list() == [["a", "b"]]


def test_parameters_may_change_between_calls():
    step = Tokenizer()
    assert step.transform(["To be."])[0] == ["to", "be"]
    step.set_params(lowercase=False, punctuation=True)
    assert step.transform(["To be."])[0] == ["To", "be", "."]
    step.token_pattern = r"[a-z]+"
    for _ in range(2):
        with pytest.raises(ValueError, match="punctuation=True applies to"):
            step.transform(["To be."])
    step.set_params(punctuation=False, lowercase=1)
    with pytest.raises(ValueError, match="'lowercase' parameter"):
        step.transform(["To be."])
    assert clone(step.set_params(lowercase=True)).transform(["To"])[0] == ["to"]
