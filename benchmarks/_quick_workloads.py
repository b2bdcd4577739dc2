"""The workloads of `quick.py`: small functions of the package, each with a reference.

A workload receives an empty folder and returns two callables: the package's side, and
the reference that does the same work with less. Their ratio is what is recorded. A
callable is timed in processor seconds, unless it returns a figure of its own. Only
public names of the package are used, so that older versions can be measured too. Data
are generated, and small enough for the caches of a core: what waits for main memory
varies with what other processes do.
"""

import contextlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

WORKLOADS = {}


class Workload(NamedTuple):
    """A function that prepares both sides, what they are, and how to profile ours."""

    prepare: Callable
    ours: str
    reference: str
    profile: str
    fewest_rounds: int


class Figure(NamedTuple):
    """What a side returns if it is not to be timed: its own seconds or KiB."""

    value: float


PROFILE = "python benchmarks/quick.py --profile {name}"


def workload(ours, reference, profile=PROFILE, fewest_rounds=5):
    """Register a workload under the name of its function."""

    def register(prepare):
        name = prepare.__name__
        how = profile.format(name=name)
        WORKLOADS[name] = Workload(prepare, ours, reference, how, fewest_rounds)
        return prepare

    return register


def make_words_and_texts(n_words=20_000, n_documents=20_000, n_tokens=100):
    """Return words, their vectors, texts of Zipf-distributed words, and labels."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(n_words)], object)
    matrix = rng.standard_normal((n_words, 100), dtype=np.float32)
    share = np.cumsum(1 / np.arange(1, n_words + 1))
    drawn = rng.random((n_documents, n_tokens)) * share[-1]
    codes = np.searchsorted(share, drawn)
    labels = matrix[codes].mean(axis=(1, 2)) > 0
    return words, matrix, [" ".join(row) for row in words[codes]], labels


def mean_steps(words, matrix, path=None):
    """Return the steps from texts to mean vectors."""
    from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors

    store = WordVectors.from_arrays(words, matrix, path=path)
    return Tokenizer(), PretrainedEmbedding(store), Pooling("mean")


# Imports and new processes


def in_new_process(code, *arguments):
    """Run code; return its processor seconds, and the number that it printed."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code, *map(str, arguments)], stdout=subprocess.PIPE
    ) as child:
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"The child process ended with {child.returncode}.")
    seconds = Figure(usage.ru_utime + usage.ru_stime)
    return seconds, Figure(json.loads(printed or "0"))


STEPS = "from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors"
IMPORTS = "python -X importtime -c '{}'"


def imports(ours):
    """Return both sides of a workload that imports."""
    return (
        lambda: in_new_process(ours)[0],
        lambda: in_new_process("import sklearn.linear_model")[0],
    )


@workload(
    "`import sk_metaembed`",
    "`import sklearn.linear_model`",
    IMPORTS.format("import sk_metaembed"),
    fewest_rounds=3,
)
def import_package(folder):
    return imports("import sk_metaembed")


@workload(
    "import the steps of a word-vector pipeline",
    "`import sklearn.linear_model`",
    IMPORTS.format(STEPS),
    fewest_rounds=3,
)
def import_steps(folder):
    return imports(STEPS)


SERVE = """
import json, sys
import joblib
fitted = joblib.load(sys.argv[1])
fitted.predict(["one short text"])
with open("/proc/self/status") as file:
    peak = next(line for line in file if line.startswith("VmHWM"))
print(json.dumps(int(peak.split()[1])))
"""


def fitted_pipelines(folder):
    """Write two fitted classifiers, on word vectors and on TF-IDF; return the paths."""
    import joblib

    ours, reference = row_pipelines(folder / "store")
    joblib.dump(ours, folder / "ours.joblib")
    joblib.dump(reference, folder / "reference.joblib")
    return folder / "ours.joblib", folder / "reference.joblib"


