"""Exported static models, read by tokenizers, model2vec and sentence-transformers."""

import json
import os
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    CommonComponentRemoval,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    WordVectors,
    export_vectors,
    make_embedding_union,
)
from sk_metaembed.vectors._export_model2vec import splitting_of, tokenizer_json

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

RNG = np.random.default_rng(0)
WORDS = ["the", "cat", "naïve", "οδος", "日本", "don", "t", "a", "5", "sleeps"]
TEXTS = [
    "The cat sleeps; the CAT doesn't.",
    "A nai\u0308ve cat",
    "ΟΔΟΣ 日本 5, unheard 555",
    "nothing known",
    "",
    "the " * 700,
]
TABLE = dict(zip(WORDS, RNG.normal(size=(10, 7)).astype(np.float32), strict=True))
STEPS = [
    Tokenizer(),
    Tokenizer(punctuation=True),
    Tokenizer(lowercase=False, normalize=None),
    Tokenizer(normalize="NFD"),
    Tokenizer(r"\S+"),
    Tokenizer(r"(?u)\b\w\w+\b"),
    Tokenizer(r"[^,;\s]{3,}", lowercase=False),
]


def pipeline(*steps, tokenizer=None):
    first = PretrainedEmbedding(WordVectors.from_arrays(WORDS, [*TABLE.values()]))
    second = PretrainedEmbedding(
        WordVectors.from_arrays(WORDS[:9], np.float32(RNG.normal(size=(9, 4))))
    )
    union = make_embedding_union(first, second)
    step = tokenizer or Tokenizer()
    return make_pipeline(step, union, SVDMetaEmbedding(5), *steps).fit(TEXTS)


def export(embedding, path, words=WORDS, **options):
    return export_vectors(embedding, words, path, format="model2vec", **options)


def load(folder):
    """Return the tokenizer and the table of a folder."""
    from safetensors.numpy import load_file

    tensors = load_file(folder / "model.safetensors")
    assert list(tensors) == ["embeddings"]
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return tokenizer, tensors["embeddings"]


def encode(folder, texts):
    """Return the mean of the rows of each text's tokens, as static models do."""
    tokenizer, table = load(folder)
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    sums = [table[row].sum(axis=0, dtype=np.float64) for row in ids]
    return np.array([sums[i] / max(len(row), 1) for i, row in enumerate(ids)])


def pieces(step):
    """Return the function that splits as the tokenizer.json of a Tokenizer does."""
    written = json.dumps(tokenizer_json(["tea"], splitting_of(step)))
    tokenizer = tokenizers.Tokenizer.from_str(written)
    normalize = tokenizer.normalizer.normalize_str
    split = tokenizer.pre_tokenizer.pre_tokenize_str
    return lambda text: [piece[1:] for piece, _ in split(normalize(text))]


@pytest.mark.parametrize("weights", [None, "sif", "usif"])
def test_vectors_equal_those_of_the_pipeline(weights, tmp_path):
    pipe = pipeline(Pooling(weights=weights), CommonComponentRemoval())
    report = export(pipe, tmp_path / "m")
    assert (report.format, report.n_words, report.dim) == ("model2vec", 10, 5)
    expected = pipe.transform(TEXTS)
    np.testing.assert_allclose(encode(tmp_path / "m", TEXTS), expected, atol=1e-6)
    assert expected.any(axis=1).tolist() == [True, True, True, False, False, True]
    tokenizer, _ = load(tmp_path / "m")
    ids = tokenizer.encode("The naïve CAT!").ids
    assert [WORDS[i] for i in ids] == ["the", "naïve", "cat"]
    assert tokenizer.decode(ids) == "the naïve cat"


def assert_rounded(result, expected):
    """Compare with float32 sums, whose rounding grows with the length of a text."""
    np.testing.assert_allclose(result[:-1], expected[:-1], atol=1e-6)
    np.testing.assert_allclose(result[-1], expected[-1], rtol=2e-5)


