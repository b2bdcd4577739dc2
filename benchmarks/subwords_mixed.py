"""Words, byte pairs and characters, alone and mixed, with sources trained on the fold.

Tasks: names in WNUT-2017 (span F1 of a BiLSTM-CRF, as in wnut17.py) and sentiment of
SST-2 learned from 1,000 sentences (accuracy of the mean of the words, another random
1,000 per seed). word2vec of words, word2vec of byte pairs, and fastText have the same
options and see the texts of the training fold only, in every seed anew; "chars" and
"learned pairs" are trained on the labels, with the network. Several sources are mixed
by DME, or concatenated before the projection. The development set is used for early
stopping and for the number of byte pairs (``--sizes``). Each run is appended to a JSON
lines file when it ends, and existing runs are not repeated.

Needs ``SK_METAEMBED_DATA`` and tokenizers.
Run: python benchmarks/subwords_mixed.py [--task sst2] [--rows REGEX ...]
"""

import argparse
import json
import re
import time
from pathlib import Path

import numpy as np
from scipy import stats
from wnut17 import SETTINGS, done, load_parts

from sk_metaembed import (
    BytePairEmbedding,
    CharEmbedding,
    ConcatMetaEmbedding,
    DynamicMetaClassifier,
    DynamicMetaTagger,
    EmbeddingUnion,
    FastTextEmbedding,
    PretrainedEmbedding,
    Word2VecEmbedding,
)
from sk_metaembed.datasets import load_sst2, load_vectors
from sk_metaembed.metrics import span_f1_score

VOCAB_SIZE = {"wnut17": 4000, "sst2": 1000}  # the best on dev, of 1,000 and 4,000
GENSIM = {"sg": True, "min_count": 1, "epochs": 20, "n_jobs": 1}
TAGGER = SETTINGS | {  # small, for many rows
    "mixer_options": "published",
    "projection_dim": 100,
    "encoder_dim": 64,
    "embedding_dropout": 0.2,
    "head_dropout": 0.2,
    "lr": 5e-3,
    "max_epochs": 12,
}
CLASSIFIER = {
    "encoder": "mean",
    "layer_norm": True,
    "embedding_dropout": 0.0,
    "hidden_dims": (),
    "lr": 2e-3,
    "batch_size": 32,
    "max_epochs": 30,
    "patience": 8,
}
ROWS = [
    "word",
    "pairs",
    "fasttext",
    "chars",
    "word + pairs",
    "word + chars",
    "word + pairs + chars",
    "fasttext + chars",
    "glove + chars",
    "glove + pairs + chars",
    "word + learned pairs + chars",
    "concat: word + pairs + chars",
    "glove",
    "glove + fasttext + chars",
]
TRAINED = ("chars", "learned pairs")


def sentiment_parts(seed, n=1000):
    """Return the three parts of SST-2, with `n` training sentences."""
    parts = {split: load_sst2(split) for split in ("train", "dev", "test")}
    rows = np.random.default_rng(seed).choice(len(parts["train"].data), n, False)
    parts["train"].update(
        data=parts["train"].data[rows], target=parts["train"].target[rows]
    )
    return parts


def trained_source(name, vocab_size):
    """Return a source that is trained on the labels."""
    if name == "chars":
        return CharEmbedding()
    return CharEmbedding(vocab_size=vocab_size, char_dim=100)


def union(seed, vocab_size):
    """Return the frozen sources."""
    options = GENSIM | {"random_state": seed}
    pairs = BytePairEmbedding(Word2VecEmbedding(**options), vocab_size=vocab_size)
    return EmbeddingUnion(
        [
            ("word", Word2VecEmbedding(**options)),
            ("pairs", pairs),
            ("fasttext", FastTextEmbedding(**options, bucket=200_000)),
            ("glove", PretrainedEmbedding(load_vectors("glove-100"))),
        ]
    )


