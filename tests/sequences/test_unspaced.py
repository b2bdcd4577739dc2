"""Languages without spaces, from texts to a classifier."""

import re
import unicodedata
import warnings

import pytest

from sk_metaembed import Tokenizer

# Turn the lights on, or stop the music, in different words.
TEXTS = {
    "zh": [
        *("打开客厅的灯", "请把灯打开", "打开所有的灯", "开灯", "请打开卧室灯"),
        *("停止播放音乐", "请把音乐停止", "停止这首歌", "请停止音乐", "音乐停止播放"),
    ],
    "ja": ["リビングの電気をつけてください", "照明をつけて", "音楽を止めて"],
    "th": ["ช่วยเปิดไฟห้องนอน", "เปิดไฟทั้งหมด", "หยุดเล่นเพลง"],
}
# Characters of these scripts, with the marks that follow them in Thai, or other words.
SCRIPTS = "\u0e00-\u0e7f\u3005\u3040-\u30ff\u3400-\u9fff"
MARKS = "[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*"
CHARACTERS = rf"[{SCRIPTS}]{MARKS}|[^\W{SCRIPTS}]+"


def bigrams(text):
    """Return the characters and the pairs of neighbors of a text."""
    single = re.findall(CHARACTERS, text)
    return single + [a + b for a, b in zip(single, single[1:], strict=False)]


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_default_warns(texts):
    with pytest.warns(UserWarning, match=r"no spaces .* as tokenizer"):
        Tokenizer().fit(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["打开 客厅 的 灯", "请 把 音乐 停止"],  # already split
        ["コンピュータ プログラミング", "データベース ネットワーク"],  # loan words
        ["เปิด ไฟ ห้อง นอน", "ช่วย หยุด เพลง นี้"],
        ["Turn on the 灯 please", "Stop the 音楽 now"],
        ["включи свет", "أطفئ الضوء", "बत्ती जलाओ"],
        [""],
    ],
)
def test_texts_with_words_do_not_warn(texts):
    with warnings.catch_warnings(action="error"):
        Tokenizer().fit(texts)
        Tokenizer().fit_transform(texts)


def test_own_splitting_and_later_texts_do_not_warn():
    texts = TEXTS["zh"]
    with warnings.catch_warnings(action="error"):
        Tokenizer(tokenizer=bigrams).fit(texts)
        Tokenizer(token_pattern=CHARACTERS).fit_transform(texts)
        Tokenizer().fit([list(text) for text in texts])
        Tokenizer().fit(Tokenizer().transform(texts))


def test_forms_of_the_same_text_have_the_same_tokens():
    tokenizer = Tokenizer(token_pattern=CHARACTERS, normalize="NFKC")
    expected = ["電", "気", "を", "ガ", "ラ", "ス", "で", "24usb"]
    composed = "電気をガラスで24USB"
    full_and_half = "電気をｶﾞﾗｽで２４ＵＳＢ"
    decomposed = unicodedata.normalize("NFD", composed)
    assert "\u3099" in decomposed
    for text in (composed, full_and_half, decomposed):
        assert tokenizer.transform([text])[0] == expected
