"""Compiled splitting against slow and simple definitions, on arbitrary Unicode."""

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_metaembed import Tokenizer, TokenSequences
from sk_metaembed.sequences import _split, _text_scan
from sk_metaembed.sequences._characters import (
    character_classes,
    run_rule,
    word_class,
    word_rule,
)
from sk_metaembed.sequences._split_numba import code_spans

ZWNJ, ZWJ = "\u200c", "\u200d"


def is_word(c):
    return c == "_" or unicodedata.category(c)[0] in "LN"


def is_selector(c):
    name = unicodedata.name(c, "")
    return "VARIATION SELECTOR" in name or "\U000e0020" <= c <= "\U000e007f"


def is_mark(c):
    return unicodedata.category(c)[0] == "M" and not is_selector(c)


def is_tone(c):
    return "EMOJI MODIFIER" in unicodedata.name(c, "")


def is_regional(c):
    return "REGIONAL INDICATOR" in unicodedata.name(c, "")


def is_symbol(c):
    category = unicodedata.category(c)
    visible = category[0] in "PS" or category in ("Cn", "Co")
    special = is_word(c) or is_tone(c) or is_regional(c) or is_selector(c)
    return visible and not special


def word_end(text, i):
    while i < len(text):
        c = text[i]
        if not (is_word(c) or is_mark(c) or is_selector(c) or c in (ZWJ, ZWNJ)):
            break
        i += 1
    return i


def sign_end(text, i):
    first = text[i]
    i += 1
    if is_regional(first) and i < len(text) and is_regional(text[i]):
        i += 1
    while i < len(text):
        c = text[i]
        belongs = is_mark(c) or is_selector(c) or is_tone(c) or c in (ZWJ, ZWNJ)
        tied = text[i - 1] == ZWJ and is_symbol(c)
        if not (belongs or tied):
            break
        i += 1
    return i


def split_slowly(text, punctuation):
    tokens, i = [], 0
    while i < len(text):
        c = text[i]
        if is_word(c):
            end = word_end(text, i)
            tokens.append(text[i:end])
        elif is_symbol(c) or is_mark(c) or is_tone(c) or is_regional(c):
            end = sign_end(text, i)
            if punctuation:
                tokens.append(text[i:end])
        else:
            end = i + 1
        i = end
    return tokens


telling = st.sampled_from(
    "aZ_09 \n\t\x00.,!#é\u0301\u093f\u0915ßΣ日、\u00ad\u200b\u200c\u200d\ufe0f\u20e3"
    "❤♀🔥👩🏽🇩🇪\U000e0067\U000e007f\U000e0100\ud800\udc00\ue000\U0001fae8\u180b"
)
texts = st.lists(st.text(st.one_of(telling, st.characters())), min_size=1, max_size=8)


def compiled(rows, rule):
    # Chunks of a few characters, so that every example merges some.
    whole, _text_scan.CHUNK = _text_scan.CHUNK, 8
    try:
        scan = _text_scan.TextScan(np.array([*rows, None], object)[:-1], rule, list)
        return TokenSequences._trusted(*scan.split())
    finally:
        _text_scan.CHUNK = whole


@pytest.mark.parametrize("punctuation", [False, True])
@given(rows=texts)
def test_words_match_the_definition(punctuation, rows):
    expected = [split_slowly(text, punctuation) for text in rows]
    assert _split.split_words(rows, punctuation) == expected
    assert compiled(rows, word_rule(punctuation)).to_list() == expected


RUNS = [
    r"\S+",
    r"\w+",
    r"\W+",
    r"\w\w{2,}",
    r"(?u)\b\w\w+\b",
    r"(?a)\b\w\w+\b",
    r"[^\s,]+",
    r"[a-zé\]]+",
    r"[\w'-]+",
]


@given(pattern=st.sampled_from(RUNS), rows=texts)
def test_runs_are_what_re_finds(pattern, rows):
    rule = run_rule(pattern)
    assert rule is not None
    expected = [re.findall(pattern, text) for text in rows]
    assert compiled(rows, rule).to_list() == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"\w+\s",
        r"\b[a-z]+",
        r"[a-z]+\b",
        r"\b\W+\b",
        r"\w+?",
        r"(\w+)",
        r"(?i)[a-z]+",
        r"\w{2}",
        r"\w{2,3}",
        r"\w|\d+",
        r".+",
        r"[\x00-\x7f]+",
        r"[^é]+",
    ],
)
def test_other_expressions_are_left_to_re(pattern):
    re.compile(pattern)
    assert run_rule(pattern) is None


@pytest.mark.parametrize("name", ["words", r"[^\s,]"])
def test_every_code_point_has_the_class_that_its_character_has(name):
    some = [*range(0x3000), 0xD800, 0xFE0F, 0x1F1E6, 0x1F3FB, 0xE0020, 0x10FFFF]
    classes = character_classes(name)
    assert classes.shape == (0x110000,)
    for code in some:
        c = chr(code)
        by_hand = word_class(c) if name == "words" else bool(re.fullmatch(name, c))
        assert classes[code] == by_hand


# What belongs to one token when punctuation counts.
EMOJI = [
    "👩🏽\u200d⚕\ufe0f",
    "❤\ufe0f\u200d🔥",
    "🇩🇪",
    "#\ufe0f\u20e3",
    "👨\u200d👩\u200d👧",
    "👍🏿",
]
WALES = "🏴" + "".join(chr(0xE0000 + ord(c)) for c in "gbwls") + "\U000e007f"


@pytest.mark.parametrize("emoji", [*EMOJI, WALES])
def test_one_emoji_is_one_token(emoji):
    tokens = Tokenizer(punctuation=True).transform([emoji * 2])
    assert tokens.to_list() == [[emoji] * 2]
    assert Tokenizer().transform([emoji * 2]).n_tokens == 0


@pytest.mark.parametrize(
    "word",
    [
        "किताब",
        "e\u0301te\u0301",
        "می\u200cخواهم",
        "தமிழ்",
        "ක්\u200dෂ",
        "1\ufe0f\u20e3",
        "葛\U000e0100",
    ],
)
def test_one_word_is_one_token(word):
    tokenizer = Tokenizer(normalize=None)
    assert tokenizer.transform([f"({word}) {word}"])[0] == [word, word]


def spans_of(words):
    data = b"".join(words)
    ends = np.cumsum([len(word) for word in words]).astype(np.int64)
    starts = ends - [len(word) for word in words]
    return np.frombuffer(data + bytes(8), np.uint8), starts, ends


def test_equal_hashes_only_cost_time():
    words = [b"w%011d" % (i % 700) for i in range(2000)]
    buffer, starts, ends = spans_of(words)
    codes, firsts = code_spans(buffer, starts, ends, np.zeros(2000, np.uint64))
    assert codes.tolist() == [i % 700 for i in range(2000)]
    assert firsts.tolist() == list(range(700))