def inputs_of(names, X, concat):
    """Return the parts with the frozen sources among the names."""
    frozen = [name for name in names if name not in TRAINED]
    if not frozen:
        return {name: part.tokens for name, part in X.items()}
    X = {name: part.select(frozen) for name, part in X.items()}
    if concat and len(frozen) > 1:
        together = ConcatMetaEmbedding(normalize=False).fit(X["train"])
        X = {name: together.transform(part) for name, part in X.items()}
    return X


def train(task, row, parts, X, seed):
    """Train once; return the record to store."""
    concat, names = row.startswith("concat: "), row.split(": ")[-1].split(" + ")
    inputs = inputs_of(names, X, concat)
    trained = [
        (name.replace(" ", "_"), trained_source(name, VOCAB_SIZE[task]))
        for name in names
        if name in TRAINED
    ]
    parameters = {"trainable": trained or None, "random_state": seed}
    parameters["attention"] = "uniform" if concat or len(names) == 1 else "word"
    begin = time.process_time()
    if task == "wnut17":
        model = DynamicMetaTagger(**TAGGER, **parameters)
    else:
        model = DynamicMetaClassifier.published(**CLASSIFIER, **parameters)
    y = {name: part.target for name, part in parts.items()}
    model.fit(inputs["train"], y["train"], X_val=inputs["dev"], y_val=y["dev"])
    seconds = time.process_time() - begin
    score = span_f1_score if task == "wnut17" else None
    scores = {
        part: 100 * score(y[part], model.predict(inputs[part]))
        if score
        else 100 * model.score(inputs[part], y[part])
        for part in ("dev", "test")
    }
    return scores | {"epochs": model.n_iter_, "seconds": seconds}


def line(label, runs):
    """Return a row of the table, with 95 % intervals over seeds."""
    cells = [label, str(len(runs))]
    for score in ("test", "dev"):
        values = [run[score] for run in runs]
        half = 0.0
        if len(values) > 1:
            half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
        cells.append(f"{np.mean(values):.1f} ± {half:.1f}")
    cells.append(f"{np.mean([run['seconds'] for run in runs]):.0f}")
    return "| " + " | ".join(cells) + " |"


def try_sizes(task, sizes):
    """Print the development score of byte pairs alone, by their maximum number."""
    parts = load_parts() if task == "wnut17" else sentiment_parts(0)
    for size in sizes:
        source = BytePairEmbedding(
            Word2VecEmbedding(**GENSIM, random_state=0), vocab_size=size
        )
        sources = EmbeddingUnion([("pairs", source)]).fit(parts["train"].data)
        X = {name: sources.transform(part.data) for name, part in parts.items()}
        print(size, round(train(task, "pairs", parts, X, 0)["dev"], 2), flush=True)


def main():
    """Run what is missing in the file and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=("wnut17", "sst2"), default="wnut17")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--rows", nargs="*", help="patterns of rows")
    parser.add_argument("--sizes", type=int, nargs="*", help="sizes to try on dev")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.sizes:
        return try_sizes(options.task, options.sizes)
    out = options.out or Path(f"subwords_{options.task}.jsonl")
    patterns = options.rows or [""]
    rows = [row for row in ROWS if any(re.search(part, row) for part in patterns)]
    runs = done(out)
    for seed in options.seeds:
        missing = [row for row in rows if (row, seed) not in runs]
        if not missing:
            continue
        parts = load_parts() if options.task == "wnut17" else sentiment_parts(seed)
        sources = union(seed, VOCAB_SIZE[options.task]).fit(parts["train"].data)
        X = {name: sources.transform(part.data) for name, part in parts.items()}
        for row in missing:
            result = {"row": row, "seed": seed}
            result |= train(options.task, row, parts, X, seed)
            runs[row, seed] = result
            with out.open("a") as file:
                file.write(json.dumps(result) + "\n")
    print("| sources | seeds | test | dev | CPU s per fit |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(line(row, [runs[row, seed] for seed in options.seeds]))


if __name__ == "__main__":
    main()
