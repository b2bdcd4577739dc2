"""
Select sources, combination and pooling by grid search
======================================================

Sources, combination and pooling are parameters of a pipeline, so a grid search can
select them for your data.
"""

# %%
# Use three hundred distinct BBC news articles, so that the example takes a minute.
import numpy as np

from sk_metaembed.datasets import load_bbc_news

news = load_bbc_news()
first = np.unique(news.groups, return_index=True)[1]
rows = np.random.default_rng(0).choice(first, 300, replace=False)
texts, y = [news.data[row] for row in rows], news.target[rows]

# %%
# The grid has 3 x 3 x 2 = 18 candidates, each fitted on three folds. With `memory`,
# candidates with equal first steps share them: texts are tokenized once per fold, and
# vectors trained once per fold and selection of sources, nine times instead of 54.
import tempfile
import warnings

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sk_metaembed import (
    AverageMetaEmbedding,
    ConcatMetaEmbedding,
    DynamicMetaEmbedding,
    EmbeddingUnion,
    FastTextEmbedding,
    Pooling,
    Tokenizer,
    Word2VecEmbedding,
)

training = {"min_count": 3, "sg": True, "epochs": 10, "random_state": 0}
sources = [
    ("w2v", Word2VecEmbedding(**training)),
    ("ft", FastTextEmbedding(**training, bucket=50_000)),
]
dme = DynamicMetaEmbedding(
    projection_dim=64,
    network_options={"mixer": "published"},
    lr=5e-3,
    batch_size=16,
    max_epochs=10,
    early_stopping=True,
    random_state=0,
)
cache = tempfile.TemporaryDirectory()
pipe = Pipeline(
    [
        ("tokens", Tokenizer()),
        ("embed", EmbeddingUnion(sources)),
        ("meta", dme),
        ("pool", Pooling(mode=("mean", "max"))),
        ("clf", LogisticRegression(C=10, max_iter=2000)),
    ],
    memory=cache.name,
)
search = GridSearchCV(
    pipe,
    {
        "embed__active": [("w2v",), ("ft",), ("w2v", "ft")],
        "meta": [ConcatMetaEmbedding(), AverageMetaEmbedding(), dme],
        "pool__mode": ["mean", "max"],
    },
    cv=3,
    n_jobs=2,
    verbose=2,
)
# joblib warns when it replaces a worker process; results do not depend on it.
warnings.filterwarnings("ignore", message="A worker stopped")
search.fit(texts, y)

# %%
# For each selection of sources and each combination, the table shows the better of the
# two poolings. Result: word2vec is better than fastText; both concatenated are best, by
# less than the spread over folds. With two hundred labeled articles, attention gains
# nothing.
import matplotlib.pyplot as plt
import pandas as pd

results = pd.DataFrame(search.cv_results_)
results["sources"] = results["param_embed__active"].map(" + ".join)
results["combination"] = results["param_meta"].map(lambda step: type(step).__name__)
results["pooling"] = results["param_pool__mode"]
score = "mean_test_score"
table = results.pivot_table(score, "sources", "combination", aggfunc="max")
print(table.round(3).to_string())

# %%
# The mean is always better than the maximum; no other parameter has a larger effect.
results.pivot_table(score, "sources", "pooling", aggfunc="max").plot.barh(
    xlim=(0.5, 1), xlabel="accuracy"
)
plt.tight_layout()
plt.show()
cache.cleanup()
