"""Features of strings: singular vectors, and predictions as of scikit-learn's Ridge."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from sk_metaembed import TableEncoder

RNG = np.random.default_rng(0)
WORDS = ["warm", "dull", "Film", "plot", "no", "12", "(x)", "été"]
TEXTS = [" ".join(RNG.choice(WORDS, 4)) for _ in range(90)]
TEXTS += TEXTS[:20]
N_ROWS = len(TEXTS)
TARGETS = np.stack([[text.count(word) for text in TEXTS] for word in ("warm", "12")], 1)
TARGETS = TARGETS + RNG.normal(size=TARGETS.shape) / 4
NEW = ["warm warm 12", "", "Dull PLOT 1", "\N{SNOWMAN}", TEXTS[0]]
WEIGHTS = {"none": None, "some": RNG.random(N_ROWS), "zeros": np.arange(N_ROWS) % 3 > 0}


def predictions(encoder, X):
    names = encoder.get_feature_names_out().tolist()
    return X[:, [i for i, name in enumerate(names) if "predicted" in name]]


def ridge(penalty, y, weights):
    """Return predictions of new texts by a regression on words and characters."""
    vectorizers = [
        TfidfVectorizer(
            token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2), sublinear_tf=True
        ),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True),
    ]
    X, new = (
        hstack(
            [v.fit(sorted({*TEXTS})).transform(texts) for v in vectorizers]
        ).toarray()
        for texts in (TEXTS, NEW)
    )
    center = np.average(y, axis=0, weights=weights)
    model = Ridge(penalty, fit_intercept=False).fit(X, y - center, weights)
    return model.predict(new) + center


@pytest.mark.parametrize("kind", WEIGHTS)
def test_predictions_are_those_of_a_ridge_regression(kind):
    weights = WEIGHTS[kind]
    encoder = TableEncoder(target_type="continuous", random_state=0)
    encoder.fit(pd.DataFrame({"x": TEXTS}), TARGETS, weights)
    found = predictions(encoder, encoder.transform(pd.DataFrame({"x": NEW})))
    y = TARGETS / TARGETS.std(axis=0)
    differences = [
        np.abs(ridge(penalty, y, weights) - found).max()
        for penalty in (0.3, 1.0, 3.0, 10.0)
    ]
    assert min(differences) < 0.01 < 0.05 < sorted(differences)[1]


def test_training_rows_are_predicted_out_of_fold():
    noise = np.random.default_rng(1).normal(size=90)
    table = pd.DataFrame({"x": TEXTS[:90]})
    encoder = TableEncoder(random_state=0)
    own = predictions(encoder, encoder.fit_transform(table, TARGETS[:90, 0] + noise))
    learned = predictions(encoder, encoder.transform(table))
    own, learned = (np.corrcoef(x[:, 0], noise)[0, 1] for x in (own, learned))
    assert own < 0.1 and learned > own + 0.2


def test_directions_in_which_no_strings_differ_are_no_features():
    # Both orders of the words have the same n-grams.
    words = [f"{a}{b}{a}" for a, b in combinations("abcdefghij", 2)]
    pairs = list(zip(words[::2], words[1::2], strict=False))
    texts = [f"{a} {b}" for a, b in pairs] + [f"{b} {a}" for a, b in pairs]
    encoder = TableEncoder(n_components=30, random_state=0)
    X = encoder.fit_transform(pd.DataFrame({"x": texts}))
    names = encoder.get_feature_names_out().tolist()
    assert len(names) == len(pairs) + 1 and names[-1] == "x__log_count"
    assert (X[:, : len(pairs)].std(axis=0) > 0.01).all()
