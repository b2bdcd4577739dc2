"""Training and prediction speed and memory of a BiLSTM-CRF tagger.

On WNUT-2017 with GloVe 100 d: DynamicMetaTagger, sklearn-crfsuite (a linear CRF over
hand-written features of the word and its neighbours; if installed) and flair's
SequenceTagger (the same vectors and BiLSTM size, its own dropouts; in another Python,
``--flair-python``). The limit is what no tagger can leave out: the matrix products of
the same batches and the recurrences of the CRF, with nothing between them. Each side
runs in its own process; they alternate for ``--rounds`` rounds. Medians of tokens/s are
printed, and medians over the rounds of the ratios to flair and to the limit.
``--profile`` prints instead which operations of torch the time of DynamicMetaTagger
goes to.

A pass is an epoch of the networks, or an iteration of L-BFGS in crfsuite, which needs
about 100. Input tokens are lists; prediction includes the look-up of vectors or the
computation of features. Memory is the peak of the process.

Needs ``SK_METAEMBED_DATA``.
Run: python benchmarks/tagging_speed.py [--flair-python PYTHON] [--rounds 5] [--profile]
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SIZES = {"projection_dim": 100, "encoder_dim": 128, "batch_size": 32}
SIDES = ("DynamicMetaTagger, CRF", "DynamicMetaTagger, softmax", "sklearn-crfsuite")
FLAIR, LIMIT = "flair SequenceTagger", "limit: products and recurrences"


def write_data(folder):
    """Write sentences, tags and vectors for all sides; return the token counts."""
    from sk_metaembed.datasets import fetch_wnut17, load_vectors

    parts = {split: fetch_wnut17(split) for split in ("train", "test")}
    vectors = load_vectors("glove-100")
    seen = {w for part in parts.values() for w in part.data.types}
    words = sorted(w for w in seen | {w.lower() for w in seen} if w in vectors)
    np.save(folder / "vectors.npy", np.stack([vectors[word] for word in words]))
    data = {name: part.data.to_list() for name, part in parts.items()}
    data |= {"tags": parts["train"].target.tolist(), "words": words, "sizes": SIZES}
    (folder / "data.json").write_text(json.dumps(data))
    return [parts[name].data.n_tokens for name in ("train", "test")]


def network(folder, data, decoder):
    """Return functions for one training pass and for prediction, and the passes."""
    from sklearn.pipeline import make_pipeline

    from sk_metaembed import DynamicMetaTagger, PretrainedEmbedding, WordVectors

    vectors = WordVectors.from_arrays(data["words"], np.load(folder / "vectors.npy"))
    tagger = DynamicMetaTagger(
        "uniform",
        mixer_options="published",
        decoder=decoder,
        scheme="IOB2" if decoder == "crf" else None,
        max_epochs=1,
        early_stopping=False,
        random_state=0,
        **SIZES,
    )
    pipe = make_pipeline(PretrainedEmbedding(vectors), tagger)
    train = lambda: pipe.fit(data["train"], data["tags"])  # noqa: E731
    return train, lambda: pipe.predict(data["test"]), 1


def crfsuite(folder, data):
    """Return the same for a linear CRF over hand-written features."""
    from sklearn_crfsuite import CRF

    passes = 10
    crf = CRF(c1=0.1, c2=0.1, max_iterations=passes)

    def train():
        crf.fit([features(row) for row in data["train"]], data["tags"])

    return train, lambda: crf.predict([features(row) for row in data["test"]]), passes


def features(row):
    """Return the usual features of each word and its neighbours."""
    own = [_features_of(word) for word in row]
    before = [{"BOS": True}, *({f"-1:{k}": v for k, v in f.items()} for f in own[:-1])]
    after = [*({f"+1:{k}": v for k, v in f.items()} for f in own[1:]), {"EOS": True}]
    return [a | b | c for a, b, c in zip(own, before, after, strict=True)]


def _features_of(word):
    return {
        "lower": word.lower(),
        "suffix3": word[-3:],
        "suffix2": word[-2:],
        "upper": word.isupper(),
        "title": word.istitle(),
        "digit": word.isdigit(),
    }


def serve(side, folder, threads):
    """Train and predict once per input line, and print the times."""
    import torch

    torch.set_num_threads(threads)
    train, predict, passes = opened(side, folder)
    for _ in sys.stdin:
        times = [time.perf_counter(), time.process_time()]
        train()
        times += [time.perf_counter(), time.process_time()]
        predict()
        times += [time.perf_counter(), time.process_time()]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        report = {"times": times, "peak": peak, "passes": passes}
        print(json.dumps(report), flush=True)


def opened(side, folder):
    """Return functions for one training pass and for prediction, and the passes."""
    data = json.loads((folder / "data.json").read_text())
    if side == "sklearn-crfsuite":
        return crfsuite(folder, data)
    if side == LIMIT:
        from _bare_tagger import BareTagger

        bare = BareTagger(data, np.load(folder / "vectors.npy").shape[1])
        return bare.train, bare.predict, 1
    return network(folder, data, side.split()[-1].lower())


def profile(folder):
    """Print the operations that training and prediction spend their time in."""
    import torch

    torch.set_num_threads(1)
    train, predict, _ = opened(SIDES[0], Path(folder))
    train()
    for name, function in [("Training", train), ("Prediction", predict)]:
        with torch.profiler.profile() as recorded:
            function()
        events = recorded.key_averages()
        total = sum(event.self_cpu_time_total for event in events)
        print(f"{name}: {total / 1e6:.2f} s under the profiler")
        for event in sorted(events, key=lambda e: -e.self_cpu_time_total)[:15]:
            share, n = event.self_cpu_time_total / total, event.count
            print(f"{share:7.1%} {n:7} times {event.key}")


def open_sides(folder, options):
    """Return a process for each installed tagger."""
    own, threads = [sys.executable, __file__], str(options.threads)
    has_crfsuite = importlib.util.find_spec("sklearn_crfsuite") is not None
    commands = {
        side: [*own, "--side", side, "--folder", folder, "--threads", threads]
        for side in [*SIDES[: 2 + has_crfsuite], LIMIT]
    }
    if options.flair_python:
        script = Path(__file__).with_name("_flair_tagger.py")
        commands[FLAIR] = [options.flair_python, str(script), folder, threads]
    # The limit has more shapes of matrices than oneDNN keeps by default.
    env = os.environ | {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "8192"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return {
        side: subprocess.Popen(c, **pipes, env=env if side == LIMIT else None)
        for side, c in commands.items()
    }


def ask(process):
    """Run a tagger once; return its times."""
    process.stdin.write("\n")
    process.stdin.flush()
    for line in process.stdout:  # libraries may print other lines
        if line.startswith('{"times"'):
            return json.loads(line)
    raise RuntimeError("A side ended before its time; see its message above.")


def summary(report, n_train, n_test, clock):
    """Return the median tokens/s of a training pass and of prediction."""
    steps = np.diff([t["times"][clock::2] for t in report], axis=1)
    passes = report[0].get("passes", 1)
    train, predict = np.median(steps, axis=0)
    return passes * n_train / train, n_test / predict


def main():
    """Run all taggers alternately and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flair-python", help="a Python that has flair")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        serve(options.side, options.folder, options.threads)
        return
    with tempfile.TemporaryDirectory() as folder:
        counts = write_data(Path(folder))
        if options.profile:
            profile(folder)
            return
        sides = open_sides(folder, options)
        report = {side: [] for side in sides}
        for number in range(options.rounds + 1):
            for side, process in sides.items():
                answer = ask(process)
                report[side] += [answer] if number else []  # the first warms up
        for process in sides.values():
            process.stdin.close()
            process.wait()
    print_table(report, counts)
    print_ratios(report)


