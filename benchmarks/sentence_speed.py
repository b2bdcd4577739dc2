"""Speed of sentence vectors beside SentenceTransformer.encode, by length of text.

Texts of 5 to 500 words, cut from BBC news, through MiniLM or mpnet with the modules of
its folder, in one process. Rounds of the two sides alternate. The ratio is that of the
median times, which are of the processor with one thread, and of the clock with several
or on a GPU.

Needs ``SK_METAEMBED_DATA`` and sentence-transformers.

    python benchmarks/sentence_speed.py --model minilm --dtype bfloat16 --threads 2
"""

import argparse
import json
import logging
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils.logging import disable_progress_bar

from sk_metaembed import TransformerEmbedding
from sk_metaembed.datasets import encoder_path, load_bbc_news

LENGTHS = (5, 20, 50, 100, 200, 500)
MIXED = "5 to 500"


def texts_of(length, n_words, seed=0):
    """Return texts of a number of words, or of all numbers, of `n_words` together."""
    rng = np.random.default_rng(seed)
    words = [word for text in load_bbc_news().data for word in text.split()]
    texts, total = [], 0
    while total < n_words:
        size = int(rng.choice(LENGTHS)) if length == MIXED else length
        start = rng.integers(len(words) - size)
        texts.append(" ".join(words[start : start + size]))
        total += size
    return texts


def seconds(function, texts, clock):
    begin = clock()
    vectors = function(texts)
    return clock() - begin, vectors


def compare(model, source, texts, rounds, clock):
    """Return a row: seconds of both, their ratio and the distance of the vectors."""
    sides = {
        "encode": model.encode,
        "ours": lambda t: source.transform(t).blocks[0].values,
    }
    times = {name: [] for name in sides}
    vectors = {}
    for _ in range(rounds):
        for name, function in sides.items():
            taken, vectors[name] = seconds(function, texts, clock)
            times[name].append(taken)
    theirs = np.asarray(vectors["encode"], np.float32)
    norms = [np.linalg.norm(v, axis=1) for v in (theirs, vectors["ours"])]
    cosine = (theirs * vectors["ours"]).sum(1) / norms[0] / norms[1]
    encode, ours = (float(np.median(times[name])) for name in sides)
    return {
        "texts": len(texts),
        "encode": round(encode, 3),
        "ours": round(ours, 3),
        "ratio": round(encode / ours, 2),
        "lowest": round(float(np.divide(times["encode"], times["ours"]).min()), 2),
        "distance": float(np.abs(theirs - vectors["ours"]).max()),
        "cosine": float(cosine.min()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["minilm", "mpnet"], default="minilm")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--words", type=int, default=6000)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    logging.disable(logging.WARNING)
    disable_progress_bar()
    warnings.simplefilter("ignore")
    folder = encoder_path(args.model)
    options = {"dtype": getattr(torch, args.dtype)}
    model = SentenceTransformer(str(folder), device=args.device, model_kwargs=options)
    source = TransformerEmbedding(folder, device=args.device, dtype=args.dtype)
    source.fit(["a text"])
    alone = args.threads == 1 and args.device == "cpu"
    clock = time.process_time if alone else time.perf_counter
    rows = {}
    for length in (*LENGTHS, MIXED):
        texts = texts_of(length, args.words)
        for warm in (model.encode, source.transform):
            warm(texts[:4])
        rows[str(length)] = row = compare(model, source, texts, args.rounds, clock)
        print(
            f"{args.model} {args.dtype} {args.threads}: {length} words {row}",
            flush=True,
        )
    if args.output:
        args.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
