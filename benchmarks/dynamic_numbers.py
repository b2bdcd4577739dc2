"""Weight decay and linear model of DynamicMetaRegressor on rated texts and columns.

R2 on up to 1,500 held-out rows, with words of GloVe 100, word2vec 300 and neuralcoref
50 at unit length. Copies of a text are in one part. "ridge" is a ridge regression on
the mean vectors with a penalty chosen by leave-one-out; weight decays are those of the
network alone. ``--part development`` chose the default, ``--part evaluation`` compares
it.

Needs ``SK_METAEMBED_DATA`` and the wheels of `_text_sets`.
Run: python benchmarks/dynamic_numbers.py RESULTS.jsonl --part development
"""

import argparse
from itertools import product

import numpy as np
import pandas as pd
from _records import append_record, read_records
from _text_sets import STATIC, embedding, rated_texts, texts_and_numbers
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from sk_metaembed import DynamicMetaRegressor, EmbeddingUnion, Pooling, Tokenizer

RATED = {
    "tweets": "tweets",
    "products": "amazonReviewSnippets",
    "film snippets": "movieReviewSnippets",
    "editorials": "nytEditorialSnippets",
}
COLUMNS = {
    "chocolate": ("cacao", "Bean_Origin_or_Bar_Name", "Rating"),
    "apps": ("googleplay", "App", "Rating"),
    "laptops": ("laptop_price", "Product", "Price_euros"),
    "craft beers": ("craft_beers", "name", "abv"),
    "noodles": ("ramen2022", "Variety", "Stars"),
    "beers": ("beer_ratings", "description", "review_overall"),
    "books": ("goodreads", "Title", "Rating"),
    "films": ("netflix", "description", "release_year"),
    "games": ("vgsales", "Name", "Year"),
    "restaurants": ("michelin", "Name", "Latitude"),
}
PARTS = {
    "development": [*RATED, "chocolate", "apps", "laptops", "craft beers"],
    "evaluation": ["noodles", "beers", "books", "films", "games", "restaurants"],
}
DECAYS = {"development": (0, 0.01, 0.03, 0.1, 0.3, "auto"), "evaluation": (0, "auto")}
DEFAULT = "with a linear model"


def load(name):
    """Return texts and numbers."""
    if name in RATED:
        scores, texts = rated_texts(RATED[name])
        return texts, np.array(scores)
    return texts_and_numbers(*COLUMNS[name])


def predictions(method, X, y, n_rows, seed):
    """Return predictions of the rows after the first `n_rows`, which are trained on."""
    train, test = X[:n_rows], X[n_rows:]
    if method == "ridge":
        model = RidgeCV(alphas=n_rows * np.logspace(-4, 1, 16))
        pooling = Pooling()
        model.fit(pooling.fit_transform(train), y[:n_rows])
        return model.predict(pooling.transform(test))
    options = {"weight_decay": method, "linear_share": 0}
    model = DynamicMetaRegressor(random_state=seed)
    if method != DEFAULT:
        model.set_params(train_options=options)
    return model.fit(train, y[:n_rows]).predict(test)


def main():
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--part", choices=list(PARTS), default="evaluation")
    parser.add_argument("--rows", type=int, nargs="*", default=[64, 250, 1000])
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    done = {(r["set"], r["rows"], r["seed"]) for r in read_records(options.results)}
    union = EmbeddingUnion([(source, embedding(source)) for source in STATIC])
    for name in PARTS[options.part]:
        texts, y = load(name)
        groups = pd.factorize(np.array(texts, dtype=object))[0]
        rng = np.random.default_rng(0)
        order = rng.permutation(groups.max() + 1)
        is_test = np.isin(groups, order[: len(order) // 4])
        test = rng.permutation(np.flatnonzero(is_test))[:1500]
        for n_rows, seed in product(options.rows, range(options.seeds)):
            if (name, n_rows, seed) in done or n_rows > np.count_nonzero(~is_test):
                continue
            rng = np.random.default_rng(seed)
            train = rng.permutation(np.flatnonzero(~is_test))[:n_rows]
            rows = np.concatenate([train, test])
            X = union.fit_transform(Tokenizer().transform([texts[i] for i in rows]))
            record = {"set": name, "rows": n_rows, "seed": seed}
            for method in ("ridge", *DECAYS[options.part], DEFAULT):
                predicted = predictions(method, X, y[rows], n_rows, seed)
                record[str(method)] = r2_score(y[rows][n_rows:], predicted)
            append_record(options.results, record)
    data = pd.read_json(options.results, lines=True)
    print(data.round(3).to_string())
    print(data.drop(columns=["set", "rows", "seed"]).mean().round(3).to_string())


if __name__ == "__main__":
    main()
