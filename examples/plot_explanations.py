"""
Explain the predictions of a classifier
=======================================

A classifier of headlines combines published word vectors with vectors trained on the
texts. This example shows which words and sources determine single predictions. The
contributions are exact for a linear model, and computed by leaving words out for trees
and for a table with a column of numbers.
"""

# %%
# The headlines of BBC news, in five classes. Copies of an article stay on one side of
# the split.
from sklearn.model_selection import GroupShuffleSplit

from sk_metaembed.datasets import load_bbc_news

news = load_bbc_news()
titles = [text.partition("\n")[0] for text in news.data]
splitter = GroupShuffleSplit(n_splits=1, test_size=0.2, random_state=0)
train, test = next(splitter.split(titles, groups=news.groups))
texts, y = [titles[i] for i in train], news.target[train]
test_texts, y_test = [titles[i] for i in test], news.target[test]

# %%
# A linear model of averaged vectors. GloVe was trained on much text, fastText learns
# from the headlines alone.
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    EmbeddingUnion,
    FastTextEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
)
from sk_metaembed.datasets import load_glove_6b_50d

sources = EmbeddingUnion(
    [
        ("glove", PretrainedEmbedding(load_glove_6b_50d())),
        (
            "fasttext",
            FastTextEmbedding(50, sg=True, epochs=20, bucket=20_000, random_state=0),
        ),
    ]
)
pipe = make_pipeline(
    Tokenizer(), sources, Pooling(), StandardScaler(), LogisticRegression(C=0.05)
)
pipe.fit(texts, y)
print(f"accuracy: {pipe.score(test_texts, y_test):.3f}")

# %%
# Three correct and three wrong predictions. Blue words support the predicted class,
# vermilion words contradict it. The contributions, in the table below, and the base
# value sum to the decision value. The headline about the Da Vinci Code is classified as
# technology because of "code", and the one about food advertisements as politics
# because of "children".
import numpy as np

from sk_metaembed.inspection import explain

predicted = pipe.predict(test_texts)
rng = np.random.default_rng(3)
right, wrong = np.flatnonzero(predicted == y_test), np.flatnonzero(predicted != y_test)
rows = [*rng.choice(right, 3), *rng.choice(wrong, 3)]
shown = [test_texts[i] for i in rows]
print("true classes:", *(y_test[i] for i in rows))
explanation = explain(pipe, shown)
explanation  # noqa: B018

# %%
# The same as a table. ``explanation.to_html("why.html")`` writes the texts to a file.
print(explanation.frame().head(8).round(3))

# %%
# The contributions of the sources: GloVe determines all of these predictions.
_ = explanation.plot()

# %%
# The predictions of trees are not sums over words, so words are left out one at a time.
from sklearn.ensemble import HistGradientBoostingClassifier

trees = make_pipeline(*(step for _, step in pipe.steps[:3]))
trees.steps.append(("trees", HistGradientBoostingClassifier(max_iter=30)))
trees.fit(texts, y)
left_out = explain(trees, shown[:3])
left_out  # noqa: B018

# %%
# In a table, the words of one column are left out. The contribution of a column is the
# decision value minus its mean after the entry of this column is replaced by those of
# the background rows. Here the headline is decisive, and the length of the article
# matters little.
import pandas as pd
from sklearn.compose import ColumnTransformer

table = pd.DataFrame(
    {"title": titles, "n_words": [len(text.split()) for text in news.data]}
)
columns = ColumnTransformer(
    [
        ("title", make_pipeline(*(step for _, step in pipe.steps[:3])), "title"),
        ("length", StandardScaler(), ["n_words"]),
    ]
)
model = make_pipeline(columns, StandardScaler(), LogisticRegression(C=0.05))
model.fit(table.iloc[train], y)
background = table.iloc[rng.choice(train, 100)]
explanation = explain(
    model, table.iloc[test[rows]], column="title", background=background
)
print(explanation.frame("columns").round(2))
