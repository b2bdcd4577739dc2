"""
Sequences that are not language
===============================

A token can be any string: an event in a log, an item, an amino acid, a table cell. Word
vectors assume that the neighbors of a token are informative about it, which is often
true for these as well. This example has two cases: visits to a shop, few of which are
labeled, and the rows of a table, written as ``column=value``.
"""

# %%
# Visits to a shop
# ----------------
# The visits are generated, so the structure of the data is known. The shop has 400
# items in four departments, with uninformative numbers. A visitor has a favourite
# department, which receives more than half of the views, and a large or small budget,
# which determines the price of the viewed items. Other events occur between the views.
import numpy as np

rng = np.random.default_rng(0)
DEPARTMENTS = np.repeat(["shoes", "lamps", "books", "tents"], 100)
PRICES = rng.lognormal(3.5, 0.8, size=400).round(2)
OTHER = ["open:reviews", "open:sizes", "search", "back"]


def visit(favourite, has_money):
    """Return the events of one visit."""
    cheap = np.argsort(np.argsort(PRICES)) / 400
    taste = (favourite == DEPARTMENTS) * 3 + 1.0
    chances = taste * (cheap if has_money else 1 - cheap) ** 2
    events = ["open:home"]
    for item in rng.choice(400, size=rng.integers(3, 9), p=chances / chances.sum()):
        events.append(f"view:{item}")
        if rng.random() < 0.5:
            events.append(str(rng.choice(OTHER)))
    return events


visitors = [(rng.choice(DEPARTMENTS), rng.random() < 0.5) for _ in range(5000)]
visits = [visit(*visitor) for visitor in visitors]
kinds = np.array([f"{name}, {'rich' if rich else 'poor'}" for name, rich in visitors])
print(" ".join(visits[0]), "->", kinds[0])

# %%
# Only 300 of the 4000 training visits are labeled. A bag of events learns only about
# the items in these visits. word2vec needs no labels and learns from all 4000 visits
# which items are viewed together; it is frozen before it is used in the pipeline. The
# second source is the price of an item from the catalogue, given by a function.
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    ConcatMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    Pooling,
    Tokenizer,
    Word2VecEmbedding,
)

unlabelled, labelled, test = visits[300:4000], visits[:300], visits[4000:]
y, y_test = kinds[:300], kinds[4000:]


def price(events):
    """Return the log price of each item, and None for other events."""
    items = [event.partition("view:")[2] for event in events]
    return [[np.log(PRICES[int(item)])] if item else None for item in items]


word2vec = Word2VecEmbedding(
    32, window=10, min_count=1, sg=True, epochs=20, random_state=0
).fit(unlabelled + labelled)
sources = EmbeddingUnion(
    [("visited", FrozenEstimator(word2vec)), ("price", FunctionEmbedding(price))]
)


def score(*steps):
    """Return the accuracy on the test visits."""
    model = make_pipeline(*steps, LogisticRegression(max_iter=2000)).fit(labelled, y)
    return model.score(test, y_test)


print(f"bag of events            {score(CountVectorizer(analyzer=list)):.3f}")
for active in (["visited"], ["price"], ["visited", "price"]):
    sources.set_params(active=active)
    steps = Tokenizer(), sources, ConcatMetaEmbedding(normalize=False), Pooling()
    print(f"{' and '.join(active):<25}{score(*steps, StandardScaler()):.3f}")

# %%
# Unlabeled visits help considerably: the bag of events has .54, word2vec .67. There
# are eight kinds of visitors. The price alone can only separate large and small
# budgets, which it does almost perfectly (.24 of about .25). It does not improve
# word2vec, because co-occurrence already reflects prices.
#
# The neighbors of the item vectors show what word2vec has learned: how many of the ten
# nearest items are in the same department? A random choice would give a quarter; the
# result is 85 %.
names = [f"view:{item}" for item in range(400)]
vectors = word2vec.transform([names]).to_list()[0]
vectors = vectors - vectors.mean(axis=0)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
nearest = np.argsort(-(vectors @ vectors.T), axis=1)[:, 1:11]
same = DEPARTMENTS[nearest] == DEPARTMENTS[:, None]
print(f"nearest items of the same department: {same.mean():.0%}")

# %%
# Rows of a table
# ---------------
# The breast cancer data have 569 tumors with 30 measurements, each binned into five
# bins. A row becomes thirty tokens such as ``mean radius=3``. Their order has no
# meaning, so the window spans the row. One-hot columns are the same tokens as a bag.
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder

data = load_breast_cancer(as_frame=True)


def spell(cells):
    """Return each row of bins as a list of tokens."""
    return [
        [f"{column}={value:.0f}" for column, value in zip(data.data, row, strict=True)]
        for row in cells
    ]


def bins():
    """Return the step that bins each column into five bins."""
    return KBinsDiscretizer(
        5, encode="ordinal", quantile_method="averaged_inverted_cdf"
    )


embedding = Word2VecEmbedding(
    16, window=30, min_count=1, sg=True, epochs=20, random_state=0
)
models = {
    "numbers": (StandardScaler(),),
    "one-hot bins": (bins(), OneHotEncoder(handle_unknown="ignore")),
    "tokens, word2vec, mean": (
        bins(),
        FunctionTransformer(spell),
        embedding,
        Pooling(),
        StandardScaler(),
    ),
}
for name, steps in models.items():
    model = make_pipeline(*steps, LogisticRegression(max_iter=2000))
    scores = cross_val_score(model, data.data, data.target, cv=5)
    print(f"{name:<26}{scores.mean():.3f} +- {scores.std():.3f}")

# %%
# Result: .98 for the numbers, .95 for one-hot bins, .94 for tokens. A table with a few
# numeric columns needs no embedding. Binning reduces the accuracy more than word2vec,
# which preserves nearly all of the accuracy of the one-hot columns in 16 dimensions
# instead of 150. Tokens are useful for columns with thousands of values, such as the
# items above.
