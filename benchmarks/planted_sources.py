"""When does attention over sources help? Word vectors with planted errors on SST-2.

GloVe 100, word2vec 300 and neuralcoref 50 at unit length. For each word, each source is
wrong with probability `share`, and wrong vectors come in three kinds:

- "swapped": the vector of another word of the source, which looks like any other;
- "noise": a random direction of the same length;
- "long": a swapped vector that is three times as long, so that its norm gives it away.

An oracle knows which vectors are wrong: it marks them as not known, which removes them
from the sum. Networks are trained on four fifths of the training part of SST-2, with
the development part for early stopping, and scored on the fifth, one fold per seed.

Needs ``SK_METAEMBED_DATA``.
Run: python benchmarks/planted_sources.py [--seeds 3] [--share 0.4]
"""

import argparse

import numpy as np

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    EmbeddingUnion,
    PretrainedEmbedding,
)
from sk_metaembed.datasets import load_sst2, load_vectors

WORDS = ("glove-100", "word2vec-300", "neuralcoref-50")
NETWORK = {
    "encoder": "mean",
    "projection_dim": 128,
    "hidden_dims": (128,),
    "lr": 1e-3,
    "max_epochs": 15,
    "patience": 4,
    "train_options": {"lr_factor": 0.5, "lr_patience": 1},
}
KINDS = ("none", "swapped", "noise", "long")


def mixers():
    """Return the parameters of each row by its name."""
    vector = {"mixer_options": {"standardize": False}}
    return {
        "unweighted sum": {"attention": "uniform", "mixer_options": "published"},
        "DME": {"mixer_options": "published"},
        "CDME": {"attention": "context", "mixer_options": "published"},
        "vector gates": vector,
        "vector gates, sigmoid": vector | {"gate": "sigmoid"},
    }


def wrong_rows(block, share, rng):
    """Return which known rows of a block are wrong."""
    return (rng.random(len(block.known)) < share) & block.known


def spoiled(block, wrong, kind, rng):
    """Return the block with wrong vectors in some rows."""
    values = np.array(block.values, dtype=np.float32)
    rows = np.flatnonzero(wrong)
    if kind == "noise":
        noise = rng.normal(size=(len(rows), block.dim))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        values[rows] = noise * np.linalg.norm(values[rows], axis=1, keepdims=True)
    else:
        others = rng.choice(np.flatnonzero(block.known), len(rows))
        values[rows] = block.values[others] * (3 if kind == "long" else 1)
    return Block(block.name, values, block.level, block.known)


def masked(block, wrong):
    """Return the block without the wrong vectors."""
    known = block.known & ~wrong
    return Block(block.name, block.values * known[:, None], block.level, known)


def plant(X, kind, share):
    """Return the sequences with planted errors, and those that the oracle sees."""
    rng = np.random.default_rng(0)
    if kind == "none":
        return X, None
    wrong = [wrong_rows(block, share, rng) for block in X.blocks]
    pairs = list(zip(X.blocks, wrong, strict=True))
    return (
        X.with_blocks([spoiled(block, own, kind, rng) for block, own in pairs]),
        X.with_blocks([masked(block, own) for block, own in pairs]),
    )


def accuracies(X, y, n_train, parameters, seeds):
    """Return the accuracy on one fifth of the training part per seed."""
    order = np.random.default_rng(0).permutation(n_train)
    dev = np.arange(n_train, len(y))
    scores = []
    for seed, fold in zip(range(seeds), np.array_split(order, 5), strict=False):
        kept = np.setdiff1d(np.arange(n_train), fold)
        model = DynamicMetaClassifier.published(
            random_state=seed, **NETWORK | parameters
        )
        model.fit(X[kept], y[kept], X_val=X[dev], y_val=y[dev])
        scores.append(100 * model.score(X[fold], y[fold]))
    return scores


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, choices=range(1, 6), default=3)
    parser.add_argument("--share", type=float, default=0.4)
    options = parser.parse_args()
    train, dev = load_sst2("train"), load_sst2("dev")
    tokens = [*train.data, *dev.data]
    y = np.concatenate([train.target, dev.target])
    sources = [
        (name, PretrainedEmbedding(load_vectors(name), preprocess="unit"))
        for name in WORDS
    ]
    X = EmbeddingUnion(sources).fit_transform(tokens)
    print(f"| SST-2, {options.share:.0%} of the vectors wrong | {' | '.join(KINDS)} |")
    print("|---" * (1 + len(KINDS)) + "|")
    parts = {kind: plant(X, kind, options.share) for kind in KINDS}
    rows = {**mixers(), "oracle: unweighted sum of right vectors": None}
    for label, parameters in rows.items():
        cells = []
        for planted, right in parts.values():
            inputs = planted if parameters is not None else right
            if inputs is None:
                cells.append("")
                continue
            scores = accuracies(
                inputs,
                y,
                len(train.target),
                parameters or mixers()["unweighted sum"],
                options.seeds,
            )
            cells.append(f"{np.mean(scores):.1f} ± {np.std(scores, ddof=1):.1f}")
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
