"""Measure the store of word vectors: conversion, opening, memory, look-up.

Writes random vectors as word2vec text, converts them, and loads the same file with
gensim in the same run; ratios are more reliable than times. Every figure is measured in
a new process. Peak memory needs Linux.

    python benchmarks/store.py                  # 400,000 x 300; minutes, mostly gensim
    python benchmarks/store.py --words 100000   # smaller
    python benchmarks/store.py --no-gensim      # without gensim
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from _measure import in_process

CONVERT = """
wv = WordVectors.open(source, cache_dir=cache)
out["path"] = wv.path
"""
OPEN = """
wv = WordVectors.open(source, cache_dir=cache)
"""
GENSIM = """
kv = KeyedVectors.load_word2vec_format(source, binary=False)
"""
LOOKUP = """
wv = WordVectors.open(source, cache_dir=cache)
rng = np.random.default_rng(0)
ids = rng.integers(0, 2 * len(wv), 1_000_000)
words = np.array([f"w{i}" for i in ids.tolist()], object)
wv.lookup(words[:10])
begin = time.perf_counter()
rows = wv.lookup(words)
assert (rows == np.where(ids < len(wv), ids, -1)).all()
"""
GATHER = """
wv = WordVectors.open(source, cache_dir=cache)
rng = np.random.default_rng(0)
words = np.array([f"w{i}" for i in rng.integers(0, len(wv), 100_000).tolist()], object)
wv.vectors_for(words)
begin = time.perf_counter()
wv.vectors_for(words)
"""
FRAME = """
import json, sys, time
import numpy as np
import psutil
{imports}
source, cache = sys.argv[1:]
out = {{}}
process = psutil.Process()
before = process.memory_full_info().uss
begin = time.perf_counter()
{body}
out["seconds"] = time.perf_counter() - begin
memory = process.memory_full_info()
out["uss"], out["added"] = memory.uss / 2**20, (memory.uss - before) / 2**20
# not ru_maxrss, which a child inherits from its parent
with open("/proc/self/status") as file:
    peak = next(line for line in file if line.startswith("VmHWM"))
out["peak"] = int(peak.split()[1]) / 2**10
print(json.dumps(out))
"""
OURS = "from sk_metaembed import WordVectors"
THEIRS = "from gensim.models import KeyedVectors"


def write_text(path, n_words, dim):
    rng = np.random.default_rng(0)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{n_words} {dim}\n")
        for start in range(0, n_words, 10_000):
            size = min(10_000, n_words - start)
            rows = rng.normal(scale=0.3, size=(size, dim))
            pattern = " ".join(["%.6f"] * dim)
            lines = [pattern % tuple(row) for row in rows.tolist()]
            file.writelines(f"w{start + i} {row}\n" for i, row in enumerate(lines))


def measure(body, source, cache, imports=OURS):
    code = FRAME.format(imports=imports, body=body)
    return in_process("-c", code, source, cache)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--no-gensim", action="store_true")
    parser.add_argument("--folder", help="where to put the files (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        report(Path(folder), args)


def report(folder, args):
    source, cache = folder / "vectors.txt", folder / "cache"
    begin = time.perf_counter()
    write_text(source, args.words, args.dim)
    size = os.path.getsize(source) / 2**20
    print(f"{args.words:,} x {args.dim}, text of {size:,.0f} MiB written in", end=" ")
    print(f"{time.perf_counter() - begin:.0f} s\n")
    warm_up(folder)
    rows = [("convert text", measure(CONVERT, source, cache))]
    if not args.no_gensim:
        rows.append(("gensim, the same text", measure(GENSIM, source, cache, THEIRS)))
    opened = [measure(OPEN, source, cache) for _ in range(5)]
    rows.append(("open again", sorted(opened, key=lambda run: run["seconds"])[2]))
    imported = measure(f"{OURS}\n{OPEN}", source, cache, "")
    rows.append(("import the package and open", imported))
    rows.append(("look up 1,000,000 words", measure(LOOKUP, source, cache)))
    rows.append(("gather 100,000 vectors", measure(GATHER, source, cache)))
    print("| what | seconds | private MiB, added | private MiB, all | peak MiB |")
    print("|---|---|---|---|---|")
    for name, run in rows:
        memory = f"{run['added']:.0f} | {run['uss']:.0f} | {run['peak']:.0f}"
        print(f"| {name} | {run['seconds']:.3f} | {memory} |")
    if not args.no_gensim:
        ratio = rows[1][1]["seconds"] / rows[0][1]["seconds"]
        print(f"\nConverting is {ratio:.1f} times as fast as gensim's loader.")


def warm_up(folder):
    """Compile the code into numba's cache, so that it is not measured."""
    source = folder / "warm.txt"
    write_text(source, 10, 5)
    measure(LOOKUP.replace("1_000_000", "10"), source, folder / "warm")


if __name__ == "__main__":
    main()
