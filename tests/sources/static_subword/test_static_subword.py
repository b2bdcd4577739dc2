"""StaticSubwordEmbedding: parity with its models' own libraries, and its files."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from sklearn.base import clone
from tokenizers.pre_tokenizers import Punctuation

import sk_metaembed
from sk_metaembed import StaticSubwordEmbedding, Tokenizer

from ... import tiny_static
from ...compiled import compiled_loops
from ...handles import clear_handles

TEXTS = [
    "The film: a comedy, 1,000 queens!",
    "",
    "naïve CAFÉ — “quoted” £5 東京 film",
    "[CLS] kings [UNK] film[PAD]",
    "x" * 101 + " film " + "x" * 100,
    "a\x00b\u200bc\tfilm\r\nfilm\u3000film\ud800 \u0301film",
    " ",
    "İstanbul ΣΊΣΥΦΟΣ ǅ 👩\u200d👧 ½ﬁlm ##ing",
]
ENCODABLE = [text.encode("utf-8", "replace").decode() for text in TEXTS]


def embed(source, texts):
    return source.fit(["film"]).transform(texts).blocks[0].values


def byte_bpe():
    """Return a tokenizer as of GPT-2, which marks the space before a word."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    subwords = [*alphabet, "Ġf", "il", "Ġfil", "fil"]
    merges = [("Ġ", "f"), ("i", "l"), ("Ġf", "il"), ("f", "il")]
    vocabulary = {subword: i for i, subword in enumerate(subwords)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def quantized(n_subwords, dtype, seed=0):
    """Return the tensors of a model with a quantized vocabulary."""
    rng = np.random.default_rng(seed)
    return {
        "table": (20 * rng.normal(size=(7, 5))).astype(dtype),
        "mapping": rng.integers(0, 7, n_subwords),
        "weights": rng.random(n_subwords).astype(np.float32),
    }


@pytest.mark.parametrize(
    ("dtype", "limit", "compiled"),
    [
        ("float32", 512, True),
        ("float16", None, True),
        ("int8", 5, True),
        ("float32", 5, False),
    ],
)
@pytest.mark.filterwarnings("ignore:.* subwords and cut")
def test_model2vec(tmp_path, dtype, limit, compiled):
    model2vec = pytest.importorskip("model2vec")
    n_subwords = tiny_static.wordpiece().get_vocab_size()
    plain = {"table": quantized(n_subwords, dtype)["table"][np.arange(n_subwords) % 7]}
    for tensors in (plain, quantized(n_subwords, dtype)):
        config = {"normalize": True, "max_length": limit}
        tiny_static.save(tmp_path, config=config, **tensors)
        own = model2vec.StaticModel.from_pretrained(tmp_path)
        with compiled_loops(compiled):
            result = embed(StaticSubwordEmbedding(tmp_path, output="mean"), TEXTS)
        tolerance = 2e-3 if dtype == "float16" else 1e-6  # of the dtype it returns
        np.testing.assert_allclose(result, own.encode(ENCODABLE), atol=tolerance)
        source = StaticSubwordEmbedding(tmp_path, output="mean", max_length=None, dim=3)
        small = model2vec.StaticModel.from_pretrained(tmp_path, dimensionality=3)
        expected = small.encode(ENCODABLE, max_length=None)
        np.testing.assert_allclose(embed(source, TEXTS), expected, atol=tolerance)


@pytest.mark.filterwarnings("ignore:.* subwords and cut")
@pytest.mark.parametrize(("normalize", "side"), [(True, "left"), (False, "right")])
def test_sentence_transformers(tmp_path, normalize, side):
    # What its EmbeddingBag and F.normalize compute, without importing torch.
    tokenizer = tiny_static.wordpiece()
    tokenizer.enable_truncation(4, direction=side)
    folder = tiny_static.save_sentence_encoder(
        tmp_path, tokenizer, normalize=normalize, prompt="film: "
    )
    table = load_file(folder / "0_StaticEmbedding" / "model.safetensors")
    table = table["embedding.weight"]
    source = StaticSubwordEmbedding(folder, output="mean", missing="empty")
    assert not embed(source, [None, "", " "]).any()
    assert source.transform([None, "film"]).blocks[0].known.tolist() == [False, True]
    texts = [text for text in TEXTS if text.strip()]
    vectors = embed(source, texts)
    limited = clone(source).set_params(max_length=4)  # cuts on the same side
    np.testing.assert_array_equal(embed(limited, texts), vectors)
    for text, row in zip(texts, vectors, strict=True):
        text = text.encode("utf-8", "replace").decode()
        ids = tokenizer.encode("film: " + text, add_special_tokens=False).ids
        expected = table[ids].mean(axis=0)
        if normalize:
            expected /= np.linalg.norm(expected)
        np.testing.assert_allclose(row, expected, atol=1e-6)


TOKENIZERS = {
    "bert": tiny_static.wordpiece,
    "unigram": tiny_static.unigram,
    "bytes": byte_bpe,
    "cased": lambda: tiny_static.wordpiece(lowercase=False),
    "accents": lambda: tiny_static.wordpiece(strip_accents=False, clean_text=False),
}
CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("abc film.,-'[]#  \t\n\r\x00éÉ中\u0301\u200d👩İς\u302e\U0001d165"),
    st.sampled_from(["[CLS]", "[UNK]", "<unk>", "##ing", "x" * 100, "e\u0301" * 51]),
)
TEXT_LISTS = st.lists(
    st.lists(CHARACTERS, max_size=20).map("".join), min_size=1, max_size=8
)


