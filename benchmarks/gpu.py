"""Speed, memory and use of a GPU: every network of the package and its bare version.

For each row: tokens per second (steady state, without set-up), the ratio to the bare
network of the same batch and dtype, the share of the GPU's time in matrix products and
recurrent layers of libraries, the share of the time in which the GPU computes, and its
peak memory. A small share of busy time means that the GPU waits for the CPU. Vectors,
sentences and weights are random, of published sizes; nothing is downloaded.

In float32, matrix products are exact and cuDNN may use TensorFloat-32, torch's
defaults; "tf32" allows it for products too. On a CPU, the products are those of its
libraries, and memory is not measured.

A row that fails is reported, and the exit status is 1. When `--minutes` have passed,
the row that is being measured and the other ones are skipped.

Run: python benchmarks/gpu.py [--device cuda] [--minutes 7] [--output gpu.json]
     python benchmarks/gpu.py --device cpu --quick
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import _gpu_rows as rows
import torch
from dme_training import PlainGRU
from quick import processor
from torch.profiler import ProfilerActivity, profile

DTYPES = ("float32", "bfloat16")
# Of kernels of cuBLAS, cuDNN, CUTLASS and attention, and of torch's operators on CPUs.
PRODUCTS = re.compile(
    r"gemm|gemv|cutlass|xmma|nvjet|wgmma|cudnn|rnn|lstm|gru|conv|fmha|flash|attention"
    r"|sdpa|::(add|b|badd)?(mm|bmm)$|::dot$|::mv$|linear",
    re.IGNORECASE,
)
NO_KERNELS = ("Memcpy", "Memset", "ProfilerStep", "Optimizer.", "Activity Buffer")
SECONDS = 60  # longest time of a row
NO_TIME = "no time was left"


class Row(NamedTuple):
    """A line of the table."""

    name: str
    run: object
    batch: int
    dtype: str
    bare: str | None = None  # the row that its ratio is taken to


def table(quick):
    """Return the rows, the most important ones first."""
    pairs = [
        ("plain loop", rows.plain(), None),
        ("DME", rows.dynamic("word"), "plain loop"),
        ("CDME", rows.dynamic("context"), "plain loop"),
        ("unweighted", rows.dynamic("uniform"), "plain loop"),
        ("plain loop, GRU", rows.plain(PlainGRU), None),
        ("DME, GRU", rows.dynamic("word", encoder="gru"), "plain loop, GRU"),
        ("plain loop, CRF", rows.plain_tagger, None),
        ("tagger", rows.tagger, "plain loop, CRF"),
    ]
    for name in ("MiniLM", "mpnet"):
        bare = f"{name}, bare pass"
        kind = name.lower()
        pairs.append((bare, rows.bare_transformer(kind), None))
        pairs.append((name, rows.transformer(kind), bare))
    pairs += [
        ("ELMo, torch's LSTMs", rows.bare_elmo, None),
        ("ELMo", rows.elmo, "ELMo, torch's LSTMs"),
        ("ELMo training, torch's LSTMs", rows.bare_language_model, None),
        ("ELMo training", rows.language_model, "ELMo training, torch's LSTMs"),
    ]
    made = [
        Row(name, run, 64, dtype, bare) for dtype in DTYPES for name, run, bare in pairs
    ]
    if quick:
        return [row._replace(batch=16) for row in made]
    large = ("plain loop", "DME", "MiniLM, bare pass", "MiniLM", "ELMo")
    made += [
        Row(name, run, batch, dtype, bare)
        for dtype in DTYPES
        for batch in (256, 1024)
        for name, run, bare in pairs
        if name in large
    ]
    return made + [Row(n, run, 64, "tf32", bare) for n, run, bare in pairs[:4]]


def measure(row, sizes, device):
    """Return the figures of a row as a dict."""
    on_gpu = device.startswith("cuda")
    dtype = "float32" if row.dtype == "tf32" else row.dtype
    with rows.products(row.dtype):
        run = row.run(sizes, device, dtype, row.batch)
        run.sample()  # allocates, and chooses algorithms
        if on_gpu:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        speed = run.speed()
        result = {"tokens_per_s": speed, "peak_mib": None}
        if on_gpu:
            result["peak_mib"] = torch.cuda.max_memory_allocated() / 2**20
        seconds, share, n_tokens = profiled(run.sample, on_gpu)
    busy = seconds / n_tokens * speed if on_gpu and seconds else None
    return result | {"products": share, "busy": busy}


def profiled(sample, on_gpu):
    """Return the seconds of kernels, the share of products in them, and the tokens.

    The share is None if nothing was recorded, as where CUPTI is not permitted.
    """
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=kinds) as recorded:
        n_tokens = sample()
        if on_gpu:
            torch.cuda.synchronize()
    times = {}
    for event in recorded.events():
        name, spent = event.name, event.self_cpu_time_total
        if on_gpu:
            is_kernel = event.device_type == torch.autograd.DeviceType.CUDA
            spent = event.time_range.elapsed_us() if is_kernel else 0.0
        # Annotations of the code appear among the kernels too.
        annotated = getattr(event, "is_user_annotation", False)
        if not annotated and not name.startswith(NO_KERNELS):
            times[name] = times.get(name, 0.0) + spent
    total = sum(times.values())
    products = sum(spent for name, spent in times.items() if PRODUCTS.search(name))
    return total / 1e6, products / total if total else None, n_tokens


@contextmanager
def time_limit(seconds):
    """Raise TimeoutError after some seconds, where signals exist."""
    main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not main:
        yield
        return

    def stop(*args):
        raise TimeoutError(f"took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measured(row, sizes, device, left):
    """Return a row's figures, or what prevented them; never raises an Exception."""
    record = {"name": row.name, "batch": row.batch, "dtype": row.dtype}
    record |= {"bare": row.bare, "error": None, "skipped": None}
    if left < 5:
        return record | {"skipped": NO_TIME}
    start = time.perf_counter()
    try:
        with time_limit(min(SECONDS, left)):
            record |= measure(row, sizes, device)
    except rows.Skipped as reason:
        record["skipped"] = str(reason)
    except Exception as error:
        if isinstance(error, TimeoutError) and left < SECONDS:
            record["skipped"] = NO_TIME
        else:
            record["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    record["seconds"] = time.perf_counter() - start
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return record


def add_ratios(records):
    """Add the ratio of each record to its bare network's."""
    speeds = {
        (r["name"], r["batch"], r["dtype"]): r.get("tokens_per_s") for r in records
    }
    for record in records:
        bare = speeds.get((record["bare"], record["batch"], record["dtype"]))
        own = record.get("tokens_per_s")
        record["ratio"] = own / bare if own and bare else None


HEADER = (
    "| | batch | dtype | tokens/s | x bare | products | busy | MiB |\n" + "|---" * 8
)


def line(record):
    """Return a record as a line of the table."""
    cells = [record["name"], record["batch"], record["dtype"]]
    reason = record["error"] or record["skipped"]
    if reason:
        word = "failed" if record["error"] else "skipped"
        return "| " + " | ".join(map(str, [*cells, f"{word}: {reason}"])) + " | | | | |"
    forms = ("tokens_per_s", "{:,.0f}"), ("ratio", "{:.2f}"), ("products", "{:.0%}")
    for name, form in (*forms, ("busy", "{:.0%}"), ("peak_mib", "{:,.0f}")):
        value = record[name]
        cells.append("" if value is None else form.format(value))
    return "| " + " | ".join(map(str, cells)) + " |"


def hardware(device):
    """Return what the figures depend on, by name."""
    packages = ("torch", "transformers", "skorch", "scikit-learn", "numpy", "triton")
    facts = {"device": device, "processor": processor(), "python": sys.version[:7]}
    facts |= {name: _version(name) for name in packages}
    facts["torch threads"] = torch.get_num_threads()
    if not device.startswith("cuda"):
        return facts
    about = torch.cuda.get_device_properties(device)
    return facts | {
        "GPU": about.name,
        "capability": f"{about.major}.{about.minor}",
        "memory": f"{about.total_memory / 2**30:.0f} GiB",
        "multiprocessors": about.multi_processor_count,
        "CUDA": torch.version.cuda,
        "cuDNN": torch.backends.cudnn.version(),
        "driver": _driver(),
        "TF32": f"products {torch.backends.cuda.matmul.allow_tf32}, "
        f"cuDNN {torch.backends.cudnn.allow_tf32}",
    }


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _driver():
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=10)
        return found.stdout.split("\n")[0] or "unknown"
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--minutes", type=float, default=7.0)
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--only", help="regular expression of names of rows")
    parser.add_argument("--output", help="a JSON file for the figures")
    args = parser.parse_args()
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error(f"torch {torch.__version__} finds no GPU; see --device cpu")
    warnings.simplefilter("ignore")
    end = time.perf_counter() + 60 * args.minutes
    facts, records = hardware(args.device), []
    print("\n".join(f"{name}: {value}" for name, value in facts.items()))
    print(f"\nAt most {args.minutes:g} minutes, {SECONDS} s per row.\n\n{HEADER}")
    sizes = rows.QUICK if args.quick else rows.Sizes()
    for row in table(args.quick):
        if args.only and not re.search(args.only, row.name):
            continue
        records.append(measured(row, sizes, args.device, end - time.perf_counter()))
        add_ratios(records)
        print(line(records[-1]), flush=True)
    failed = [record["name"] for record in records if record["error"]]
    if failed:
        print(f"\nFailed: {', '.join(failed)}")
    if args.output:
        content = {"hardware": facts, "quick": args.quick, "rows": records}
        with open(args.output, "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=1)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
