"""Unsupervised meta-embeddings on words and sentences, compared with their sources.

Four sets of vectors (GloVe 50 and 100, neuralcoref 50, word2vec GoogleNews 300), each
method with each preprocessing of its sources. A method is fitted once on the union of
the vocabularies (74,895 words, of which all four sources know 22,317), then scored:

- Spearman x 100 on 13 word-similarity data sets. "shared": pairs that all four sources
  know, the same pairs in every row. "union": pairs that at least one source knows; a
  pair with a word that is missing in the row's embedding has similarity 0.
- Google and MSR analogies by 3CosAdd over the shared words, in %.
- SST-2 sentences: mean vectors, scaler, LogisticRegression; accuracy in %.

Every row is measured in its own process. Fit times are CPU seconds over all threads;
the peak is the memory added by fitting. Needs ``SK_METAEMBED_DATA``.

Run: python benchmarks/meta_embeddings.py [--jobs 2] [--methods SVD ...]
Rows are stored in --results and not measured again.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from _data import (
    WORD_SIMILARITY,
    load_sst2,
    load_vectors,
    msr_analogies,
    word_similarity,
)
from _measure import peak_of
from _records import read_records
from gensim.test.utils import datapath
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    AverageMetaEmbedding,
    ConcatMetaEmbedding,
    EmbeddingUnion,
    GCCAMetaEmbedding,
    OneToNMetaEmbedding,
    Pooling,
    PretrainedEmbedding,
    ProcrustesMetaEmbedding,
    SourceImputer,
    SVDMetaEmbedding,
    TokenSequences,
    WordVectors,
)
from sk_metaembed.metrics import word_similarity_score

SOURCES = ("glove-50", "glove-100", "neuralcoref-50", "word2vec-300")
PREPROCESSINGS = (
    "none",
    "unit",
    "center",
    "unit-center-unit",
    "all-but-the-top",
)


def methods():
    """Return (source names, steps) by the name of the row."""
    concat, w2v = ConcatMetaEmbedding, {"word2vec-300": 2.0}
    combined = {
        "concat": concat(),
        "concat, word2vec x 2": concat(weights=w2v),
        "average": AverageMetaEmbedding(),
        "Procrustes": ProcrustesMetaEmbedding(),
        "Procrustes, no filling": ProcrustesMetaEmbedding(impute_missing=False),
        "SVD, U": SVDMetaEmbedding(200),
        "SVD, U S": SVDMetaEmbedding(200, whiten=False),
        "GCCA": GCCAMetaEmbedding(200),
        "GCCA, 300 d": GCCAMetaEmbedding(300),
        "1TON": OneToNMetaEmbedding(200),
        "1TON+": OneToNMetaEmbedding(200, impute_missing=True),
        "DAEME": AutoencodedMetaEmbedding("decoupled", random_state=0),
        "CAEME": AutoencodedMetaEmbedding("concatenated", random_state=0),
        "AAEME": AutoencodedMetaEmbedding("averaged", random_state=0),
    }
    rows = {name: ([name], concat(normalize=False)) for name in SOURCES}
    rows |= {name: (SOURCES, step) for name, step in combined.items()}
    for label, step in (("concat", concat()), ("GCCA", GCCAMetaEmbedding(200))):
        for strategy in ("mutual", "neighbors"):
            filled = make_pipeline(SourceImputer(strategy=strategy), clone(step))
            rows[f"{label}, {strategy} filling"] = (SOURCES, filled)
    rows["concat of one family"] = (["glove-50", "glove-100"], concat())
    rows["concat of two families"] = (["glove-100", "word2vec-300"], concat())
    rows["GCCA of two families"] = (
        ["glove-100", "word2vec-300"],
        GCCAMetaEmbedding(200),
    )
    return rows


def embedded_vocabulary(names, preprocess):
    """Return the vectors of all sources for the union of the vocabularies."""
    sources = [
        (name, PretrainedEmbedding(load_vectors(name), preprocess=preprocess))
        for name in names
    ]
    return EmbeddingUnion(sources).fit_transform(vocabulary())


def vocabulary():
    """Return every word of any source as a separate sequence."""
    words = dict.fromkeys(w for name in SOURCES for w in load_vectors(name).words)
    return TokenSequences.from_lists([[word] for word in words])


def shared_words():
    """Return the words that all sources know, most frequent first."""
    first, *others = [load_vectors(name) for name in SOURCES]
    known = np.logical_and.reduce([other.lookup(first.words) >= 0 for other in others])
    return first.words[known].tolist()


def similarities(vectors, shared):
    """Return Spearman x 100 per data set, over shared and union pairs."""
    results = {"shared": {}, "union": {}}
    everything = set(vocabulary().types)
    for name in WORD_SIMILARITY:
        pairs, scores = word_similarity(name)
        pairs = [(a.lower(), b.lower()) for a, b in pairs]
        for kind, words in (("shared", set(shared)), ("union", everything)):
            selected = [i for i, pair in enumerate(pairs) if words.issuperset(pair)]
            rho = word_similarity_score(
                vectors,
                [pairs[i] for i in selected],
                scores[selected],
                missing="zero",
            )
            results[kind][name] = 100 * rho
    return results


def sentence_accuracy(vectors):
    """Return the accuracy of mean vectors and logistic regression on SST-2."""
    train, test = load_sst2("train"), load_sst2("test")
    pipe = make_pipeline(
        PretrainedEmbedding(vectors),
        Pooling("mean"),
        StandardScaler(),
        LogisticRegression(max_iter=2000),
    )
    pipe.fit(train.data, train.target)
    return 100 * pipe.score(test.data, test.target)


def measure(method, preprocess):
    """Return the row of one method with one preprocessing."""
    names, step = methods()[method]
    X = embedded_vocabulary(names, None if preprocess == "none" else preprocess)
    start = time.process_time()
    with peak_of() as peak:
        step.fit(X)
    row = {"method": method, "preprocess": preprocess}
    row["fit CPU s"] = time.process_time() - start
    row["peak MiB"] = peak.mebibytes
    block = step.transform(X).blocks[0]
    row["dim"] = block.dim
    words = X.tokens.types[block.known].tolist()
    shared = shared_words()
    with tempfile.TemporaryDirectory() as folder:
        vectors = WordVectors.from_arrays(
            words, block.values[block.known], path=Path(folder, "vectors")
        )
        row |= similarities(vectors, shared)
        msr = Path(folder, "msr.txt")
        lines = [": msr", *map(" ".join, msr_analogies())]
        msr.write_text("\n".join(lines), encoding="utf-8")
        known = WordVectors.from_arrays(shared, vectors.vectors_for(shared)[0])
        for name, file in (("google", datapath("questions-words.txt")), ("msr", msr)):
            score, _ = known.to_keyed_vectors().evaluate_word_analogies(str(file))
            row[name] = 100 * score
        row["sst2"] = sentence_accuracy(vectors)
    return row


def measured_apart(method, preprocess):
    """Return the row of one method, measured in its own process."""
    command = [sys.executable, __file__, "--one", method, preprocess]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"method": method, "preprocess": preprocess, "error": done.stderr[-800:]}
    return json.loads(done.stdout.splitlines()[-1])


def read_rows(path):
    """Return the stored rows by method and preprocessing."""
    rows = read_records(path)
    return {(r["method"], r["preprocess"]): r for r in rows if "error" not in r}


def print_table(rows):
    """Print one row per method and preprocessing, in Markdown."""
    heads = ["method", "preprocess", "shared", "union", "RW, union", "Google", "MSR"]
    heads += ["SST-2", "d", "fit CPU s", "peak MiB"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for row in rows:
        mean = {kind: np.mean(list(row[kind].values())) for kind in ("shared", "union")}
        figures = [mean["shared"], mean["union"], row["union"]["rw"]]
        figures += [row["google"], row["msr"], row["sst2"]]
        cells = [row["method"], row["preprocess"], *(f"{f:.1f}" for f in figures)]
        cells += [str(row["dim"]), f"{row['fit CPU s']:.1f}", f"{row['peak MiB']:.0f}"]
        print("| " + " | ".join(cells) + " |")


def print_sets(rows, kind):
    """Print all similarity data sets, one row per method and preprocessing."""
    heads = " | ".join(WORD_SIMILARITY)
    print(f"\n{kind} pairs\n\n| method | preprocess | {heads} |")
    print("|---" * (len(WORD_SIMILARITY) + 2) + "|")
    for row in rows:
        figures = " | ".join(f"{row[kind][name]:.1f}" for name in WORD_SIMILARITY)
        print(f"| {row['method']} | {row['preprocess']} | {figures} |")


def main():
    """Measure the missing rows and print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "PREPROCESS"))
    parser.add_argument("--methods", nargs="*", default=list(methods()))
    parser.add_argument("--preprocess", nargs="*", default=PREPROCESSINGS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default="meta_embeddings.jsonl")
    parser.add_argument("--table", action="store_true", help="print what there is")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        print(json.dumps(measure(*options.one)))
        return
    rows = read_rows(options.results)
    requested = [(m, p) for m in options.methods for p in options.preprocess]
    left = [] if options.table else [pair for pair in requested if pair not in rows]
    with ThreadPoolExecutor(options.jobs) as pool, options.results.open("a") as file:
        for row in pool.map(lambda pair: measured_apart(*pair), left):
            print(json.dumps(row), file=file, flush=True)
            print(row["method"], row["preprocess"], row.get("error", ""), flush=True)
            rows[row["method"], row["preprocess"]] = row
    results = [rows[p] for p in requested if p in rows and "error" not in rows[p]]
    print_table(results)
    for kind in ("shared", "union"):
        print_sets(results, kind)


if __name__ == "__main__":
    main()
