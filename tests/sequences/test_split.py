"""Splitting, in Python and compiled, against slow and simple definitions."""

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sk_metaembed import Tokenizer, TokenSequences

from ..compiled import compiled_loops

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


UNCHANGED = {"lowercase": False, "normalize": None}


def assert_split(tokenizer, rows, expected):
    """Both kinds of loops give the tokens, types and codes of these lists."""
    expected = TokenSequences.from_lists(expected)
    for use in (False, True):
        # Chunks of a few characters, so that every example merges some.
        with compiled_loops(use, chunk=8):
            tokens = tokenizer.transform(rows)
        assert tokens.types.tolist() == expected.types.tolist()
        for name in ("codes", "offsets"):
            own, other = getattr(tokens, name), getattr(expected, name)
            assert (own.dtype, own.tolist()) == (other.dtype, other.tolist())
        assert all(type(word) is str for word in tokens.types)


@pytest.mark.parametrize("punctuation", [False, True])
@given(rows=texts)
def test_words_match_the_definition(punctuation, rows):
    expected = [split_slowly(text, punctuation) for text in rows]
    assert_split(Tokenizer(punctuation=punctuation, **UNCHANGED), rows, expected)


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
# Not runs of one class of characters: `re` matches them.
OTHERS = [
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
]


@pytest.mark.parametrize("pattern", [*RUNS, *OTHERS])
@settings(max_examples=10)
@given(rows=texts)
@example(rows=["ab é_c, d-e 12", "abc\nÉ"])
def test_patterns_give_what_re_finds(pattern, rows):
    expected = [re.findall(pattern, text) for text in rows]
    assert_split(Tokenizer(token_pattern=pattern, **UNCHANGED), rows, expected)


@pytest.mark.parametrize(
    "options", [{"punctuation": True}, {"token_pattern": r"[^\s,]+"}], ids=str
)
def test_every_code_point_is_read_alike_by_both_loops(options):
    some = [*range(0x3000), 0xD800, 0xFE0F, 0x1F1E6, 0x1F3FB, 0xE0020, 0x10FFFF]
    rows = [f"{chr(code)}a{chr(code)}" for code in some]
    results = []
    for use in (False, True):
        with compiled_loops(use):
            results.append(Tokenizer(**options, **UNCHANGED).transform(rows).to_list())
    assert results[0] == results[1]


WORDS = [
    "किताब",
    "e\u0301te\u0301",
    "می\u200cخواهم",
    "தமிழ்",
    "ක්\u200dෂ",
    "1\ufe0f\u20e3",
]
EMOJI = [
    "👩🏽\u200d⚕\ufe0f",
    "❤\ufe0f\u200d🔥",
    "🇩🇪",
    "#\ufe0f\u20e3",
    "👨\u200d👩\u200d👧",
    "👍🏿",
]
WALES = "🏴" + "".join(chr(0xE0000 + ord(c)) for c in "gbwls") + "\U000e007f"


@pytest.mark.parametrize("sign", [*WORDS, "葛\U000e0100", *EMOJI, WALES])
def test_one_word_or_emoji_is_one_token(sign):
    tokenizer = Tokenizer(punctuation=True, normalize=None)
    assert tokenizer.transform([f"({sign}) {sign}"])[0] == ["(", sign, ")", sign]


def test_equal_hashes_only_cost_time():
    rows = [" ".join(f"w{i % 700:011}" for i in range(2000)), "w w1 w"]
    expected = Tokenizer().transform(rows)
    with compiled_loops(True, equal_hashes=True):
        tokens = Tokenizer().transform(rows)
    assert tokens == expected
    assert tokens.types.tolist() == expected.types.tolist()


@given(rows=texts)
@example(rows=["ΟΔΥΣΣΕΥΣ Σ", "İstanbul", "e\u0301E\u0301 \u0301", "", "x" * 1000])
@example(rows=["To be, or NOT to be:", "naïve CAFÉ", "किताब हिन्दी", "日本語、です。"])
def test_texts_are_prepared_alike_for_both_loops(rows):
    tokenizer = Tokenizer(punctuation=True)
    with compiled_loops(False):
        expected = tokenizer.transform(rows).to_list()
    assert_split(tokenizer, rows, expected)


def test_rows_keep_their_information_in_compiled_loops():
    with compiled_loops(True):
        tokens = Tokenizer(missing="empty").transform(["To be", None])
        with pytest.raises(TypeError, match="row 1 is of type int"):
            Tokenizer().transform(["a", 3])
    assert tokens.missing.tolist() == [False, True]
    assert tokens.texts.tolist() == ["To be", ""]
    assert tokens.spans().tolist() == [[0, 2], [3, 5]]