def as_source(tokenizer, folder):
    """Return a source of the means of subwords, and a function to compare it with."""
    tiny_static.save_sentence_encoder(folder, tokenizer)
    weights = load_file(folder / "0_StaticEmbedding" / "model.safetensors")
    (table,) = weights.values()
    source = StaticSubwordEmbedding(folder, output="mean", max_length=None)

    def compare(texts):
        for use in (False, True):
            with compiled_loops(use):
                means = source.transform(texts).blocks[0].values
            rows = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            for mean, row in zip(means, rows, strict=True):
                expected = table[row.ids].mean(axis=0) if row.ids else 0
                np.testing.assert_allclose(mean, expected, rtol=1e-4, atol=1e-5)

    source.fit(["film"])
    return compare


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return {
        name: as_source(make(), tmp_path_factory.mktemp(name))
        for name, make in TOKENIZERS.items()
    }


@given(texts=TEXT_LISTS)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_subwords_are_those_of_tokenizers(sources, name, texts):
    sources[name](texts)


@pytest.mark.parametrize("changed", ["added tokens", "pre-tokenizer"])
def test_other_settings_are_left_to_tokenizers(tmp_path, changed):
    own = tiny_static.wordpiece()
    if changed == "added tokens":
        own.add_tokens(["Film"])  # searched in normalized texts
    else:
        own.pre_tokenizer = Punctuation("contiguous")
    as_source(own, tmp_path)(["a FILM", "film, film,"])


def test_words_are_means_of_subwords():
    source = StaticSubwordEmbedding(tiny_static.TinyStatic())
    block = source.fit_transform([["queens", "東", "film", "☃"], ["film"]]).blocks[0]
    assert (block.level, block.name) == ("type", "staticsubword")
    assert block.known.tolist() == [True, True, True, False]
    table = load_file(Path(tiny_static.folder(), "model.safetensors"))["embeddings"]
    own = tiny_static.wordpiece()
    expected = table[own.encode("queens").ids].mean(axis=0)
    np.testing.assert_allclose(block.values[0], expected, rtol=1e-6)
    assert source.coverage_ == {"types": 0.75, "tokens": 0.8}
    assert source.dims_ == {"staticsubword": tiny_static.DIM}


@pytest.mark.filterwarnings("ignore:.* subwords and cut")
@pytest.mark.parametrize("make", [tiny_static.wordpiece, byte_bpe])
def test_files_with_defaults_left_out(tmp_path, make):
    # As in the files of RoBERTa, GPT-2 and MiniLM, of old versions of tokenizers.
    own = make()
    own.enable_truncation(3)
    state = json.loads(own.to_str())
    del state["model"]["type"], state["truncation"]["direction"]
    state = {key: value for key, value in state.items() if value not in (None, [])}
    folder = tiny_static.save_sentence_encoder(tmp_path, own)
    path = folder / "0_StaticEmbedding" / "tokenizer.json"
    path.write_text(json.dumps(state))
    source = StaticSubwordEmbedding(folder, output="mean")
    short, long = embed(source, ["a FILM", "a FILM " * 9])
    assert own.encode("a FILM " * 9).ids == own.encode("a FILM a").ids
    expected = embed(source, ["a FILM a"])[0]
    np.testing.assert_allclose(long, expected, rtol=1e-6)


def test_texts_lists_and_missing_rows():
    options = {"output": "mean", "missing": "empty"}
    source = StaticSubwordEmbedding(tiny_static.TinyStatic(), **options)
    block = source.fit_transform(["Film, queens", None]).blocks[0]
    assert block.level == "sequence"
    assert block.known.tolist() == [True, False]
    assert not block.values[1].any()
    lists = source.transform([["Film", ",", "queens"]]).blocks[0].values
    np.testing.assert_allclose(lists[0], block.values[0], rtol=1e-6)
    whole = Tokenizer(token_pattern=r"[^ ]+").transform(["Film, queens"])
    assert np.array_equal(source.transform(whole).blocks[0].values[0], block.values[0])


