"""Accuracy, calibration and time of make_text_pipeline by the effort that is spent.

Sources are two sets of static word vectors and MiniLM or mpnet. Texts are cut to 1,000
characters.

Run: python benchmarks/effort.py [--sets products:1000 sst2:1000] [--efforts low medium]
     [--encoder mpnet]
"""

import argparse
import time

import _text_sets as text_sets
import numpy as np
from sklearn.metrics import accuracy_score, log_loss

from sk_metaembed import TransformerEmbedding, make_text_pipeline
from sk_metaembed.datasets import encoder_path

SETS = ("products:1000", "sst2:1000", "questions:1000")
STATIC = ("glove-100", "word2vec-300")
LONGEST = 1000  # characters
BINS = 10


def pipeline(effort, encoder, seed):
    """Return the pipeline of an effort, unfitted."""
    path = encoder_path(encoder)
    sources = [(name, text_sets.embedding(name)) for name in STATIC]
    sources.append((encoder, TransformerEmbedding(path)))
    return make_text_pipeline("classifier", sources, effort=effort, random_state=seed)


def calibration_error(right, confidence):
    """Return the mean distance of confidence and accuracy over bins of equal size."""
    order = np.argsort(confidence)
    gaps = [
        len(part) * abs(right[part].mean() - confidence[part].mean())
        for part in np.array_split(order, BINS)
    ]
    return sum(gaps) / len(order)


def measure(name, n_rows, effort, encoder, seed):
    """Return accuracy in %, log loss, calibration error in %, and CPU seconds."""
    data = text_sets.load(name)
    texts = np.array([text[:LONGEST] for text in data.texts], dtype=object)
    train = text_sets.subset(data, n_rows, seed)
    model = pipeline(effort, encoder, seed)
    start = time.process_time()
    model.fit(texts[train].tolist(), data.y[train])
    seconds = time.process_time() - start
    p = model.predict_proba(texts[data.test].tolist())
    y = data.y[data.test]
    predicted = model.classes_[p.argmax(axis=1)]
    return (
        100 * accuracy_score(y, predicted),
        log_loss(y, p, labels=model.classes_),
        100 * calibration_error(predicted == y, p.max(axis=1)),
        seconds,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS, help="name:rows")
    efforts = ("low", "medium", "high")
    parser.add_argument("--efforts", nargs="+", default=efforts, choices=efforts)
    parser.add_argument("--encoder", choices=["minilm", "mpnet"], default="minilm")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("| set | rows | effort | accuracy | log loss | calibration error | CPU s |")
    print("|---" * 7 + "|")
    for each in args.sets:
        name, _, n_rows = each.partition(":")
        for effort in args.efforts:
            found = measure(name, int(n_rows), effort, args.encoder, args.seed)
            line = "{:.1f} | {:.3f} | {:.1f} | {:,.0f}".format(*found)
            print(f"| {name} | {n_rows} | {effort} | {line} |", flush=True)


if __name__ == "__main__":
    main()
