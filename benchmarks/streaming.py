"""Stream documents to Parquet: memory, and speed compared with in-memory runs.

Documents are 20 to 40 random Zipf-distributed words each, in a text file created first.
Each run is a process of its own; peak memory is measured by the kernel. The in-memory
rate is that of the same fitted pipeline on lists of str that are in memory already:
all documents, each once, in batches of the same size, without reading or writing. Runs
of both alternate.

    python benchmarks/streaming.py                         # 2 million: minutes
    python benchmarks/streaming.py --documents 300000      # smaller
    python benchmarks/streaming.py --out-type .npy --rounds 5
"""

import argparse
import json
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np
from _measure import in_process, mebibytes
from strings_to_vectors import make_words

from sk_metaembed import (
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
    transform_in_batches,
)

CHUNK = 20_000
SHORTEST, LONGEST = 20, 40


def write_documents(path, words, n_documents, rng):
    """Write documents, one per line, with word probabilities 1 / rank."""
    share = np.cumsum(1 / np.arange(1, len(words) + 1))
    table = np.array(words, dtype=object)
    with open(path, "w", encoding="utf-8") as file:
        for start in range(0, n_documents, CHUNK):
            count = min(CHUNK, n_documents - start)
            ends = np.cumsum(rng.integers(SHORTEST, LONGEST + 1, size=count))
            drawn = np.searchsorted(share, rng.random(ends[-1]) * share[-1])
            drawn = table[drawn].tolist()
            begin = 0
            for end in ends.tolist():
                file.write(" ".join(drawn[begin:end]) + "\n")
                begin = end


def make_pipeline(folder):
    """Return the fitted pipeline, the same in every process."""
    from sklearn.pipeline import make_pipeline

    store = WordVectors.open(folder / "store")
    pipe = make_pipeline(Tokenizer(), PretrainedEmbedding(store), Pooling("mean"))
    return pipe.fit(["a word or two"])


def warm(pipe, folder, n_rows=5000):
    """Compile all functions that are compiled on first use."""
    with open(folder / "documents.txt", encoding="utf-8") as file:
        pipe.transform([next(file) for _ in range(n_rows)])


def run_streaming(folder, options):
    """Stream once in this process and print time and memory."""
    pipe = make_pipeline(folder)
    warm(pipe, folder)
    begin, cpu = time.perf_counter(), time.process_time()
    n_rows = transform_in_batches(
        pipe,
        folder / "documents.txt",
        folder / options.out,
        batch_size=options.batch_size,
    )
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    figures = {"rows": n_rows, "seconds": seconds, "cpu": cpu}
    print(json.dumps({**figures, "peak": mebibytes("VmHWM")}))


def batches_of(folder, options):
    """Return all documents as the streaming run reads them: lists of a batch each."""
    with open(folder / "documents.txt", encoding="utf-8") as file:
        lines = map(str.rstrip, file)
        return list(iter(lambda: list(islice(lines, options.batch_size)), []))


def run_in_memory(folder, options):
    """Transform all documents in memory, in batches, and print the rate."""
    pipe = make_pipeline(folder)
    warm(pipe, folder)
    batches = batches_of(folder, options)
    begin, cpu = time.perf_counter(), time.process_time()
    for batch in batches:
        pipe.transform(batch)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    figures = {"rows": sum(map(len, batches)), "seconds": seconds, "cpu": cpu}
    print(json.dumps({**figures, "peak": mebibytes("VmHWM")}))


def in_new_process(what, folder, options):
    """Run one part in its own process, and return its figures."""
    numbers = {
        "--batch-size": options.batch_size,
        "--out": f"streamed{options.out_type}",
        "--folder": folder,
    }
    flags = [part for pair in numbers.items() for part in pair]
    return in_process(__file__, "--run", what, *flags)


def prepare(folder, options):
    """Write the store and the documents."""
    rng = np.random.default_rng(options.seed)
    words = make_words(options.words, rng)
    matrix = rng.standard_normal((len(words), options.dim), dtype=np.float32)
    WordVectors.from_arrays(words, matrix, path=folder / "store")
    write_documents(folder / "documents.txt", words, options.documents, rng)
    size = (folder / "documents.txt").stat().st_size / 1e6
    print(
        f"{options.documents:,} documents of {SHORTEST} to {LONGEST} words, "
        f"{size:,.0f} MB; {options.words:,} words of {options.dim} d; batches of "
        f"{options.batch_size:,}; {options.out_type}\n"
    )


def compare_rates(folder, options):
    """Print the rates in memory and streamed, of alternating processes."""
    kinds = {"memory": "in memory, computed only", "stream": "streamed, all included"}
    runs = {kind: [] for kind in kinds}
    for _ in range(options.rounds):
        for kind in kinds:
            runs[kind].append(in_new_process(kind, folder, options))

    def rates(kind, clock):
        return np.array([run["rows"] / run[clock] for run in runs[kind]])

    print("| | documents/s | per CPU second | peak MiB |\n|---|---|---|---|")
    for kind, name in kinds.items():
        peak = max(run["peak"] for run in runs[kind])
        wall, cpu = (np.median(rates(kind, clock)) for clock in ("seconds", "cpu"))
        print(f"| {name} | {wall:,.0f} | {cpu:,.0f} | {peak:,.0f} |")
    ratios = [
        sorted(rates("stream", clock) / rates("memory", clock))
        for clock in ("seconds", "cpu")
    ]
    wall, cpu = (
        f"{np.median(ratio):.2f} ({ratio[0]:.2f} to {ratio[-1]:.2f})"
        for ratio in ratios
    )
    print(f"| streamed / in memory | {wall} | {cpu} | |", flush=True)


RUNS = {"stream": run_streaming, "memory": run_in_memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=2_000_000)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out-type", choices=[".parquet", ".npy"], default=".parquet")
    parser.add_argument("--run", choices=list(RUNS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="where files go; a temporary one")
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        RUNS[options.run](options.folder, options)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        prepare(Path(folder), options)
        compare_rates(Path(folder), options)


if __name__ == "__main__":
    main()