def test_texts_that_are_cut_are_counted_in_a_warning(tmp_path):
    tiny_static.save(tmp_path, config={"max_length": 9})
    source = StaticSubwordEmbedding(tmp_path, output="mean").fit(["film"])
    long = ["film " * 10, "x" * 500]  # of subwords, of characters
    with pytest.warns(UserWarning, match="2 of 3 texts are longer than 9 subwords and"):
        source.transform([*long, "film"])
    source.transform(long)  # warns once


def test_pickles_refer_to_the_files(tmp_path):
    folder = tiny_static.save(tmp_path / "m", table=np.eye(200, 300, dtype="f4"))
    source = StaticSubwordEmbedding(folder, output="mean")
    expected = embed(source, TEXTS)
    data = pickle.dumps(source)
    assert len(data) < 5000
    assert pickle.loads(data)._model is source._model
    assert clone(source).fit(["a"])._model is source._model
    tiny_static.save(folder, table=np.ones((200, 300), dtype="f4"))
    with pytest.raises(ValueError, match="have .*: they changed"):
        pickle.loads(data)
    assert not np.allclose(embed(clone(source), TEXTS), expected)


@pytest.mark.parametrize("bundle", [False, True])
def test_saved_files(tmp_path, bundle):
    model = tiny_static.save_sentence_encoder(tmp_path / "m", normalize=True)
    source = StaticSubwordEmbedding(model, output="mean")
    expected = embed(source, TEXTS)
    path = sk_metaembed.save(source, tmp_path / "s.skm", bundle=bundle)
    if bundle:
        (tmp_path / "m").rename(tmp_path / "gone")
    clear_handles()
    loaded = sk_metaembed.load(path)
    assert np.array_equal(loaded.transform(TEXTS).blocks[0].values, expected)


def test_a_name_on_the_hub_is_read_from_its_cache(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    folder = tiny_static.save(tmp_path / "snapshots" / "a1b2")
    calls = []

    def download(name, *, revision, allow_patterns, local_files_only):
        calls.append((name, revision))
        if name == "missing/model":
            raise OSError("no network")
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", download)
    source = StaticSubwordEmbedding("minishlab/potion").fit(["film"])
    assert source._model._spec.revision == "a1b2"
    pickle.loads(pickle.dumps(source))
    assert calls == [("minishlab/potion", None), ("minishlab/potion", "a1b2")]
    with pytest.raises(FileNotFoundError, match="could not be downloaded.*no network"):
        StaticSubwordEmbedding("missing/model").fit(["film"])


CORRUPT = [
    ("config.json", '{"max_length": -1}', "max_length=-1; expected a positive int"),
    ("config.json", "[]", "config.json is corrupt"),
    ("modules.json", '{"type": "StaticEmbedding"}', "modules.json is corrupt"),
    ("modules.json", '[{"type": 1}]', "modules.json is corrupt"),
]


def test_errors(tmp_path):
    folder = tiny_static.save(tmp_path / "m")

    def fails(error, match, model=folder, **options):
        with pytest.raises(error, match=match):
            StaticSubwordEmbedding(model, **options).fit(["film"])

    fails(FileNotFoundError, "there is no folder", tmp_path / "none")
    fails(FileNotFoundError, "Expected model.safetensors", tmp_path)
    fails(ValueError, "dim=7, but .* 6 dimensions", dim=7)
    for name, content, message in CORRUPT:
        (folder / name).write_text(content)
        fails(ValueError, message)
        (folder / "config.json").write_text("{}")
    package = "sentence_transformers.models"
    modules = [
        {"path": "", "type": f"{package}.Transformer"},
        {"path": "1", "type": f"{package}.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    fails(ValueError, r"modules \['Transformer', 'Pooling'\]")
    (folder / "modules.json").unlink()
    content = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(content[:-100])
    fails(ValueError, "tokenizer.json is not a readable tokenizer: EOF")
    (folder / "tokenizer.json").write_text(content)
    ids = np.arange(tiny_static.wordpiece().get_vocab_size())
    small = np.ones((5, 4), np.float32)
    tiny_static.save(folder, table=small)
    fails(ValueError, "different model")
    tiny_static.save(folder, table=small, mapping=ids)
    fails(ValueError, "points beyond the 5 rows")
    tiny_static.save(folder, table=np.ones((200, 2), "f4"), mapping=ids.astype("f4"))
    fails(ValueError, "'mapping' has shape .* expected 1 dim")
    (folder / "model.safetensors").write_bytes(b"\xff" * 30)
    fails(ValueError, "model.safetensors is corrupt")