def print_table(report, counts):
    """Print tokens/s by wall and CPU time, and the peak memory."""
    names = "train a pass", "ratio", "(CPU)", "predict", "ratio", "(CPU)", "MiB"
    print(f"{counts[0]} and {counts[1]} tokens; tokens/s\n")
    print("| | " + " | ".join(names) + " |\n" + "|---" * 8 + "|")
    ours = summary(report[SIDES[0]], *counts, 0)
    for side, answers in report.items():
        wall, cpu = (summary(answers, *counts, clock) for clock in (0, 1))
        cells = []
        for mine, theirs, busy in zip(ours, wall, cpu, strict=True):
            cells += [f"{theirs:,.0f}", f"{theirs / mine:.2f}", f"{busy:,.0f}"]
        peak = max(answer["peak"] for answer in answers)
        print(f"| {side} | {' | '.join(cells)} | {peak:,.0f} |")


def print_ratios(report):
    """Print the speed of DynamicMetaTagger in multiples of flair's and of the limit."""
    for other in [side for side in (FLAIR, LIMIT) if side in report]:
        for side in SIDES[:2]:
            # CPU times of a round's sides, one after the other on the same machine.
            mine, theirs = (
                np.array([np.diff(answer["times"][1::2]) for answer in report[name]])
                for name in (side, other)
            )
            train, predict = np.median(theirs / mine, axis=0)
            print(
                f"{side}: {train:.2f} of {other} in training, "
                f"{predict:.2f} in prediction (CPU time)"
            )


if __name__ == "__main__":
    main()
