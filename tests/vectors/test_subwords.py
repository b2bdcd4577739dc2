import numpy as np
import pytest
from gensim.models.fasttext import load_facebook_vectors
from gensim.test.utils import datapath

from sk_metaembed import WordVectors

from ..compiled import compiled_loops

UNSEEN = ["zzyzx", "naïveté", "日本語の", "a", "", "e\u0301x", "😀smile", "two words"]
MODELS = [
    "lee_fasttext_new.bin",
    "crime-and-punishment.bin",
    "toy-model.bin",
]


@pytest.mark.parametrize("name", MODELS)
def test_equal_to_gensim(name):
    kv = load_facebook_vectors(datapath(name))
    wv = WordVectors.open(datapath(name))
    assert wv.has_subwords and list(wv.words) == kv.index_to_key
    # gensim gives the end-of-sentence mark n-grams; fastText has not since 2017
    rows = wv.words != "</s>"
    np.testing.assert_array_equal(wv.vectors[rows], kv.vectors[rows])
    queries = [*UNSEEN, *wv.words[rows][:5]]
    expected = np.stack([kv.get_vector(word) for word in queries])
    np.testing.assert_array_equal(wv.subword_vectors(queries), expected)


@pytest.mark.parametrize("name", ["crime-and-punishment", "toy-model"])
def test_equal_to_output_of_fasttext(name):
    model = WordVectors.open(datapath(name + ".bin"))
    written = WordVectors.open(datapath(name + ".vec"))
    np.testing.assert_allclose(
        model.vectors, written.vectors_for(model.words)[0], rtol=1e-4, atol=1e-6
    )


def test_chunks_do_not_change_the_result(monkeypatch):
    wv = WordVectors.open(datapath("lee_fasttext_new.bin"))
    words = [f"unseen{i}" for i in range(50)]
    whole = wv.subword_vectors(words)
    monkeypatch.setattr("sk_metaembed.vectors._word_vectors._CHUNK_WORDS", 7)
    np.testing.assert_array_equal(wv.subword_vectors(words), whole)
    np.testing.assert_array_equal(wv.subword_vectors(words[3:4])[0], whole[3])


def test_words_beyond_the_limit_use_ngrams():
    whole = WordVectors.open(datapath("lee_fasttext_new.bin"))
    part = WordVectors.open(datapath("lee_fasttext_new.bin"), limit=9)
    np.testing.assert_array_equal(part.vectors, whole.vectors[:9])
    outside = whole.words[-1]
    assert outside not in part
    assert part.subword_vectors([outside]).any()


def test_float16_buckets():
    whole = WordVectors.open(datapath("lee_fasttext_new.bin"))
    half = WordVectors.open(datapath("lee_fasttext_new.bin"), dtype="float16")
    np.testing.assert_allclose(
        half.subword_vectors(UNSEEN), whole.subword_vectors(UNSEEN), atol=1e-2
    )


def test_a_model_without_ngrams_has_none():
    wv = WordVectors.open(datapath("pang_lee_polarity_fasttext.bin"))
    written = WordVectors.open(datapath("pang_lee_polarity_fasttext.vec"))
    np.testing.assert_allclose(
        wv.vectors, written.vectors_for(wv.words)[0], rtol=1e-4, atol=1e-6
    )
    with pytest.raises(ValueError, match="has no n-gram vectors"):
        wv.subword_vectors(["a"])


def test_loops_in_python_and_compiled_agree():
    wv, results = WordVectors.open(datapath("lee_fasttext_new.bin")), []
    for compiled in (False, True):
        with compiled_loops(compiled):
            results.append(wv.subword_vectors([*UNSEEN, *wv.words[:9]]))
    np.testing.assert_allclose(*results, rtol=0, atol=1e-6)
