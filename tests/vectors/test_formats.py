import bz2
import gzip
import lzma

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors, Word2Vec
from gensim.test.utils import common_texts, datapath

from sk_metaembed import PretrainedEmbedding, WordVectors

PLAIN = "tea 0.5 1 -2\ncoffee 2 -1 3.25\n"


def same(wv, kv):
    assert list(wv.words) == list(kv.index_to_key)
    np.testing.assert_array_equal(wv.vectors, kv.vectors)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("euclidean_vectors.bin", {"binary": True}),
        ("high_precision.kv.bin", {"binary": True}),
        ("high_precision.kv.txt", {}),
        ("lee_fasttext.vec", {}),
        ("test_glove.txt", {"no_header": True}),
    ],
)
def test_equal_to_gensim(name, kwargs):
    kv = KeyedVectors.load_word2vec_format(datapath(name), **kwargs)
    same(WordVectors.open(datapath(name)), kv)


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_compression_is_detected_from_content(write, module):
    path = write("misnamed.bin", module.compress(PLAIN.encode()))
    wv = WordVectors.open(path)
    assert list(wv.words) == ["tea", "coffee"]
    np.testing.assert_array_equal(wv["coffee"], [2, -1, 3.25])


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace(" ", "\t"),
        PLAIN.replace(" ", "  "),
        PLAIN[:-1],
        "\ufeff" + PLAIN,
        "\ufeff2 3\n" + PLAIN,
        "2\t3 \r\n" + PLAIN,
    ],
)
def test_variants_of_equal_text(write, content):
    wv = WordVectors.open(write("x.txt", content))
    assert wv.words.tolist() == ["tea", "coffee"]
    np.testing.assert_array_equal(wv.vectors, [[0.5, 1, -2], [2, -1, 3.25]])
    assert wv.repairs == {}


def test_words_with_spaces_are_parsed_from_the_right(write):
    words = [". . .", "at name@domain.com", "2012", "a\u00a0b", "\u0085", "</s>"]
    text = "".join(f"{word} {i} 0.5\n" for i, word in enumerate(words))
    wv = WordVectors.open(write("glove.txt", text))
    assert wv.words.tolist() == words
    np.testing.assert_array_equal(wv.vectors[:, 0], range(6))


def test_empty_word_is_a_word(write):
    wv = WordVectors.open(write("x.txt", "2 2\n 1 2\na 3 4\n"))
    assert wv.words.tolist() == ["", "a"]


def test_blocks_join_where_lines_do_not_end(write, monkeypatch):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(200, 5)).astype(np.float32)
    rows = [f"w{i} " + " ".join(map(repr, r.tolist())) for i, r in enumerate(matrix)]
    path = write("x.txt", "\n".join(rows))
    monkeypatch.setattr("sk_metaembed.vectors._read_word2vec._BLOCK", 97)
    wv = WordVectors.open(path)
    np.testing.assert_array_equal(wv.vectors, matrix)
    assert wv.words.tolist() == [f"w{i}" for i in range(200)]


def test_models_in_memory_keep_their_ngrams():
    options = {"vector_size": 6, "min_count": 1, "bucket": 50, "workers": 1, "seed": 1}
    ft = FastText(common_texts, **options).wv
    wv = WordVectors.from_keyed_vectors(ft)
    unseen = ["humane", "zzz", "été"]
    expected = np.stack([ft[word] for word in unseen])
    np.testing.assert_array_equal(wv.subword_vectors(unseen), expected)
    same(wv, wv.to_keyed_vectors())


def test_from_keyed_vectors_refuses_other_things():
    with pytest.raises(TypeError, match="expected gensim KeyedVectors.*dict"):
        WordVectors.from_keyed_vectors({})
    model = Word2Vec(vector_size=2)
    with pytest.raises(TypeError, match="got Word2Vec. Pass its attribute wv"):
        WordVectors.from_keyed_vectors(model)
    kv = KeyedVectors(2)
    kv.add_vectors([1, 2], np.eye(2))
    with pytest.raises(TypeError, match="element 0 is 1 of type int"):
        WordVectors.from_keyed_vectors(kv)


def test_float16_halves_the_matrix(write):
    path = write("x.txt", PLAIN)
    wv = WordVectors.open(path, dtype="float16")
    assert wv.vectors.dtype == wv.dtype == np.float16
    assert wv["tea"].dtype == np.float32
    assert wv.vectors_for(["tea"])[0].dtype == np.float32
    assert wv != WordVectors.open(path)


def test_limit(write):
    path = write("x.txt", "".join(f"w{i} {i} {-i}\n" for i in range(1, 20)))
    assert WordVectors.open(path, limit=3).words.tolist() == ["w1", "w2", "w3"]


def test_store_opens_directly_and_in_part(tmp_path):
    path = datapath("lee_fasttext_new.bin")
    wv = WordVectors.convert(path, tmp_path / "lee.store")
    assert wv == WordVectors.open(path)
    assert WordVectors.open(tmp_path / "lee.store") is wv
    part = WordVectors.open(tmp_path / "lee.store", limit=5, dtype="float16")
    assert part.words.tolist() == wv.words[:5].tolist()
    assert part.has_subwords and part.dtype == np.float16
    half = WordVectors.open(part.path)
    assert half is part and half.dtype == np.float16
    parts = [WordVectors.open(half.path, limit=4, dtype=d) for d in (None, "float32")]
    assert [each.dtype for each in parts] == [np.float16, np.float32]
    with pytest.raises(FileExistsError, match="exists already"):
        WordVectors.convert(path, tmp_path / "lee.store")
    with pytest.raises(TypeError, match="expected str.*not NoneType"):
        WordVectors.convert(path, None)


def test_verbose_shows_progress(write, capsys):
    WordVectors.open(write("x.txt", PLAIN), verbose=1)
    assert "Converting x.txt" in capsys.readouterr().err


def test_rows_without_a_word_are_skipped(tmp_path):
    path = tmp_path / "repeated.txt"
    path.write_text("4 2\na 1 2\nb 3 4\na 5 6\nc 7 8\n")
    kv = KeyedVectors.load_word2vec_format(path)
    assert kv.index_to_key == ["a", "b", "c", None]
    wv = WordVectors.from_keyed_vectors(kv)
    assert wv.words.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(wv.vectors, [[1, 2], [3, 4], [7, 8]])
    assert wv.repairs == {"rows_without_word": 1}
    allocated = KeyedVectors(2, count=3)
    allocated.add_vector("tea", [1, 2])
    source = PretrainedEmbedding(allocated).fit([["tea"]])
    assert source.vectors_.words.tolist() == ["tea"]


class _Compressed:
    """As the matrices of compressed models of other packages."""

    shape = (2, 3)


@pytest.mark.parametrize("name", ["vectors", "vectors_ngrams"])
def test_compressed_keyed_vectors_are_refused(name):
    kv = KeyedVectors(2)
    kv.add_vectors(["a", "b"], np.eye(2))
    setattr(kv, name, _Compressed())
    with pytest.raises(TypeError, match=r"with arrays; got KeyedVectors.*from_arrays"):
        WordVectors.from_keyed_vectors(kv)
    with pytest.raises(TypeError, match="with arrays; got KeyedVectors"):
        PretrainedEmbedding(kv).fit([["a"]])
