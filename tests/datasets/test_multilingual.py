import gzip
import io
import json
import random
import tarfile
from importlib.util import find_spec

import numpy as np
import orjson
import pytest

from sk_metaembed.datasets import load_home_commands, load_navec_news
from sk_metaembed.datasets._home_commands import MissingValueError, sample_template
from sk_metaembed.datasets._navec import read_navec

RULES = {"turn": "(turn|switch) on", "all": "all [of] <lamps>", "lamps": "lamp[s]"}
LISTS = {
    "color": {"values": [{"in": "(red|crimson)", "out": "red"}, "blue"]},
    "percent": {"range": {"from": 3, "to": 5}},
    "name": {"wildcard": True},
}


def sentences(template):
    rng = random.Random(0)
    return {sample_template(template, RULES, LISTS, rng) for _ in range(300)}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("stop", {"stop"}),
        ("(a|b|)c", {"ac", "bc", "c"}),
        ("a[b[c]]", {"a", "ab", "abc"}),
        ("a|b c", {"a", "b c"}),
        ("(now;<turn>)", {f"{a} on now" for a in ("turn", "switch")}
         | {f"now {a} on" for a in ("turn", "switch")}),
        ("<lamps> {color}", {f"lamp{s} {c}" for s in ("", "s")
                             for c in ("red", "crimson", "blue")}),
        ("{percent:brightness} %", {"3 %", "4 %", "5 %"}),
        (r"a\[b\]", {"a[b]"}),
    ],
)  # fmt: skip
def test_templates(template, expected):
    assert sentences(template) == expected


def test_slots_for_any_text_have_no_sentence():
    for template in ("call {name}", "call {unknown}"):
        with pytest.raises(MissingValueError):
            sample_template(template, RULES, LISTS, random.Random(0))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with two languages."""
    folder = tmp_path / "home_assistant_intents" / "data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError")
    for language, on in (("en", "<turn> [all] <lamps>"), ("xx", "灯[を]つけて")):
        data = {
            "expansion_rules": RULES,
            "lists": LISTS,
            "intents": {
                "HassTurnOn": {"data": [{"sentences": [on, "<turn> {name}"]}]},
                "HassLightSet": {
                    "data": [
                        {"sentences": ["{percent} <unit>"],
                         "expansion_rules": {"unit": "%"}}
                    ]
                },
            },
        }  # fmt: skip
        (folder / f"{language}.json").write_bytes(orjson.dumps(data))
    monkeypatch.syspath_prepend(tmp_path)


def test_commands(package):
    bunch = load_home_commands()
    assert bunch.target_names == ["LightSet", "TurnOn"]
    assert len(bunch.data) == len(set(bunch.data)) == len(bunch.target)
    by_intent = {
        name: {t for t, y in zip(bunch.data, bunch.target, strict=True) if y == name}
        for name in bunch.target_names
    }
    assert by_intent["LightSet"] == {"3 %", "4 %", "5 %"}
    assert len(by_intent["TurnOn"]) == 5
    assert dict(zip(bunch.target.tolist(), bunch.groups.tolist(), strict=True)) == {
        "TurnOn": 0,
        "LightSet": 2,
    }
    other = load_home_commands("xx")
    assert {"灯をつけて", "灯つけて"} <= set(other.data)


def test_commands_are_the_same_for_a_seed(package):
    first, again = (load_home_commands(n_per_template=2).data for _ in range(2))
    assert first == again
    others = [load_home_commands(n_per_template=2, random_state=i).data for i in (1, 2)]
    assert any(other != first for other in others)


def test_commands_of_an_intent_are_limited(package):
    X, y = load_home_commands(n_per_intent=1, return_X_y=True)
    assert sorted(y.tolist()) == ["LightSet", "TurnOn"] and len(X) == 2
    assert len(load_home_commands(n_per_intent=None).data) == 8
    frame = load_home_commands(as_frame=True).frame
    assert frame.columns.tolist() == ["text", "intent"]


def test_unknown_language(package):
    with pytest.raises(ValueError, match=r"one of \['en', 'xx'\]; got 'german'"):
        load_home_commands("german")


def test_the_real_package():
    if find_spec("home_assistant_intents") is None:
        pytest.skip("home-assistant-intents is not installed")
    counts = {}
    for language in ("en", "th"):
        bunch = load_home_commands(language)
        counts[language] = len(bunch.target_names)
        assert np.unique(bunch.target, return_counts=True)[1].max() <= 20
        assert not any(c in text for text in bunch.data for c in "<>{}[]|")
    assert counts["en"] >= 30 and min(counts.values()) >= 25


def navec_file(path, words, counts, codes, centroids):
    vocabulary = np.uint32(len(words)).tobytes() + np.uint32(counts).tobytes()
    vocabulary = gzip.compress(vocabulary + "\n".join(words).encode())
    n_vectors, n_parts = codes.shape
    sizes = [n_vectors, centroids.shape[0] * centroids.shape[2], n_parts]
    quantized = np.uint32([*sizes, centroids.shape[1]]).tobytes()
    quantized += codes.astype(np.uint8).tobytes() + centroids.astype("<f4").tobytes()
    members = {
        "meta.json": json.dumps({"protocol": 1}).encode(),
        "vocab.bin": vocabulary,
        "pq.bin": quantized,
    }
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def test_navec_is_unpacked_in_order_of_frequency(tmp_path):
    rng = np.random.default_rng(0)
    centroids = rng.normal(size=(3, 4, 2))
    codes = rng.integers(4, size=(5, 3))
    words = ["арбуз", "дом", "и", "<unk>", "<pad>"]
    navec_file(tmp_path / "n.tar", words, [2, 30, 900, 0, 0], codes, centroids)
    found, vectors = read_navec(tmp_path / "n.tar")
    assert found == ["и", "дом", "арбуз"]
    for row, code in zip(vectors, codes[[2, 1, 0]], strict=True):
        expected = np.concatenate([centroids[part, c] for part, c in enumerate(code)])
        np.testing.assert_allclose(row, expected, rtol=1e-6)


def test_navec_that_is_not_installed_or_not_the_file(tmp_path, monkeypatch):
    folder = tmp_path / "natasha" / "data" / "emb"
    folder.mkdir(parents=True)
    (folder.parents[1] / "__init__.py").touch()
    (folder / "navec_news_v1_1B_250K_300d_100q.tar").write_bytes(b"no")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OSError, match="not the published file"):
        load_navec_news(cache_dir=tmp_path)


@pytest.mark.slow
def test_the_real_navec(tmp_path):
    if find_spec("natasha") is None:
        pytest.skip("natasha is not installed")
    navec = load_navec_news(cache_dir=tmp_path)
    assert (len(navec), navec.dim, navec.dtype) == (250_000, 300, np.float16)
    assert navec.words[:3].tolist() == ["в", "и", "на"]