def test_model2vec_encodes_like_the_pipeline(tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    pipe = pipeline(Pooling(weights="sif"))
    export(pipe, tmp_path / "m")
    model = model2vec.StaticModel.from_pretrained(tmp_path / "m")
    assert_rounded(model.encode(TEXTS), pipe.transform(TEXTS))
    assert model.config["max_length"] is None  # else long texts are cut
    model.save_pretrained(tmp_path / "again")
    again = model2vec.StaticModel.from_pretrained(tmp_path / "again")
    assert np.array_equal(again.encode(TEXTS), model.encode(TEXTS))


@pytest.mark.slow  # sentence-transformers takes seconds to import
def test_sentence_transformers_encodes_like_the_pipeline(tmp_path):
    st = pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed"
    )
    pipe = pipeline(Pooling(weights="sif"))
    export(pipe, tmp_path / "m")
    model = st.SentenceTransformer(str(tmp_path / "m"), device="cpu")
    assert_rounded(model.encode(TEXTS), pipe.transform(TEXTS))


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_texts_are_split_alike(step):
    split = pieces(step)
    text = st.text(st.characters(exclude_characters="\u2581", exclude_categories=_NEW))

    @given(text | st.text("aΣσ'. \u0301\u200d🇩🇪👩🏽1", max_size=12))
    def check(text):
        assert split(text) == step.transform([text])[0]

    check()


# Characters that are unassigned here may be known to the compiled tokenizer.
_NEW = ["Cs", "Cn", "Co"]


def test_each_character_is_split_alike():
    characters = map(chr, [*range(0x2100), *range(0x1F1E0, 0x1F200)])
    assigned = [c for c in characters if unicodedata.category(c) not in _NEW]
    texts = [f"a{c}b {c} {c}{c} 1{c}" for c in assigned]
    split, expected = pieces(STEPS[1]), STEPS[1].transform(texts)
    unlike = [i for i, text in enumerate(texts) if split(text) != expected[i]]
    assert unlike == []


@pytest.mark.parametrize(
    "splitter",
    [{"tokenizer": str.split}, {"token_pattern": r"\w+|,"}, {"token_pattern": "[^,]+"}],
)
def test_splitting_that_cannot_be_written(splitter, tmp_path):
    source = FunctionEmbedding(lambda words: [[len(w), 1] for w in words])
    pipe = make_pipeline(Tokenizer(**splitter), source).fit(TEXTS)
    with pytest.raises(ValueError, match=r"model2vec.*cannot represent Tokenizer"):
        export(pipe, tmp_path / "m")
    assert os.listdir(tmp_path) == []
    assert export(pipe[1:], tmp_path / "m").n_words == 10


class Center(PCA):
    def transform(self, X):
        return X - self.mean_


@pytest.mark.parametrize(
    "steps", [[Pooling(weights="idf")], [Pooling("max")], [Pooling(), Center(2)]]
)
def test_pooling_other_than_the_mean_raises(steps, tmp_path):
    with pytest.raises(ValueError, match="needs the vector of a text to be the mean"):
        export(pipeline(*steps), tmp_path / "m")
    assert "m" not in os.listdir(tmp_path)


def test_unknown_words_count_only_if_kept(tmp_path):
    pipe = pipeline(Pooling())
    text = ["the new cat"]
    with pytest.warns(UserWarning, match="'new'"):
        export(pipe, tmp_path / "a", [*WORDS, "new"])
    export(pipe, tmp_path / "b", [*WORDS, "new"], unknown="keep")
    expected = pipe.transform(text)
    np.testing.assert_allclose(encode(tmp_path / "a", text), expected, atol=1e-6)
    np.testing.assert_allclose(
        encode(tmp_path / "b", text), expected * 2 / 3, rtol=2e-5
    )


def test_overwrite(tmp_path):
    export(TABLE, tmp_path / "m")
    assert export(TABLE, tmp_path / "m", ["cat"], overwrite=True).n_words == 1
    assert load(tmp_path / "m")[1].shape == (1, 7)
    (tmp_path / "m" / "README.md").write_text("mine")
    with pytest.raises(FileExistsError, match="not a folder of model2vec"):
        export(TABLE, tmp_path / "m", overwrite=True)
    assert sorted(os.listdir(tmp_path / "m"))[:2] == ["README.md", "config.json"]
    with pytest.raises(ValueError, match="cannot be compressed"):
        export(TABLE, tmp_path / "m.gz")
