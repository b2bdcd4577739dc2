"""Stream documents to Parquet: memory, speed compared with in-memory runs, and kills.

Documents are 20 to 40 random Zipf-distributed words each, in a text file created first.
Each run is a process of its own; peak memory is measured by the kernel. The in-memory
rate is that of the same fitted pipeline on a list of some documents, before and after
streaming, without reading or writing, and on all documents, with reading and with
writing one table. Then the streaming run is repeated and killed at random times, and
the files are compared.

    python benchmarks/streaming.py                         # 5 million: minutes
    python benchmarks/streaming.py --documents 300000      # smaller
    python benchmarks/streaming.py --n-jobs 2 --kills 0
"""

import argparse
import filecmp
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from strings_to_vectors import make_words, peak_memory

from sk_metaembed import (
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
    transform_in_batches,
)

PIECE = 20_000
SHORTEST, LONGEST = 20, 40


def write_documents(path, words, n_documents, rng):
    """Write documents, one per line, with word probabilities 1 / rank."""
    share = np.cumsum(1 / np.arange(1, len(words) + 1))
    table = np.array(words, dtype=object)
    with open(path, "w", encoding="utf-8") as file:
        for start in range(0, n_documents, PIECE):
            count = min(PIECE, n_documents - start)
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
    print("begins", flush=True)
    result = transform_in_batches(
        pipe,
        folder / "documents.txt",
        folder / options.out,
        batch_size=options.batch_size,
        n_jobs=options.n_jobs,
    )
    figures = {name: getattr(result, name) for name in ("rows", "seconds", "resumed")}
    print(json.dumps({**figures, "peak": peak_memory(), "cpu": time.process_time()}))


def run_in_memory(folder, options):
    """Transform some documents in memory and print the rate."""
    pipe = make_pipeline(folder)
    with open(folder / "documents.txt", encoding="utf-8") as file:
        texts = [line.rstrip("\n") for _, line in zip(range(options.part), file)]  # noqa: B905
    warm(pipe, folder)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        pipe.transform(texts)
        times.append(time.perf_counter() - begin)
    print(json.dumps({"rate": len(texts) / min(times), "peak": peak_memory()}))


def run_whole(folder, options):
    """Run the complete job in memory: read all, transform all, write one table."""
    import pyarrow as pa
    from pyarrow import parquet

    pipe = make_pipeline(folder)
    warm(pipe, folder)
    begin = time.perf_counter()
    texts = (folder / "documents.txt").read_text(encoding="utf-8").splitlines()
    read = time.perf_counter()
    result = pipe.transform(texts)
    computed = time.perf_counter()
    flat = pa.array(result.reshape(-1))
    listed = pa.FixedSizeListArray.from_arrays(flat, result.shape[1])
    parquet.write_table(
        pa.table({"vector": listed}),
        folder / "whole.parquet",
        compression="NONE",
        use_dictionary=False,
        write_statistics=False,
    )
    with open(folder / "whole.parquet", "rb") as file:
        os.fsync(file.fileno())  # as in the streaming run
    seconds = time.perf_counter() - begin
    (folder / "whole.parquet").unlink()
    figures = {"rate": len(texts) / (computed - read), "whole": len(texts) / seconds}
    print(json.dumps({**figures, "peak": peak_memory()}))


def command(what, folder, options, out="streamed.parquet"):
    """Return the command that runs one part in its own process."""
    numbers = {
        "--batch-size": options.batch_size,
        "--part": options.part,
        "--n-jobs": options.n_jobs,
        "--out": out,
        "--folder": folder,
    }
    flags = [str(part) for pair in numbers.items() for part in pair]
    return [sys.executable, __file__, "--run", what, *flags]


def in_a_process(*args, **kwargs):
    """Run a command and return its output."""
    printed = subprocess.run(
        command(*args, **kwargs), check=True, capture_output=True, text=True
    )
    return json.loads(printed.stdout.splitlines()[-1])


def killed_and_resumed(folder, options, seconds):
    """Kill the streaming at random times and resume it; return the figures."""
    rng = random.Random(options.seed)
    moments = sorted(rng.uniform(0.05, 0.95) for _ in range(options.kills))
    last, finished = 0.0, []
    parts = folder / ".killed.parquet.parts"
    for moment in moments:
        process = subprocess.Popen(
            command("stream", folder, options, out="killed.parquet"),
            stdout=subprocess.PIPE,
        )
        process.stdout.readline()
        time.sleep((moment - last) * seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        last = moment
        finished.append(len([*parts.glob("*.json")]))
    result = in_a_process("stream", folder, options, out="killed.parquet")
    return finished, result


def report(folder, options):
    """Print the figures."""
    rng = np.random.default_rng(options.seed)
    words = make_words(options.words, rng)
    matrix = rng.standard_normal((len(words), options.dim), dtype=np.float32)
    WordVectors.from_arrays(words, matrix, path=folder / "store")
    write_documents(folder / "documents.txt", words, options.documents, rng)
    size = (folder / "documents.txt").stat().st_size / 1e6
    print(
        f"{options.documents:,} documents of {SHORTEST} to {LONGEST} words, "
        f"{size:,.0f} MB; {options.words:,} words of {options.dim} d; batches of "
        f"{options.batch_size:,}; n_jobs {options.n_jobs}"
    )
    before = in_a_process("memory", folder, options)
    streamed = in_a_process("stream", folder, options)
    after = in_a_process("memory", folder, options)
    whole = in_a_process("whole", folder, options)
    rate = streamed["rows"] / streamed["seconds"]
    in_memory = (before["rate"] + after["rate"]) / 2
    out = (folder / "streamed.parquet").stat().st_size / 1e6
    print(
        f"in memory, {options.part:,} documents: {before['rate']:,.0f} and "
        f"{after['rate']:,.0f} documents/s; peak {before['peak']:,.0f} MB\n"
        f"in memory, all documents: {whole['rate']:,.0f} documents/s, with reading and "
        f"writing {whole['whole']:,.0f}; peak {whole['peak']:,.0f} MB\n"
        f"streamed to Parquet, {out:,.0f} MB: {rate:,.0f} documents/s in "
        f"{streamed['seconds']:,.1f} s. Beside memory: {rate / in_memory:.2f} of the "
        f"rate of some documents, {rate / whole['rate']:.2f} of that of all, "
        f"{rate / whole['whole']:.2f} with reading and writing; "
        f"peak {streamed['peak']:,.0f} MB"
    )
    if options.kills:
        finished, last = killed_and_resumed(folder, options, streamed["seconds"])
        same = filecmp.cmp(
            folder / "streamed.parquet", folder / "killed.parquet", shallow=False
        )
        print(
            f"killed {len(finished)} times, with {finished} batches finished; "
            f"the last run found {last['resumed']:,} rows and took "
            f"{last['seconds']:,.1f} s. "
            f"Output equal byte for byte: {same}"
        )
        if not same:
            raise SystemExit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=5_000_000)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=50_000)
    parser.add_argument("--part", type=int, default=200_000, help="rows in memory")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--run", choices=["stream", "memory", "whole"], help=argparse.SUPPRESS
    )
    parser.add_argument("--folder", type=Path, help="where files go; a temporary one")
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run == "stream":
        run_streaming(options.folder, options)
    elif options.run == "memory":
        run_in_memory(options.folder, options)
    elif options.run == "whole":
        run_whole(options.folder, options)
    else:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            report(Path(folder), options)


if __name__ == "__main__":
    main()
