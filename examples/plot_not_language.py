"""
Sequences that are not language
===============================

A token can be any string: an event in a log, an item, an amino acid, a state in a
month. This example has two cases: visits to a shop, few of which are labeled, and
images of digits as sequences of gray levels, whose positions decide.
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
# Only 300 of the 4000 training visits are labeled. A bag of events, and the pipeline
# without sources, learn only about the items in these visits. word2vec needs no labels
# and learns from all 4000 visits which items are viewed together; it is frozen before
# it is used in the pipeline. The second source is the price of an item from the
# catalogue, given by a function.
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import FunctionEmbedding, Word2VecEmbedding, make_text_pipeline

unlabelled, labelled, test = visits[300:4000], visits[:300], visits[4000:]
y, y_test = kinds[:300], kinds[4000:]


def price(events):
    """Return the log price of each item, and None for other events."""
    items = [event.partition("view:")[2] for event in events]
    return [[np.log(PRICES[int(item)])] if item else None for item in items]


word2vec = Word2VecEmbedding(
    32, window=10, min_count=1, sg=True, epochs=20, random_state=0
).fit(unlabelled + labelled)
visited, prices = FrozenEstimator(word2vec), FunctionEmbedding(price)
bag = make_pipeline(
    CountVectorizer(analyzer=list), LogisticRegression(max_iter=2000)
).fit(labelled, y)
print(f"bag of events       {bag.score(test, y_test):.3f}")
SOURCES = {
    "no source": None,
    "word2vec": [("visited", visited)],
    "price": [("price", prices)],
    "word2vec and price": [("visited", visited), ("price", prices)],
}
for name, sources in SOURCES.items():
    model = make_text_pipeline("classifier", sources, random_state=0).fit(labelled, y)
    print(f"{name:<20}{model.score(test, y_test):.3f}")

# %%
# Unlabeled visits help considerably: the bag of events has .54, the pipeline without
# sources .59, with word2vec .73. There are eight kinds of visitors. The price alone
# separates large and small budgets, which helps as much as the events themselves (.60);
# it does not improve word2vec, because co-occurrence already reflects prices.
#
# The neighbors of the item vectors show what word2vec has learned: how many of the ten
# nearest items are in the same department? A random choice would give a quarter; the
# result is about 85 %.
names = [f"view:{item}" for item in range(400)]
vectors = word2vec.transform([names]).to_list()[0]
vectors = vectors - vectors.mean(axis=0)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
nearest = np.argsort(-(vectors @ vectors.T), axis=1)[:, 1:11]
same = DEPARTMENTS[nearest] == DEPARTMENTS[:, None]
print(f"nearest items of the same department: {same.mean():.0%}")

# %%
# Images as sequences
# -------------------
# An image of a digit is 64 tokens, a gray level for each pixel, row by row. Which
# levels follow each other tells little; where they are tells the digit. The pipeline
# reads n-grams and positions, and its weights show that positions decide. A network
# learns a vector of each level and, as all images have 64 pixels, of each position.
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer

from sk_metaembed import DynamicMetaClassifier

data = load_digits()
images = [[f"gray{level}" for level in row] for row in (data.data // 4).astype(int)]
train, test = slice(0, 1000), slice(1000, None)


def ngrams(row):
    """Return groups of one to three adjacent tokens."""
    return [tuple(row[i : i + n]) for n in (1, 2, 3) for i in range(len(row) - n + 1)]


models = {
    "n-grams": make_pipeline(
        TfidfVectorizer(analyzer=ngrams, sublinear_tf=True),
        LogisticRegression(C=10, max_iter=2000),
    ),
    "pipeline": make_text_pipeline(random_state=0),
    "network": DynamicMetaClassifier(random_state=0),
}
for name, model in models.items():
    model.fit(images[train], data.target[train])
    print(f"{name:<10}{model.score(images[test], data.target[test]):.3f}")
print(models["pipeline"]["model"].weights_)

# %%
# N-grams find half of the digits. The pipeline and the network, which read positions,
# find more than nine of ten. In the stack, the weight of "positions" is the largest.
