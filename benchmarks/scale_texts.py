"""Cost of the one line as the number of texts grows, next to TF-IDF.

Texts are two parts of ten words from BBC news, so that hardly any two are equal. The
target is made from 5,000 secret words: each has a random weight per class, and a text
belongs to the class with the largest sum plus noise; numbers are such a sum.

Rows: ``TfidfVectorizer()`` with ``LogisticRegression(C=10)`` or ``Ridge()``, the one
line (`make_text_pipeline`), and the one line with GloVe (50 dimensions). Each is a
process of its own with one thread, fitted on a few texts first, which loads and
compiles everything. Printed are the CPU seconds of a fit; the growth of the peak of
memory above the texts in fit and in predict; predictions per CPU second, of half as
many new texts as rows; accuracy or R2; and the ratios of the first three to TF-IDF.

    python benchmarks/scale_texts.py                      # an hour
    python benchmarks/scale_texts.py --rows 20000 --targets 2 20
    python benchmarks/scale_texts.py --checkout /tmp/old  # another checkout
    python benchmarks/scale_texts.py --n-jobs 2           # and its wall time
"""

import argparse
import ctypes
import gc
import json
import time
from pathlib import Path

import numpy as np
from _measure import ONE_THREAD, in_process, peak_of

HERE = Path(__file__).resolve().parent
PARTS, PART = 2, 10
N_SECRET = 5_000
NOISE = 1.6  # standard deviation, relative to that of the sums
N_WARM = 400
CHUNK = 50_000
MODELS = ("tfidf", "one-line", "glove")
TARGETS = ("2", "20", "numbers")
ROWS = (20_000, 100_000, 400_000, 1_000_000)


def news_words():
    """Return the words of BBC news, in the order of the articles."""
    from sk_metaembed.datasets import load_bbc_news

    return " ".join(load_bbc_news().data).split()


def make_texts(n_texts, target, rng):
    """Return texts, and classes or numbers."""
    words = news_words()
    bare = [word.strip(".,:;!?\"'()-").lower() for word in words]
    types, codes = np.unique(bare, return_inverse=True)
    n_columns = int(target) if target == "20" else 1
    weights = np.zeros((len(types), n_columns), dtype=np.float32)
    secret = rng.permutation(len(types))[:N_SECRET]
    weights[secret] = rng.normal(size=(len(secret), n_columns))
    texts, sums = [], np.empty((n_texts, n_columns), dtype=np.float32)
    for start in range(0, n_texts, CHUNK):
        size = min(CHUNK, n_texts - start)
        starts = rng.integers(len(words) - PART, size=(size, PARTS))
        places = (starts[:, :, None] + np.arange(PART)).reshape(size, -1)
        sums[start : start + size] = weights[codes[places]].sum(axis=1)
        for begins in starts.tolist():
            texts.append(" ".join(" ".join(words[b : b + PART]) for b in begins))
    sums = (sums - sums.mean(axis=0)) / sums.std(axis=0)
    noisy = sums + NOISE * rng.normal(size=sums.shape)
    if target == "numbers":
        return texts, noisy[:, 0].astype(np.float64)
    labels = noisy.argmax(axis=1) if n_columns > 1 else (noisy[:, 0] > 0).astype(int)
    return texts, labels


def make_model(name, target, n_jobs):
    """Return an unfitted pipeline."""
    if name == "tfidf":
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline

        model = Ridge() if target == "numbers" else LogisticRegression(C=10)
        return make_pipeline(TfidfVectorizer(), model)
    from sk_metaembed import PretrainedEmbedding, make_text_pipeline
    from sk_metaembed.datasets import load_glove_6b_50d

    kind = "regressor" if target == "numbers" else "classifier"
    sources = [("glove", PretrainedEmbedding(load_glove_6b_50d()))]
    sources = sources if name == "glove" else None
    return make_text_pipeline(kind, sources, n_jobs=n_jobs, random_state=0)


def release_memory():
    """Return freed memory to the system, so that it does not hide growth."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def measure(options):
    """Return the figures of one model, fitted and scored in this process."""
    (n_rows,), (name,), (target,) = options.rows, options.models, options.targets
    rng = np.random.default_rng(0)
    n_test = max(n_rows // 2, 10_000)
    texts, y = make_texts(n_rows + n_test, target, rng)
    test, y_test = texts[n_rows:], y[n_rows:]
    del texts[n_rows:]
    y = y[:n_rows].copy()
    few = slice(min(N_WARM, n_rows))
    make_model(name, target, None).fit(texts[few], y[few]).predict(test[few])
    model = make_model(name, target, options.n_jobs)
    release_memory()
    with peak_of() as fit_peak:
        wall, begin = time.perf_counter(), time.process_time()
        model.fit(texts, y)
        seconds, wall = time.process_time() - begin, time.perf_counter() - wall
    release_memory()
    with peak_of() as peak:
        begin = time.process_time()
        predicted = model.predict(test)
        rate = len(test) / (time.process_time() - begin)
    is_number = target == "numbers"
    error = np.mean(np.square(predicted - y_test)) / np.var(y_test) if is_number else 0
    return {
        "seconds": seconds,
        "wall": wall,
        "mebibytes": fit_peak.mebibytes,
        "rate": rate,
        "mebibytes of predict": peak.mebibytes,
        "score": 1 - error if is_number else np.mean(predicted == y_test),
    }


def in_worker(n_rows, target, name, options):
    """Return the figures of one model, from a process of its own."""
    arguments = ["--rows", n_rows, "--targets", target, "--models", name]
    arguments += ["--n-jobs", options.n_jobs]
    environ = {**ONE_THREAD, "PYTHONPATH": str(options.checkout)}
    return in_process("-W", "ignore", __file__, "--worker", *arguments, **environ)


def line(n_rows, target, name, figures, reference):
    """Return a row of the table; ratios to TF-IDF are in brackets."""

    def cell(key, digits):
        ratio = ""
        if reference and name != "tfidf":
            ratio = f" ({figures[key] / reference[key]:.2f})"
        return f"{figures[key]:,.{digits}f}{ratio}"

    cells = [f"{n_rows:,}", target, name, cell("seconds", 1), cell("mebibytes", 0)]
    cells += [cell("rate", 0), f"{figures['mebibytes of predict']:,.0f}"]
    cells += [f"{figures['score']:.3f}", f"{figures['wall']:.1f}"]
    return "| " + " | ".join(cells) + " |"


HEAD = """\
| texts | target | model | fit, CPU s | fit, MiB | predictions/CPU s | predict, MiB \
| score | fit, s |
|---|---|---|---|---|---|---|---|---|"""


def parse():
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--checkout", type=Path, default=HERE.parent)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    """Print the table."""
    options = parse()
    if options.worker:
        print(json.dumps(measure(options)))
        return
    print(HEAD)
    for n_rows in options.rows:
        for target in options.targets:
            reference = None
            for name in options.models:
                figures = in_worker(n_rows, target, name, options)
                reference = figures if name == "tfidf" else reference
                print(line(n_rows, target, name, figures, reference), flush=True)


if __name__ == "__main__":
    main()
