"""A stack over output="sentence" beside one over the means of hidden states.

The same sources, texts, labels and folds, for draws of training rows. Vectors are
computed once and stored in a folder: means as `_text_sets.vectors` has them, sentence
vectors beside them.

    python benchmarks/sentence_stack.py --folder vectors --sets sst2 stsb --labels 1000
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from _text_sets import embedding, load, tokens, vectors

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    SequencePairs,
    StackedMetaClassifier,
    StackedMetaRegressor,
)

TRANSFORMERS = ("minilm", "mpnet")


def sentence_vectors(name, source, folder):
    """Return the vectors of a set's texts with ``output="sentence"``."""
    path = Path(folder) / f"{name}-{source}-sentence.npy"
    if not path.exists():
        data = load(name)
        texts = data.texts
        texts = [*texts[:, 0], *texts[:, 1]] if data.pairs else list(texts)
        step = embedding(source).set_params(output="sentence")
        np.save(path, step.fit_transform(texts).blocks[0].values)
    return np.load(path)


def blocks_of(name, sources, folder, kind):
    """Return the EmbeddedSequences or SequencePairs of a set."""
    data = load(name)
    found = vectors(name, sources, folder)
    if kind == "sentence":
        for source in set(sources) & set(TRANSFORMERS):
            found[source] = sentence_vectors(name, source, folder)
    blocks = [Block(source, v, "sequence") for source, v in found.items()]
    X = EmbeddedSequences(tokens(data), blocks)
    return SequencePairs(X) if data.pairs else X


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default="vectors")
    parser.add_argument("--sets", nargs="+", default=["sst2", "bbc", "stsb"])
    parser.add_argument("--sources", nargs="+", default=["glove-100", *TRANSFORMERS])
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = {}
    for name in args.sets:
        data = load(name)
        stack = StackedMetaRegressor if data.continuous else StackedMetaClassifier
        scores = {}
        for kind in ("mean", "sentence"):
            X = blocks_of(name, args.sources, args.folder, kind)
            scores[kind] = []
            for seed in range(args.draws):
                rng = np.random.default_rng(seed)
                train = np.sort(rng.permutation(data.train)[: args.labels])
                model = stack(random_state=seed).fit(X[train], data.y[train])
                scores[kind].append(100 * model.score(X[data.test], data.y[data.test]))
        gains = np.subtract(scores["sentence"], scores["mean"])
        half = 2.776 * gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) == 5 else 0
        rows[name] = {kind: round(float(np.mean(s)), 2) for kind, s in scores.items()}
        rows[name] |= {"gain": round(float(gains.mean()), 2), "half": round(half, 2)}
        print(name, args.sources, args.labels, rows[name], flush=True)
    if args.output:
        args.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