def row_pipelines(path=None):
    """Return two fitted classifiers, on word vectors and on TF-IDF."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words, matrix, texts, labels = make_words_and_texts(20_000, 1_000, 30)
    ours = make_pipeline(*mean_steps(words, matrix, path), LogisticRegression())
    reference = make_pipeline(TfidfVectorizer(), LogisticRegression())
    return ours.fit(texts, labels), reference.fit(texts, labels)


def new_workers(folder, which):
    """Return processes that load a classifier and predict; their time or memory."""
    ours, reference = fitted_pipelines(folder)
    return (
        lambda: in_new_process(SERVE, ours)[which],
        lambda: in_new_process(SERVE, reference)[which],
    )


@workload(
    "a new process loads word vectors and a classifier, and predicts one text",
    "the same with TF-IDF",
    "python benchmarks/serving.py --rounds 1 --only glove tfidf",
    fewest_rounds=3,
)
def worker_start(folder):
    return new_workers(folder, 0)


@workload(
    "peak memory of that process",
    "the same with TF-IDF",
    IMPORTS.format(STEPS),
    fewest_rounds=2,
)
def worker_memory(folder):
    return new_workers(folder, 1)


# Strings to vectors


def texts_to_means(folder, n_documents, n_tokens):
    """Return the pipeline and the bare pass over the same texts, on one thread."""
    from _bare_pass import BarePass
    from sklearn.pipeline import make_pipeline

    words, matrix, texts, _ = make_words_and_texts(2_000, n_documents, n_tokens)
    pipe = make_pipeline(*mean_steps(words, matrix)).fit(texts[:10])
    bare = BarePass(words.tolist(), matrix, folder)
    np.testing.assert_allclose(pipe.transform(texts), bare(texts, 1), atol=1e-4)
    return lambda: pipe.transform(texts), lambda: bare(texts, 1)


@workload("texts of 5 words to mean vectors", "a minimal C program")
def short_texts(folder):
    return texts_to_means(folder, 4_000, 5)


@workload("texts of 200 words to mean vectors", "a minimal C program")
def long_texts(folder):
    return texts_to_means(folder, 400, 200)


@workload("mean pooling of embedded texts", "product with a sparse matrix")
def pooling(folder):
    from scipy.sparse import csr_array

    words, matrix, texts, _ = make_words_and_texts(2_000, 2_000, 60)
    tokenizer, source, pool = mean_steps(words, matrix)
    X = source.fit_transform(tokenizer.fit_transform(texts))
    pool.fit(X)
    tokens, values = X.tokens, np.asarray(X.blocks[0].values)

    def reference():
        weights = np.repeat(1 / np.diff(tokens.offsets), np.diff(tokens.offsets))
        cells = weights.astype(np.float32), tokens.codes, tokens.offsets
        return csr_array(cells, shape=(len(texts), len(values))) @ values

    np.testing.assert_allclose(pool.transform(X), reference(), atol=1e-4)
    return lambda: pool.transform(X), reference


@workload("predict one text: word vectors and a classifier", "the same with TF-IDF")
def one_row(folder):
    ours, reference = row_pipelines()
    _, _, rows, _ = make_words_and_texts(20_000, 50, 8)

    def predict(pipe):
        for row in rows:
            pipe.predict([row])

    return lambda: predict(ours), lambda: predict(reference)


# The store of word vectors


@workload("open a store, look up 100 words", "map a .npy file, unpickle a dict of rows")
def store_open(folder):
    from sk_metaembed import WordVectors

    words, matrix, _, _ = make_words_and_texts(20_000, 1, 1)
    path = WordVectors.from_arrays(words, matrix, path=folder / "store").path
    np.save(folder / "matrix.npy", matrix)
    rows = {word: row for row, word in enumerate(words.tolist())}
    (folder / "rows.pickle").write_bytes(pickle.dumps(rows))
    some = words[::200]

    def reference():
        table = np.load(folder / "matrix.npy", mmap_mode="r")
        found = pickle.loads((folder / "rows.pickle").read_bytes())
        return table[[found[word] for word in some.tolist()]]

    return lambda: WordVectors.open(path).vectors_for(some), reference


@workload("look up 20,000 words", "`dict.get` of each")
def lookup(folder):
    from sk_metaembed import WordVectors

    words, matrix, _, _ = make_words_and_texts(4_000, 1, 1)
    known = words[:2_000]
    store = WordVectors.from_arrays(known, matrix[:2_000])
    rows = {word: row for row, word in enumerate(known.tolist())}
    drawn = words[np.random.default_rng(1).integers(0, len(words), 20_000)]

    def reference():
        return np.array([rows.get(word, -1) for word in drawn.tolist()])

    np.testing.assert_array_equal(store.lookup(drawn), reference())
    return lambda: store.lookup(drawn), reference


@workload("convert a text file of vectors", "gensim's loader")
def convert(folder):
    from gensim.models import KeyedVectors

    from sk_metaembed import WordVectors

    words, matrix, _, _ = make_words_and_texts(4_000, 1, 1)
    source, out = folder / "vectors.txt", folder / "converted"
    kv = KeyedVectors(matrix.shape[1])
    kv.add_vectors(words.tolist(), matrix)
    kv.save_word2vec_format(source, binary=False)

    def ours():
        if out.exists():
            shutil.rmtree(out)
        WordVectors.convert(source, out)

    return ours, lambda: KeyedVectors.load_word2vec_format(source, binary=False)


# Training


def training(attention, encoder, make_net):
    """Return an epoch of a classifier, and the plain loop over a network."""
    import dme_training
    from dme_training import BATCH, sst2_tokens, time_plain

    from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences

    rng = np.random.default_rng(0)
    tokens = sst2_tokens()[:384]
    blocks = [
        Block(f"s{i}", rng.standard_normal((tokens.n_types, 100), np.float32), "type")
        for i in range(3)
    ]
    X, y = EmbeddedSequences(tokens, blocks), rng.integers(0, 2, len(tokens))
    net = DynamicMetaClassifier.published(
        attention,
        encoder=encoder,
        projection_dim=128,
        encoder_dim=128,
        batch_size=BATCH,
        max_epochs=1,
        early_stopping=False,
        device="cpu",
        random_state=0,
    )
    make_net = make_net or dme_training.PlainNet
    return (
        lambda: net.fit(X, y),
        lambda: time_plain(X, y, 1, "cpu", make_net, projection=128, encoder=128),
    )


@workload("an epoch of DME with a BiLSTM", "a plain loop in torch")
def train_dme(folder):
    return training("word", "bilstm-max", None)


@workload("an epoch of CDME with a BiLSTM", "a plain loop of DME in torch")
def train_cdme(folder):
    return training("context", "bilstm-max", None)


@workload("an epoch of DME with a GRU", "a plain loop in torch")
def train_gru(folder):
    from dme_training import PlainGRU

    return training("word", "gru", PlainGRU)


@workload("an epoch of a BiLSTM-CRF tagger", "a plain loop in torch")
def train_tagger(folder):
    import torch
    from dme_training import BATCH, sst2_tokens, train_plain_tagger

    from sk_metaembed import Block, DynamicMetaTagger, EmbeddedSequences

    rng = np.random.default_rng(0)
    tokens = sst2_tokens()[:256]
    values = rng.standard_normal((tokens.n_types, 100), np.float32)
    X = EmbeddedSequences(tokens, [Block("s", values, "type")])
    names = np.array([f"tag{i}" for i in range(9)])
    codes, mask = tokens.to_padded()
    tags = rng.integers(0, len(names), codes.shape)
    y = [names[t[m]].tolist() for t, m in zip(tags, mask, strict=True)]
    tagger = DynamicMetaTagger(
        "uniform",
        network_options={"mixer": "published"},
        projection_dim=100,
        encoder_dim=100,
        batch_size=BATCH,
        max_epochs=1,
        early_stopping=False,
        device="cpu",
        random_state=0,
    )
    padded = [torch.from_numpy(np.asarray(a)) for a in (codes, tags, mask)]
    padded[0] = padded[0].long()
    return (
        lambda: tagger.fit(X, y),
        lambda: train_plain_tagger(values, *padded, len(names), (100, 100)),
    )


# Contextual sources


def random_bert(folder):
    """Write a BERT of 4 layers and 128 dimensions; return sentences for it."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    words, _, texts, _ = make_words_and_texts(2_000, 200, 40)
    lengths = np.random.default_rng(0).integers(5, 41, len(texts))
    rows = [text.split()[:n] for text, n in zip(texts, lengths, strict=True)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    BertTokenizer(vocab={word: i for i, word in enumerate(vocabulary)}).save_pretrained(
        folder
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    return rows


@workload("word vectors of a transformer", "its forward pass, sorted, batches of 32")
def transformer(folder):
    from transformer_speed import Bare

    from sk_metaembed import TokenSequences, TransformerEmbedding

    tokens = TokenSequences.from_lists(random_bert(folder))
    source = TransformerEmbedding(str(folder), device="cpu").fit(tokens[:8])
    bare = Bare(folder, tokens, "cpu")
    return lambda: source.transform(tokens), bare


@workload("word vectors of a transformer, read from the cache", "computing them")
def sentence_cache(folder):
    from sk_metaembed import TokenSequences, TransformerEmbedding

    tokens = TokenSequences.from_lists(random_bert(folder / "model"))
    source = TransformerEmbedding(str(folder / "model"), device="cpu")
    cached = TransformerEmbedding(
        str(folder / "model"), device="cpu", cache=folder / "cache"
    ).fit(tokens[:8])
    source.fit(tokens[:8])
    cached.transform(tokens)
    return (
        lambda: cached.transform(tokens),
        lambda: source.transform(tokens),
    )


@workload("ELMo, small size", "a plain loop in torch", fewest_rounds=3)
def elmo(folder):
    import elmo_speed
    from elmo_speed import PlainElmo, make_options, random_weights

    from sk_metaembed import ElmoEmbedding, TokenSequences

    rows = elmo_speed.sentences(48)
    tokens = TokenSequences.from_lists(rows)
    options = make_options("small")
    weights = random_weights(options)
    files = elmo_speed.write_model(folder, options, weights)
    source = ElmoEmbedding(*files, device="cpu").fit(tokens[:1])
    plain = PlainElmo(options, weights, "cpu", shrinking=True)
    return lambda: source.transform(tokens), lambda: plain(rows)


# Searches, meta-embeddings, and what surrounds a pipeline


@workload("grid search, vectors by reference", "gensim's vectors as a parameter")
def grid_search(folder):
    from grid_search import GRID, gensim_steps, our_steps
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline

    from sk_metaembed import WordVectors

    words, matrix, texts, labels = make_words_and_texts(5_000, 300, 30)
    np.save(folder / "matrix.npy", matrix)
    WordVectors.from_arrays(words, matrix, path=folder / "store")
    searches = [
        GridSearchCV(
            Pipeline([*steps(folder, words.tolist()), ("clf", LogisticRegression())]),
            GRID,
            cv=3,
        )
        for steps in (our_steps, gensim_steps)
    ]
    ours, reference = (
        lambda search=search: search.fit(texts, labels) for search in searches
    )
    return ours, reference


def generated_sources():
    """Return 6,000 words with vectors of three sources, noisy views of one space."""
    from sk_metaembed import Block, EmbeddedSequences, TokenSequences

    rng = np.random.default_rng(0)
    latent = rng.standard_normal((6_000, 40)) / np.sqrt(1 + np.arange(40))
    tokens = TokenSequences.from_lists([[f"w{i}"] for i in range(len(latent))])
    blocks = []
    for dim in (50, 100, 150):
        view = latent @ rng.standard_normal((40, dim))
        view += 0.1 * rng.standard_normal(view.shape)
        blocks.append(Block(f"{dim}d", view.astype(np.float32), "type"))
    return EmbeddedSequences(tokens, blocks)


def unit_rows(X):
    """Return the unit vectors of each source in float64."""
    values = [np.asarray(block.values, dtype=float) for block in X.blocks]
    return [v / np.linalg.norm(v, axis=1, keepdims=True) for v in values]


@workload("fit `SVDMetaEmbedding`", "eigenvectors of the Gram matrix")
def fit_svd(folder):
    from scipy.linalg import eigh

    from sk_metaembed import SVDMetaEmbedding

    X = generated_sources()
    svd = SVDMetaEmbedding(100)

    def reference():
        joined = np.hstack(unit_rows(X))
        eigh(joined.T @ joined, subset_by_index=(200, 299))

    return lambda: svd.fit(X), reference


@workload("fit `GCCAMetaEmbedding`", "one generalized eigenvalue problem")
def fit_gcca(folder):
    from scipy.linalg import block_diag, eigh

    from sk_metaembed import GCCAMetaEmbedding

    X = generated_sources()
    gcca = GCCAMetaEmbedding(100)

    def reference():
        parts = [rows - rows.mean(axis=0) for rows in unit_rows(X)]
        joined = np.hstack(parts)
        square = joined.T @ joined
        own = block_diag(*(part.T @ part for part in parts))
        ridge = np.eye(len(own)) * np.trace(own) / len(own)
        eigh(square, own + ridge, subset_by_index=(200, 299))

    return lambda: gcca.fit(X), reference


@workload("fit `make_text_pipeline` with a source", "TF-IDF, logistic regression")
def fit_texts(folder):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from sk_metaembed import PretrainedEmbedding, WordVectors, make_text_pipeline

    words, matrix, texts, labels = make_words_and_texts(2_000, 300, 20)
    source = PretrainedEmbedding(WordVectors.from_arrays(words, matrix))
    ours = make_text_pipeline("classifier", [("own", source)], random_state=0)
    reference = make_pipeline(TfidfVectorizer(), LogisticRegression())
    return lambda: ours.fit(texts, labels), lambda: reference.fit(texts, labels)


@workload("fit `make_table_pipeline`", "boosted trees on ordinal codes")
def fit_table(folder):
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    from sk_metaembed import make_table_pipeline

    rng = np.random.default_rng(0)
    _, _, texts, labels = make_words_and_texts(2_000, 200, 8)
    strings = {
        "kind": rng.choice(["tea", "milk", "rain"], len(texts)),
        "code": [f"{number:03d}-{number % 7}" for number in rng.integers(60, size=200)],
        "day": pd.date_range("2020-01-01", periods=len(texts)).astype(str),
        "note": texts,
    }
    table = pd.DataFrame({"x": labels + rng.normal(size=len(texts)), **strings})
    ours = make_table_pipeline("classifier", random_state=0)
    codes = OrdinalEncoder(), [*strings]
    reference = make_pipeline(
        make_column_transformer(codes, remainder="passthrough"),
        HistGradientBoostingClassifier(random_state=0),
    )
    return lambda: ours.fit(table, labels), lambda: reference.fit(table, labels)


@workload("stream texts from a file to a .npy file", "transform a list in memory")
def streaming(folder):
    from sklearn.pipeline import make_pipeline

    from sk_metaembed import transform_in_batches

    words, matrix, texts, _ = make_words_and_texts(20_000, 10_000, 30)
    pipe = make_pipeline(*mean_steps(words, matrix)).fit(texts[:10])
    source, out = folder / "texts.txt", folder / "vectors.npy"
    source.write_text("\n".join(texts) + "\n")

    def ours():
        with contextlib.suppress(FileNotFoundError):
            out.unlink()
        transform_in_batches(pipe, source, out, batch_size=2_500)

    return ours, lambda: pipe.transform(texts)


@workload("`save` a pipeline", "`joblib.dump`")
def save_pipeline(folder):
    import joblib

    from sk_metaembed import save

    pipe, _ = row_pipelines()
    return (
        lambda: save(pipe, folder / "pipe.skm"),
        lambda: joblib.dump(pipe, folder / "pipe.joblib"),
    )


@workload("`load` a pipeline", "`joblib.load`")
def load_pipeline(folder):
    import joblib

    from sk_metaembed import load, save

    pipe, _ = row_pipelines()
    save(pipe, folder / "pipe.skm")
    joblib.dump(pipe, folder / "pipe.joblib")
    return (
        lambda: load(folder / "pipe.skm"),
        lambda: joblib.load(folder / "pipe.joblib"),
    )


@workload("explain 10 predictions", "predict those texts without each word in turn")
def explain_texts(folder):
    from sk_metaembed.inspection import explain

    pipe, _ = row_pipelines()
    _, _, texts, _ = make_words_and_texts(20_000, 60, 20)
    rows, background = texts[:10], texts[10:]

    def reference():
        for row in rows:
            words = row.split()
            left = [words[:i] + words[i + 1 :] for i in range(len(words))]
            pipe.predict_proba([row, *map(" ".join, left)])

    return lambda: explain(pipe, rows, background=background), reference
