"""Classifiers, networks and table rows shared by the scripts that compare sources."""

import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import DynamicMetaClassifier

PENALTIES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1)
RATES = (4e-4, 1e-3, 3e-3)
NETWORK = {
    "encoder": "mean",
    "hidden_dims": (512,),
    "embedding_dropout": 0.5,
    "head_dropout": 0.5,
    "max_epochs": 30,
}
AS_THEY_ARE = {"projection_dim": None, "activation": None}
MIXTURES = {
    "uniform": "sum",
    "task": "scalar mix",
    "word": "word (DME)",
    "context": "context (CDME)",
}
PROJECTED = {"projection_dim": 256, "activation": "relu"}


def logistic(inputs, y, *, texts=False):
    """Return dev and test accuracy with the penalty selected on dev.

    Texts are converted to TF-IDF; other inputs are vectors.
    """
    step = TfidfVectorizer(token_pattern=r"\S+") if texts else StandardScaler()
    best = (0, 0)
    for C in (0.3, 1, 3, 10, 30) if texts else PENALTIES:
        pipe = make_pipeline(step, LogisticRegression(C=C, max_iter=2000))
        pipe.fit(inputs["train"], y["train"])
        scores = [pipe.score(inputs[part], y[part]) for part in ("dev", "test")]
        best = max(best, tuple(scores), key=lambda pair: pair[0])
    return [100 * score for score in best]


def row(dev, test):
    """Return both figures as table cells."""
    return f"{test:.2f} | {dev:.2f}"


def train(inputs, y, parameters, lr, seed):
    """Return dev and test accuracy of one network, and the network."""
    model = DynamicMetaClassifier.published(
        lr=lr, random_state=seed, **NETWORK, **parameters
    )
    model.fit(inputs["train"], y["train"], X_val=inputs["dev"], y_val=y["dev"])
    scores = [100 * model.score(inputs[part], y[part]) for part in ("dev", "test")]
    return scores, model


def measure(inputs, y, label, parameters, rates, seeds):
    """Print a row; return its mean accuracy on dev."""
    begin = time.process_time()
    tried = {lr: train(inputs, y, parameters, lr, 0) for lr in rates}
    lr = max(tried, key=lambda lr: tried[lr][0][0])
    runs = [tried[lr]] + [
        train(inputs, y, parameters, lr, seed) for seed in range(1, seeds)
    ]
    dev, test = np.array([scores for scores, _ in runs]).T
    spread = test.std(ddof=1) if seeds > 1 else 0.0
    seconds = (time.process_time() - begin) / (seeds + len(rates) - 1)
    weights = ""
    if parameters["attention"] == "task":
        shares = np.mean(
            [list(model.layer_weights_.values()) for _, model in runs], axis=0
        )
        weights = " ".join(f"{share:.2f}" for share in shares)
    epochs = np.mean([model.n_iter_ for _, model in runs])
    print(
        f"| {label} | {test.mean():.2f} +- {spread:.2f} | {dev.mean():.2f} | {lr} | "
        f"{epochs:.0f} | {seconds:.0f} | {weights} |",
        flush=True,
    )
    return dev.mean()


def show(*columns):
    """Print the head of a table."""
    print("\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
