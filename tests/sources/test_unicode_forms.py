"""Words are the same in NFC and in NFD, in every step that learns or finds words."""

import unicodedata

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import sk_metaembed as sk
from sk_metaembed.sources import BaseWordEmbedding

from .. import tiny_elmo
from ..compiled import compiled_loops

WORDS = ["café", "naïve", "tea", "über", "señor"]
ROWS = [[WORDS[i % 5], WORDS[(i + 1 + i // 5) % 5], "and"] for i in range(20)]
Y = np.arange(20) % 2
TINY = {"vector_size": 4, "min_count": 1, "epochs": 2, "random_state": 0}


def spelled(rows, form):
    return [[unicodedata.normalize(form, word) for word in row] for row in rows]


class OneHot(BaseWordEmbedding):
    """A source that looks words up as they are."""

    def _fit_vectors(self, tokens, y):
        self.rows_ = {word: i for i, word in enumerate(tokens.types)}

    def _table(self):
        return np.eye(len(self.rows_), dtype=np.float32)

    def _find(self, words):
        return np.array([self.rows_.get(word, -1) for word in words], dtype=int)


def stored(form):
    words = [unicodedata.normalize(form, word) for word in [*WORDS, "and"]]
    return sk.PretrainedEmbedding(sk.WordVectors.from_arrays(words, np.eye(6)))


def stack():
    return make_pipeline(stored("NFC"), sk.StackedMetaClassifier(cv=2, random_state=0))


STEPS = {
    "word2vec": lambda: sk.Word2VecEmbedding(**TINY),
    "fasttext": lambda: sk.FastTextEmbedding(**TINY, bucket=50),
    "fasttext-subword": lambda: sk.FastTextEmbedding(
        **TINY | {"min_count": 8}, bucket=50
    ),
    "lsa-characters": lambda: sk.LSAEmbedding(3, char_ngrams=(1, 2), random_state=0),
    "distilled": lambda: sk.DistilledEmbedding(sk.LSAEmbedding(3, random_state=0)),
    "own": OneHot,
    "elmo": lambda: sk.ElmoEmbedding(*tiny_elmo.files()),
    "language model": lambda: sk.ElmoLanguageModel(
        architecture={"projection_dim": 4, "cell_dim": 4, "filters": ((1, 4),)},
        max_epochs=1,
        random_state=0,
    ),
    "nfc file": lambda: stored("NFC"),
    "nfd file": lambda: stored("NFD"),
    "sif": lambda: make_pipeline(stored("NFC"), sk.Pooling(weights="sif")),
    "stack": stack,
    "characters": lambda: sk.DynamicMetaClassifier(
        trainable=[("char", sk.TrainableCharacters(char_dim=3, filters=((1, 2),)))],
        max_epochs=1,
        random_state=0,
    ),
}


def output(step, rows):
    for method in ("predict_proba", "score_samples"):
        if hasattr(step, method):
            return getattr(step, method)(rows)
    result = step.transform(rows)
    return result.to_padded()[0] if isinstance(result, sk.EmbeddedSequences) else result


@pytest.mark.parametrize("name", STEPS)
def test_words_are_found_in_either_form(name):
    rows = {form: spelled(ROWS, form) for form in ("NFC", "NFD")}
    mixed = [rows[("NFC", "NFD")[i % 3 == 0]][i] for i in range(len(ROWS))]
    for fitted_on in rows.values():
        step = STEPS[name]().fit(fitted_on, Y)
        expected = output(step, fitted_on)
        assert np.any(expected)
        for seen in (*rows.values(), mixed):
            result = output(step, seen)
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_texts_are_looked_up_alike_by_both_loops():
    texts = ["Café TEA über", "señor naïve unknown"]
    for form in ("NFC", "NFD"):
        source = stored(form).fit(["tea"])
        small = source.transform(sk.Tokenizer(lowercase=False).transform(texts))
        with compiled_loops(True):
            large = sk.Tokenizer(lowercase=False).transform(texts)
            pooled = sk.Pooling().fit_transform(source.transform(large))
        assert small.blocks[0].known.tolist() == [True] * 5 + [False]
        np.testing.assert_allclose(pooled, sk.Pooling().fit_transform(small))


def test_other_spellings_follow_the_word_itself():
    words = ["\u00e9", "e\u0301", "\u00c9"]
    store = sk.WordVectors.from_arrays(words, np.eye(3))
    source = sk.PretrainedEmbedding(store).fit([["\u00e9"]])
    assert source.transform([words])[0].tolist() == np.eye(3).tolist()
    source.set_params(case_fallback=False).fit([["\u00e9"]])
    assert source.transform([["E\u0301"]])[0].tolist() == [[0, 0, 1]]
