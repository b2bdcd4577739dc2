"""Measure the time from strings to mean vectors, with a lower bound and alternatives.

All rows are from one run; ratios are more reliable than times. Texts are random words
drawn by Zipf's law; the first letter of a document is a capital, so lower-casing
matters.

    python benchmarks/strings_to_vectors.py                    # about two minutes
    python benchmarks/strings_to_vectors.py --documents 4000   # smaller
    python benchmarks/strings_to_vectors.py --no-peers         # without alternatives
"""

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _bare_pass import BarePass

from sk_metaembed import (
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
)
from sk_metaembed.sequences import _characters, _split, _split_numba

# gensim's loop is slow with a constant rate: it runs on this fraction of the documents.
GENSIM_SHARE = 4


def make_words(n_words, rng):
    """Return distinct random words of 3 to 10 letters."""
    lengths = rng.integers(3, 11, size=n_words + n_words // 4)
    letters = rng.integers(97, 123, size=lengths.sum(), dtype=np.uint8)
    ends = np.cumsum(lengths).tolist()
    text = letters.tobytes().decode()
    starts = [0, *ends[:-1]]
    words = dict.fromkeys(text[a:b] for a, b in zip(starts, ends, strict=True))
    return list(words)[:n_words]


def make_texts(words, n_documents, n_tokens, rng):
    """Return documents of words drawn with probability 1 / rank."""
    share = np.cumsum(1 / np.arange(1, len(words) + 1))
    drawn = rng.random((n_documents, n_tokens)) * share[-1]
    rows = np.array(words, dtype=object)[np.searchsorted(share, drawn)]
    return [" ".join(row).capitalize() for row in rows]


def make_pipeline(store):
    """Return the fitted steps that a Pipeline runs at transform."""
    steps = Tokenizer(), PretrainedEmbedding(store), Pooling("mean")
    X = ["a word or two"]
    for step in steps:
        X = step.fit_transform(X)
    return steps


def run_pipeline(steps, texts):
    """Transform texts step by step."""
    X = texts
    for step in steps:
        X = step.transform(X)
    return np.asarray(X)


def best_of(repeats, *calls):
    """Return the shortest time of each call; calls alternate to share noise."""
    times = [[] for _ in calls]
    for _ in range(repeats):
        for call, own in zip(calls, times, strict=True):
            begin = time.perf_counter()
            call()
            own.append(time.perf_counter() - begin)
    return [min(own) for own in times]


def gensim_loop(words, matrix):
    """Return a typical loop over gensim's KeyedVectors."""
    from gensim.models import KeyedVectors

    kv = KeyedVectors(matrix.shape[1])
    kv.add_vectors(words, matrix)

    def mean(text):
        results = [kv[word] for word in text.lower().split() if word in kv]
        return np.mean(results, axis=0) if results else np.zeros(kv.vector_size)

    return lambda texts: np.stack([mean(text) for text in texts])


def stages(steps, texts, repeats):
    """Return the time of each stage, and of the passes on one thread."""
    tokenizer, embedding, pooling = steps
    rule = _characters.word_rule(False)

    def joined():
        lowered = [text.encode() for text in _split.prepare_texts(texts)]
        return lowered, b"".join([*lowered, bytes(8)])

    lowered, data = joined()
    buffer = np.frombuffer(data, dtype=np.uint8)
    ends = np.cumsum([len(text) for text in lowered])
    tables = rule.ascii_classes, rule.steps, rule.emits, rule.min_length
    starts, stops, _ = _split_numba.find_tokens(buffer, ends, *tables)
    hashes = _split_numba.hash_spans(buffer, starts, stops)
    tokens = tokenizer.transform(texts)
    embedded = embedding.transform(tokens)
    store = embedding.vectors_
    calls = {
        "  one thread: lower, encode, join": joined,
        "  one thread: find tokens": lambda: _split_numba.find_tokens(
            buffer, ends, *tables
        ),
        "  one thread: hash": lambda: _split_numba.hash_spans(buffer, starts, stops),
        "  one thread: code, one table": lambda: _split_numba.code_spans(
            buffer, starts, stops, hashes
        ),
        "Tokenizer, all of it": lambda: tokenizer.transform(texts),
        "  look up the types": lambda: store.lookup(tokens.types),
        "PretrainedEmbedding, all of it": lambda: embedding.transform(tokens),
        "Pooling, all of it": lambda: pooling.transform(embedded),
    }
    return tokens, dict(zip(calls, best_of(repeats, *calls.values()), strict=True))


def peak_memory():
    """Return this process's peak resident memory in MB."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1000 * 1.024
    except FileNotFoundError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak / 1000 * 1.024


def measure_memory(folder):
    """Run the pipeline once in this new process and print its peak memory."""
    texts = pickle.loads(Path(folder, "texts.pickle").read_bytes())
    steps = make_pipeline(WordVectors.open(Path(folder, "store")))
    before = peak_memory()
    begin = time.perf_counter()
    run_pipeline(steps, texts)
    print(before, peak_memory(), time.perf_counter() - begin)


def memory_of_child(folder, texts):
    """Return peak memory before and after in a new process, and the first time."""
    Path(folder, "texts.pickle").write_bytes(pickle.dumps(texts))
    command = [sys.executable, __file__, "--memory-of", str(folder)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True)
    return map(float, printed.stdout.split())


def show(name, seconds, n_documents, ours):
    """Print a row of the table."""
    rate = n_documents / seconds
    print(f"{name:44s}{rate:>10,.0f}{seconds:>9.3f}{rate / ours:>12.2f}")


def compare(folder, options):
    """Print the tables."""
    rng = np.random.default_rng(0)
    words = make_words(options.words, rng)
    texts = make_texts(words, options.documents, options.tokens, rng)
    matrix = rng.standard_normal((len(words), options.dim), dtype=np.float32)
    store = WordVectors.from_arrays(words, matrix, path=Path(folder, "store"))
    steps = make_pipeline(store)
    bare = BarePass(words, matrix, folder)

    expected = bare(texts)  # warm up, and compare the results
    np.testing.assert_allclose(run_pipeline(steps, texts), expected, atol=1e-4)
    bare_time, our_time = best_of(
        options.repeats, lambda: bare(texts), lambda: run_pipeline(steps, texts)
    )
    n = len(texts)
    ours = n / our_time
    size = f"{n:,} documents of {options.tokens} tokens, {store}"
    print(f"{size}\n\n{'':44s}{'docs/s':>10s}{'s':>9s}{'x of ours':>12s}")
    how = f"minimal {bare.language} program, {bare.n_threads} threads"
    show(how, bare_time, n, ours)
    show("Tokenizer, PretrainedEmbedding, Pooling", our_time, n, ours)
    if options.peers:
        peers(texts, words, matrix, expected, options.repeats, ours)

    tokens, times = stages(steps, texts, options.repeats)
    print(f"\nStages, ms ({tokens.n_types:,} types)")
    for name, seconds in times.items():
        print(f"{name:44s}{seconds * 1000:>10.0f}")
    before, peak, first = memory_of_child(folder, texts)
    own = matrix.nbytes / 1e6
    print(
        f"\nFresh process: {first:.2f} s for the first call; peak memory {peak:,.0f} "
        f"MB, {peak - own:,.0f} MB above the vectors' own {own:,.0f} MB "
        f"(before the call: {before:,.0f} MB)"
    )


def peers(texts, words, matrix, expected, repeats, ours):
    """Print the rows of the alternatives."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    loop = gensim_loop(words, matrix)
    some = texts[: max(1, len(texts) // GENSIM_SHARE)]
    np.testing.assert_allclose(loop(some[:20]), expected[:20], atol=1e-4)
    show("gensim KeyedVectors loop", *best_of(1, lambda: loop(some)), len(some), ours)
    tfidf = TfidfVectorizer().fit(texts)
    times = best_of(min(2, repeats), lambda: tfidf.transform(texts))
    show("TfidfVectorizer.transform (no vectors)", *times, len(texts), ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        measure_memory(options.memory_of)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(folder, options)


if __name__ == "__main__":
    main()
