"""
The Keras experiment on BBC news
================================

A popular article classifies BBC news in Keras: word2vec and fastText, trained on the
articles, are combined by a recurrent gate that it calls DME, and read by two GRUs. It
reports an accuracy of about .93; the notebook saved with it shows .90. This page
repeats the experiment with `DynamicMetaClassifier` and compares it with TF-IDF.

The ideas of the article are those of Kiela, Wang and Cho, `Dynamic meta-embeddings for
improved sentence representations <https://aclanthology.org/D18-1176/>`_, EMNLP 2018.
The data come with ``pip install 'sk_metaembed[examples]'``. The example takes a minute
or two.
"""

# %%
# The split
# ---------
# A fifth of the articles are the test set, chosen with ``random_state=33`` as in the
# article. A hundred texts occur twice, so some test articles have a copy in the
# training set. The column "new" of the table excludes these.
import numpy as np
from sklearn.model_selection import train_test_split

from sk_metaembed.datasets import load_bbc_news

news = load_bbc_news()
y = news.target
train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=33)
new = ~np.isin(news.groups[test], news.groups[train])
print(f"{len(train)} training articles, {len(test)} test articles, {new.sum()} new")

# %%
# The sources
# -----------
# Both sources have 100 dimensions, ignore words that occur fewer than four times, and
# are trained on the training articles. The network reads the first 200 words of each
# article.
from sk_metaembed import (
    EmbeddingUnion,
    FastTextEmbedding,
    Tokenizer,
    TokenSequences,
    Word2VecEmbedding,
)

options = {"vector_size": 100, "min_count": 4, "sg": True, "random_state": 0}
sources = EmbeddingUnion(
    [
        ("word2vec", Word2VecEmbedding(**options)),
        ("fasttext", FastTextEmbedding(**options, epochs=3, bucket=100_000)),
    ]
)
tokens = Tokenizer().fit_transform(news.data)
sources.fit(tokens[train])
X = sources.transform(TokenSequences.from_lists(row[:200] for row in tokens))
for name, share in sources.coverage_.items():
    print(f"{name} covers {share['tokens']:.1%} of the words of the training articles")

# %%
# The network
# -----------
# GRU(128), GRU(32), softmax and a dropout of .2 are as in the article. The sources are
# combined by DME as published: a projection, and softmax weights computed from the
# word's own vectors. A tenth of the training articles is held out to select the best
# epoch.
from sk_metaembed import DynamicMetaClassifier

net = DynamicMetaClassifier.published(
    "word",
    projection_dim=64,
    encoder="gru",
    encoder_dim=(128, 32),
    hidden_dims=(),
    embedding_dropout=0.4,
    network_options={"encoder_dropout": 0.2},
    lr=5e-3,
    batch_size=32,
    max_epochs=8,
    train_options={"lr_factor": 0.5, "lr_patience": 1, "n_iter_no_change": 8},
    random_state=0,
)
net.fit(X[train], y[train])
results = {"DME, GRU(128), GRU(32)": net.predict(X[test]) == y[test]}

# %%
# Linear baselines
# ----------------
# Mean vectors over the same 200 words, and TF-IDF over the same words and over all
# words.
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import ConcatMetaEmbedding, Pooling

means = make_pipeline(
    ConcatMetaEmbedding(),
    Pooling(),
    StandardScaler(),
    LogisticRegression(max_iter=1000),
)
means.fit(X[train], y[train])
results["means, LogisticRegression"] = means.predict(X[test]) == y[test]
for name, texts in {"200 words": X.tokens, "all words": tokens}.items():
    tfidf = make_pipeline(
        TfidfVectorizer(analyzer=list, sublinear_tf=True), LogisticRegression(C=10)
    )
    tfidf.fit(texts[train], y[train])
    results[f"TF-IDF of {name}"] = tfidf.predict(texts[test]) == y[test]

print(f"{'':<28}   all    new")
print(f"{'the article':<28} about .93")
print(f"{'its notebook':<28}   .90")
for name, right in results.items():
    print(f"{name:<28} {right.mean():.3f}  {right[new].mean():.3f}")

# %%
# The network has .942, and .945 on new articles, compared with .93 of the article and
# .90 of its notebook, for the same GRUs and the same split. The differences are:
# vectors are projected before they are combined, and weighted by a softmax over the
# sources instead of a recurrent sigmoid gate; sources that do not know a word have a
# weight of zero; there is no padding; vectors are trained by skip-gram; batches have 32
# articles; and the best of 8 epochs is selected. One point is 4 articles, and seeds and
# machines differ by as much. Over three seeds of longer training on three sources,
# ``benchmarks/bbc.py`` has .960 for DME and .966 for CDME. The copies hardly matter.
#
# A network is not necessary. A linear classifier on the means of the same vectors is as
# good, .942, and with TF-IDF it is better than both and takes a second or two: .971
# with the 200 words that the network reads, .982 with all words. These articles are
# long, and single words determine their class.
#
# Errors and weights
# ------------------
# Business and politics are confused with each other, 4 articles each way; 5 articles of
# entertainment are classified as tech, and 4 of tech as business. word2vec has nine
# tenths of the weight in all classes.
import matplotlib.pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay

from sk_metaembed.inspection import SourceWeightsDisplay

_, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    y[test],
    net.predict(X[test]),
    cmap="cividis",
    xticks_rotation=30,
    colorbar=False,
    ax=ax,
)
SourceWeightsDisplay.from_estimator(net, X[test], groups=y[test])
plt.show()
