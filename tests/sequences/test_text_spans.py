"""Where tokens are in the texts they were split from."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_metaembed import Tokenizer

from ..compiled import compiled_loops

TEXTS = [
    "Don't STOP, it's a 3.5% rise!",
    "",
    "\u0130stanbul caf\u00e9 Cafe\u0301 \u039f\u0394\u039f\u03a3 \ufb01ne",
    "\u1112\u1161\u11ab x \u6771\u4eac \U0001f44d\U0001f3fd!",
]
TOKENIZERS = {
    "words": Tokenizer(),
    "punctuation": Tokenizer(punctuation=True),
    "as written": Tokenizer(lowercase=False, normalize=None),
    "compatibility": Tokenizer(normalize="NFKC"),
    "decomposed": Tokenizer(normalize="NFD"),
    "runs": Tokenizer(r"\S+"),
    "pattern": Tokenizer(r"[A-Za-z]{2}|\d"),
    "group": Tokenizer(r"(\w)\w*"),
    "callable": Tokenizer(tokenizer=str.split),
}


def written(tokens):
    """Return the characters of each token in its text, by sequence."""
    spans = np.split(tokens.spans(), tokens.offsets[1:-1])
    return [
        [text[start:end] for start, end in rows]
        for text, rows in zip(tokens.texts, spans, strict=True)
    ]


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS.keys())
def test_each_token_is_its_prepared_characters(tokenizer):
    tokens = tokenizer.transform(TEXTS)
    assert tokens.texts.tolist() == TEXTS
    # Prepared by themselves, the characters of a token give the token again: more than
    # it only if the token is a part of one character, such as the i of a dotted I.
    prepare = Tokenizer(
        tokenizer=lambda text: [text],
        lowercase=tokenizer.lowercase,
        normalize=tokenizer.normalize,
    )
    for parts, row in zip(written(tokens), tokens, strict=True):
        for part, token in zip(parts, row, strict=True):
            # Lower case of a sigma depends on its neighbors.
            again = prepare.transform([part])[0][0].replace("\u03c3", "\u03c2")
            assert token.replace("\u03c3", "\u03c2") in again
            assert len(again) == len(token) or part == "\u0130"


@given(st.lists(st.text(), max_size=4))
def test_any_text(texts):
    tokens = Tokenizer(punctuation=True).transform(texts)
    spans = np.split(tokens.spans(), tokens.offsets[1:-1]) if texts else []
    for text, rows, words in zip(texts, spans, tokens, strict=True):
        result = rows[rows[:, 0] >= 0]
        assert (result[:, 0] < result[:, 1]).all()
        assert (result[:-1, 0] <= result[1:, 0]).all()
        assert (result <= len(text)).all()
        if text.isascii():
            assert len(result) == len(words)


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS.keys())
@given(st.lists(st.text() | st.sampled_from(TEXTS), min_size=1, max_size=4))
def test_compiled_code_locates_the_same_characters(tokenizer, texts):
    tokens = tokenizer.transform(texts)
    others = tokens._with_words([word.upper() for word in tokens.types])
    for row in (tokens, tokens[1:], others):
        with compiled_loops(False):
            expected = row.spans()
        with compiled_loops(True):
            np.testing.assert_array_equal(row.spans(), expected)


def test_tokens_that_are_not_in_the_text():
    tokenizer = Tokenizer(tokenizer=lambda text: ["<s>", *text.split()])
    tokens = tokenizer.transform(["To be"])
    assert tokens.spans().tolist() == [[-1, -1], [0, 2], [3, 5]]


@pytest.mark.parametrize(
    ("text", "lemmas", "expected"),
    [
        (
            "He was glad because she ran.",
            "he be glad because she run",
            "He glad because she",
        ),
        ("It was good to be here", "it be good to be here", "It good to be here"),
        ("They didn't do it: bad!", "they do n't do it bad", "They n't do it bad"),
        ("This island is his", "island his", "island his"),
    ],
)
def test_a_lemma_does_not_take_the_place_of_a_later_word(text, lemmas, expected):
    (row,) = written(Tokenizer(tokenizer=lambda _: lemmas.split()).transform([text]))
    assert [part for part in row if part] == expected.split()


def test_lemmas_of_long_texts_are_located():
    """Words are matched in parts; the last "be" is far from the others."""
    words = ["so", *(w for i in range(700) for w in ("it", "was", f"w{i}")), "be"]
    for ahead in ([], ["and"], ["and", "then"]):
        text = [*ahead, *words]
        lemmas = ["be" if word == "was" else word for word in text]
        step = Tokenizer(tokenizer=lambda _, lemmas=lemmas: lemmas)
        (row,) = written(step.transform([" ".join(text)]))
        assert [part for part in row if part] == [w for w in text if w != "was"]


def test_tokens_that_overlap():
    def kmers(text):
        return [text[i : i + 3] for i in range(len(text) - 2)]

    tokens = Tokenizer(tokenizer=kmers).transform(["MKVLAKVLM"])
    assert tokens.spans().tolist() == [[i, i + 3] for i in range(7)]


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
@pytest.mark.parametrize(
    "text",
    [
        "\u0995\u09c7\u09be a",  # Bengali: a vowel in two parts
        "\u1025\u102e a",  # Burmese
        "\uff76\uff9e a",  # Japanese in half-width signs
        "\uffa1\uffc2 a",  # Korean, the same
        "\u314b\u3160 a",  # Korean letters that stand alone
    ],
)
def test_characters_that_compose_are_located(form, text):
    tokens = Tokenizer(r"\S+", normalize=form).transform([text])
    assert written(tokens) == [text.split()]


def test_subsets_and_pickles_keep_texts():
    tokens = Tokenizer().transform(TEXTS)
    assert written(tokens[[3, 0]]) == [written(tokens)[3], written(tokens)[0]]
    assert written(pickle.loads(pickle.dumps(tokens))) == written(tokens)
    assert tokens.compact().texts.tolist() == TEXTS
