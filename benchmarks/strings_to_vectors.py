"""Measure the time from strings to mean vectors, with a lower bound and alternatives.

All rows of a table are from one run, the calls alternate, and medians are printed:
ratios are more reliable than times. Texts are random words drawn by Zipf's law; the
first letter of a document is a capital, so lower-casing matters. The limit is the
faster of two minimal C programs, see `_bare_pass.py`.

    python benchmarks/strings_to_vectors.py                  # about six minutes
    python benchmarks/strings_to_vectors.py --tokens 200     # one length of documents
    python benchmarks/strings_to_vectors.py --no-peers       # without alternatives

Peers that are not installed are left out.
"""

import argparse
import pickle
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from _bare_pass import BarePass
from _measure import alternate, in_process, mebibytes
from numba import config

from sk_metaembed import (
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
)

# Documents by their number of words: 1 to 4 million words in all.
DOCUMENTS = {5: 200_000, 200: 20_000, 5000: 800}
# Slow with a constant rate: these run on a part of the documents.
SLOW_SHARE = 4


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown words
        for step in steps:
            X = step.fit_transform(X)
    return steps


def run_pipeline(steps, texts, n_threads=None):
    """Transform texts step by step."""
    if n_threads is not None:
        config.NUMBA_NUM_THREADS = n_threads
    tokenizer, embedding, pooling = steps
    tokens = tokenizer.transform(texts)
    return np.asarray(pooling.transform(embedding.transform(tokens)))


def gensim_loop(words, matrix):
    """Return a typical loop over gensim's KeyedVectors."""
    from gensim.models import KeyedVectors

    kv = KeyedVectors(matrix.shape[1])
    kv.add_vectors(words, matrix)

    def mean(text):
        results = [kv[word] for word in text.lower().split() if word in kv]
        return np.mean(results, axis=0) if results else np.zeros(kv.vector_size)

    return lambda texts: np.stack([mean(text) for text in texts])


def model2vec_encoder(words, matrix):
    """Return model2vec's encoder of the same words, split at spaces."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {word: row for row, word in enumerate(words)} | {"[UNK]": len(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    rows = np.concatenate([matrix, np.zeros_like(matrix[:1])])
    model = StaticModel(rows, tokenizer, max_length=None)
    return lambda texts: model.encode(texts, use_multiprocessing=False)


def sklearn_vectorizer(name):
    """Return the transform of a fitted vectorizer; it makes no vectors of words."""
    from sklearn.feature_extraction import text

    def make(texts):
        vectorizer = getattr(text, name)()
        return vectorizer.fit(texts).transform

    return make


def peers(texts, words, matrix):
    """Yield name, texts and call of each alternative that is installed."""
    some = texts[: max(1, len(texts) // SLOW_SHARE)]
    makers = {
        "TfidfVectorizer (no vectors)": sklearn_vectorizer("TfidfVectorizer"),
        "HashingVectorizer (no vectors)": sklearn_vectorizer("HashingVectorizer"),
        "model2vec, words": lambda _: model2vec_encoder(words, matrix),
        "gensim KeyedVectors loop": lambda _: gensim_loop(words, matrix),
    }
    for name, make in makers.items():
        try:
            yield name, some, make(texts)
        except ImportError as error:
            print(f"{name}: left out, {error.name} is not installed")


def medians(repeats, calls):
    """Return the median wall and CPU time of each call; calls alternate."""
    times, _ = alternate(calls, repeats)
    return {name: np.median(spent, axis=0) for name, spent in times.items()}


def measure_memory(folder):
    """Run the pipeline once in this new process, and print its peak memory in MiB."""
    texts = pickle.loads(Path(folder, "texts.pickle").read_bytes())
    steps = make_pipeline(WordVectors.open(Path(folder, "store")))
    before = mebibytes("VmHWM")
    begin = time.perf_counter()
    run_pipeline(steps, texts)
    print([before, mebibytes("VmHWM"), time.perf_counter() - begin])


def compare(texts, n_tokens, store, words, matrix, bare, options):
    """Print the tables of one length of documents."""
    steps = make_pipeline(store)
    expected = bare(texts, 1)  # warm up, and compare the results
    np.testing.assert_allclose(run_pipeline(steps, texts), expected, atol=1e-4)
    n = len(texts)
    print(f"\n{n:,} documents of {n_tokens} words, {store}\n")
    print(f"{'':46s}{'docs/s':>10s}{'s':>8s}{'CPU s':>8s}{'of the limit':>14s}")
    limits = {}
    for t in sorted({1, options.threads}):
        on = f"{t} thread" + "s" * (t > 1)
        program = "minimal C program"
        calls = {
            f"{program}, {on}": lambda t=t: bare(texts, t),
            f"{program}, prefetching, {on}": lambda t=t: bare(texts, t, ahead=True),
            f"Tokenizer ... Pooling, {on}": lambda t=t: run_pipeline(steps, texts, t),
        }
        times = medians(options.repeats, calls)
        limits[t] = limit = min(wall for wall, _ in [*times.values()][:2])
        for name, (wall, cpu) in times.items():
            print(f"{name:46s}{n / wall:>10,.0f}{wall:>8.3f}{cpu:>8.3f}", end="")
            print(f"{limit / wall:>14.2f}")
    if options.peers:
        for name, some, call in peers(texts, words, matrix):
            times = medians(options.repeats, {name: partial(call, some)})
            wall, cpu = times[name]
            part = len(some) / n
            print(f"{name:46s}{n / wall * part:>10,.0f}{wall / part:>8.3f}", end="")
            print(f"{cpu / part:>8.3f}{limits[options.threads] * part / wall:>14.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=list(DOCUMENTS))
    parser.add_argument("--documents", type=int, help="default: by their length")
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=config.NUMBA_NUM_THREADS)
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        measure_memory(options.memory_of)
        return
    rng = np.random.default_rng(0)
    words = make_words(options.words, rng)
    matrix = rng.standard_normal((len(words), options.dim), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        store = WordVectors.from_arrays(words, matrix, path=Path(folder, "store"))
        bare = BarePass(words, matrix, folder)
        for n_tokens in options.tokens:
            n = options.documents or DOCUMENTS.get(n_tokens, 4_000_000 // n_tokens)
            texts = make_texts(words, n, n_tokens, rng)
            compare(texts, n_tokens, store, words, matrix, bare, options)
        Path(folder, "texts.pickle").write_bytes(pickle.dumps(texts))
        before, peak, first = in_process(__file__, "--memory-of", folder)
    own = matrix.nbytes / 2**20
    print(
        f"\nNew process, the last documents: {first:.2f} s for the first call; peak "
        f"memory {peak:,.0f} MiB, {peak - own:,.0f} above the vectors' {own:,.0f} "
        f"(before the call: {before:,.0f})"
    )


if __name__ == "__main__":
    main()
