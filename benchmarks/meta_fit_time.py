"""Time and memory to fit each meta-embedding on 70,000 shared words.

Three generated sources of 50, 100 and 300 dimensions: noisy linear views of one
60-dimensional space with a decaying spectrum. Each fit runs in its own process, one
after the other; the peak is the memory added by fitting.

Run: python benchmarks/meta_fit_time.py [--words 70000] [--methods SVD ...]
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
from _memory import peak_of

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    Block,
    EmbeddedSequences,
    GCCAMetaEmbedding,
    OneToNMetaEmbedding,
    ProcrustesMetaEmbedding,
    SVDMetaEmbedding,
    TokenSequences,
)

DIMS = (50, 100, 300)
METHODS = {
    "SVD": SVDMetaEmbedding(200, random_state=0),
    "SVD, exact": SVDMetaEmbedding(200, solver="exact"),
    "Procrustes": ProcrustesMetaEmbedding(),
    "GCCA": GCCAMetaEmbedding(200),
    "1TON": OneToNMetaEmbedding(200, solver="adagrad", random_state=0),
    "1TON, exact": OneToNMetaEmbedding(200, solver="als", random_state=0),
    "DAEME": AutoencodedMetaEmbedding("decoupled", random_state=0),
    "CAEME": AutoencodedMetaEmbedding("concatenated", random_state=0),
    "AAEME": AutoencodedMetaEmbedding("averaged", random_state=0),
}


def sources(n_words):
    """Return the generated words with three blocks."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n_words, 60)) / np.sqrt(1 + np.arange(60))
    names = np.array([f"w{i}" for i in range(n_words)], dtype=object)
    tokens = TokenSequences.from_lists([[name] for name in names])
    blocks = []
    for dim in DIMS:
        view = latent @ rng.normal(size=(60, dim)) / np.sqrt(60)
        view += 0.1 * rng.normal(size=view.shape)
        blocks.append(Block(f"{dim}d", view.astype(np.float32), "type"))
    return EmbeddedSequences(tokens, blocks)


def measure(method, n_words):
    """Return seconds and MiB of one fit."""
    X = sources(n_words)
    # The first fit of a process includes loading libraries and compiled code.
    few = TokenSequences.from_lists([[f"w{i}"] for i in range(300)])
    some = [block.take(slice(300)) for block in X.blocks]
    METHODS[method].fit(EmbeddedSequences(few, some))
    start = time.perf_counter()
    with peak_of() as peak:
        METHODS[method].fit(X)
    return {"fit s": time.perf_counter() - start, "peak MiB": peak.mebibytes}


def main():
    """Measure each method in its own process and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", choices=list(METHODS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--words", type=int, default=70_000)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.words)))
        return
    print(f"{options.words:,} words x {DIMS}\n")
    print("| method | fit s | peak MiB |\n|---|---|---|")
    for method in options.methods:
        command = [sys.executable, __file__, "--one", method]
        command += ["--words", str(options.words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        row = json.loads(done.stdout.splitlines()[-1])
        print(f"| {method} | {row['fit s']:.1f} | {row['peak MiB']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
