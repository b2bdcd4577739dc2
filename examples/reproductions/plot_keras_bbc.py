"""
The Keras experiment on BBC news
================================

A much-read article sorts BBC news with blocks of its own for Keras: word2vec and
fastText, trained on the articles, are mixed by a recurrent gate that it calls DME, and
two GRUs read the mixture. It reports an accuracy of about .93; the notebook saved with
it shows .90. This page runs that experiment with
`DynamicMetaClassifier`, and asks what TF-IDF does.

The article's ideas are those of Kiela, Wang and Cho, `Dynamic meta-embeddings for
improved sentence representations <https://aclanthology.org/D18-1176/>`_, EMNLP 2018.
The data come with ``pip install 'sk_metaembed[examples]'``. It takes a minute or two.
"""

# %%
# The split
# ---------
# A fifth of the news is the test, chosen with ``random_state=33`` as in the article. A
# hundred texts occur twice, so that some of the test have a copy among those to learn
# from. The column "new" of the table leaves these out.
import numpy as np
from sklearn.model_selection import train_test_split

from sk_metaembed.datasets import load_bbc_news

news = load_bbc_news()
y = news.target
train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=33)
new = ~np.isin(news.groups[test], news.groups[train])
print(f"{len(train)} articles to learn from, {len(test)} to test on, {new.sum()} new")

# %%
# The sources
# -----------
# Both have 100 dimensions, leave out words seen fewer than four times, and learn from
# the articles of the training part. The net then reads the first 200 words of each.
from sk_metaembed import (
    EmbeddingUnion,
    FastTextEmbedding,
    Tokenizer,
    TokenSequences,
    Word2VecEmbedding,
)

own = {"vector_size": 100, "min_count": 4, "sg": True, "random_state": 0}
sources = EmbeddingUnion(
    [
        ("word2vec", Word2VecEmbedding(**own)),
        ("fasttext", FastTextEmbedding(**own, epochs=3, bucket=100_000)),
    ]
)
tokens = Tokenizer().fit_transform(news.texts)
sources.fit(tokens[train])
X = sources.transform(TokenSequences.from_lists(row[:200] for row in tokens))
for name, share in sources.coverage_.items():
    print(f"{name} knows {share['tokens']:.1%} of the words of the training articles")

# %%
# The net
# -------
# GRU(128), GRU(32), softmax, a dropout of .2, as in the article. The mixture ahead of
# them is DME as published: a projection, and weights by softmax from the word's own
# vectors. A tenth of the training articles says which epoch is best.
from sk_metaembed import DynamicMetaClassifier

net = DynamicMetaClassifier(
    "word",
    projection_dim=64,
    encoder="gru",
    encoder_dim=(128, 32),
    hidden_dims=(),
    embedding_dropout=0.4,
    encoder_dropout=0.2,
    lr=5e-3,
    lr_factor=0.5,
    lr_patience=1,
    batch_size=32,
    max_epochs=8,
    patience=8,
    random_state=0,
)
net.fit(X[train], y[train])
results = {"DME, GRU(128), GRU(32)": net.predict(X[test]) == y[test]}

# %%
# Without a net
# -------------
# The same vectors, averaged over the same 200 words; and TF-IDF, which knows no
# vectors, over the same words and over all of them.
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
# The net has .942, and .945 on new articles, above the article's .93 and its notebook's
# .90, with the same GRUs on the same split. What differs: vectors are projected before
# they are mixed, and weighted by a softmax over the sources in place of a recurrent
# sigmoid gate; a word that a source lacks gets no weight for it; nothing is padded;
# vectors by skip-gram; batches of 32; and training goes back to the best of its 8
# epochs. A point is 4 articles, and seeds and machines differ by as much. Over three
# seeds of a longer training on three sources, ``benchmarks/bbc.py`` has .960 by DME and
# .966 by CDME. The copies hardly matter.
#
# It is no reason to train a net. A linear classifier on the means of the same vectors
# is as good, .942, and with TF-IDF it is ahead of both, in a second or two: .971 where
# it sees the 200 words that the net sees, .982 with all of them. These articles are
# long, and single words give their class away.
#
# Where it errs, and what it reads
# --------------------------------
# Business is taken for politics and politics for business, 4 articles each; 5 of
# entertainment for tech, and 4 of tech for business. Nine tenths of the weight are
# word2vec's, in all classes alike.
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
