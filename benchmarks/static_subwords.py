"""Static subword models: speed beside their own libraries, accuracy beside others.

Models: all-MiniLM-L6-v2 distilled on the spot by model2vec (256 dimensions, PCA, SIF
weights), as float32, int8, and with a vocabulary quantized to 4,000 rows; the same as a
StaticEmbedding of sentence-transformers.

Speed: calls alternate and medians are printed, with the largest difference between the
vectors and the smallest cosine. Nothing is kept between calls: each splits its own
distinct words. Texts: BBC's 2,225 articles; 9,000 distinct ones (these, 4,000 reviews
of food, 2,775 of SST-2); one article; one sentence.

Accuracy: mean vectors, scaled, and LogisticRegression with C selected on the
development part (SST-2), or in inner folds (BBC, 5 folds, copies kept together);
Pearson's correlation of cosines with ratings (SICK and STS benchmark, test), without
training. Seconds are for embedding the sentences of SST-2 by a fitted source.

Needs ``SK_METAEMBED_DATA``, ``pip install 'model2vec[distill]' sentence-transformers``,
and the package of `encoder_path`.

    python benchmarks/static_subwords.py --cache DIR speed accuracy
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
from _data import detokenized, load_food_reviews, load_sst2, load_vectors
from _measure import alternate
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    ConcatMetaEmbedding,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    StaticSubwordEmbedding,
    Tokenizer,
    TransformerEmbedding,
)
from sk_metaembed.datasets import encoder_path, fetch_sentence_pairs, load_bbc_news

QUANTIZED = 4000  # rows of the quantized vocabulary
REPEATS = 5
PENALTIES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1)


def logistic(inputs, y, *, texts=False):
    """Return dev and test accuracy with the penalty selected on dev.

    Texts are converted to TF-IDF; other inputs are vectors.
    """
    step = TfidfVectorizer(token_pattern=r"\S+") if texts else StandardScaler()
    best = (0, 0)
    for C in (0.3, 1, 3, 10, 30) if texts else PENALTIES:
        pipe = make_pipeline(step, LogisticRegression(C=C, max_iter=2000))
        pipe.fit(inputs["train"], y["train"])
        scores = [pipe.score(inputs[part], y[part]) for part in ("dev", "test")]
        best = max(best, tuple(scores), key=lambda pair: pair[0])
    return [100 * score for score in best]


class Models:
    """Folders of the distilled models by name, each made once."""

    def __init__(self, cache):
        self.cache = cache

    def __getitem__(self, name):
        folder = self.cache / name
        if not folder.exists():
            self.make(name, str(folder))
        return str(folder)

    def make(self, name, folder):
        """Write the model of a name to a folder."""
        if name == "float32":
            from model2vec.distill import distill

            options = {"pca_dims": 256, "device": "cpu", "quantize_to": "float32"}
            distill(encoder_path("minilm"), **options).save_pretrained(folder)
        elif name == "st":
            from sentence_transformers import SentenceTransformer
            from sentence_transformers.sentence_transformer.modules import (
                StaticEmbedding,
            )

            module = StaticEmbedding.from_model2vec(self["float32"])
            SentenceTransformer(modules=[module], device="cpu").save(folder)
        else:
            from model2vec import StaticModel

            clusters = {"quantized": QUANTIZED, "int8": None}[name]
            StaticModel.from_pretrained(
                self["float32"], quantize_to="int8", vocabulary_quantization=clusters
            ).save_pretrained(folder)


def peers(folders):
    """Return functions by name, which return a model and its library's encoder."""
    return {
        "float32": lambda: model2vec(folders["float32"]),
        "int8": lambda: model2vec(folders["int8"]),
        "quantized": lambda: model2vec(folders["quantized"]),
        "sentence-transformers": lambda: sentence_transformers(folders["st"]),
    }


def model2vec(folder):
    from model2vec import StaticModel

    return folder, StaticModel.from_pretrained(folder).encode


def sentence_transformers(folder):
    from sentence_transformers import SentenceTransformer

    return folder, SentenceTransformer(folder, device="cpu").encode


def corpora():
    """Return lists of texts by name."""
    news = load_bbc_news().data
    reviews = load_food_reviews().data["review"][:4000].tolist()
    sentences = sst2_texts()["train"]
    mixed = list(dict.fromkeys([*news, *reviews, *sentences]))[:9000]
    return {
        "2,225 articles": news,
        f"{len(mixed):,} texts": mixed,
        "one article": news[:1],
        "one sentence": ["The quick brown fox jumps over the lazy dog."],
    }


def speed(folders, models, repeats):
    """Print texts per second, and how far the vectors are from their own library's."""
    print("\n| model | texts | its own library | here | ratio | difference | cosine |")
    print("|---|---|---|---|---|---|---|")
    for name, make in peers(folders).items():
        if not any(model in name for model in models):
            continue
        model, encode = make()
        source = StaticSubwordEmbedding(model, output="mean").fit(["a"])

        def embed(texts, source=source):
            return source.transform(texts).blocks[0].values

        for texts_name, texts in corpora().items():
            encode(texts[-50:])
            embed(texts)  # compiles
            calls = {"own": partial(encode, texts), "here": partial(embed, texts)}
            times, vectors = alternate(calls, repeats if len(texts) > 1 else 200)
            seconds = {key: np.median(spent[:, 0]) for key, spent in times.items()}
            rates = " | ".join(f"{len(texts) / s:,.0f}" for s in seconds.values())
            own, here = vectors.values()
            empty = ~own.any(axis=1)
            cosine = np.where(empty, 1, cosines(own, here)).min()
            print(
                f"| {name} | {texts_name} | {rates} | "
                f"{seconds['own'] / seconds['here']:.1f} | "
                f"{np.abs(own - here).max():.0e} | {cosine:.6f} |",
                flush=True,
            )


def cosines(a, b):
    """Return the cosine of each pair of rows, 0 for zeros."""
    a, b = (np.asarray(rows, dtype=np.float64) for rows in (a, b))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return (a * b).sum(axis=1) / np.maximum(norms, 1e-32)


def sst2_texts():
    """Return the sentences of SST-2 as plain text by part."""
    return {
        part: [detokenized(words) for words in load_sst2(part).data]
        for part in ("train", "dev", "test")
    }


def encoders(folders, cache):
    """Return functions by name, which return steps from tokens to mean vectors."""

    def glove():
        return PretrainedEmbedding(load_vectors("glove-100"), preprocess="unit")

    def static(model, **options):
        return StaticSubwordEmbedding(model, **options)

    def static_mean(model, **options):
        return (static(model, output="mean", **options),)

    def both():
        words = static(folders["float32"], preprocess="unit")
        sources = [("glove", glove()), ("minilm", words)]
        return EmbeddingUnion(sources), ConcatMetaEmbedding(), Pooling()

    def minilm():
        options = {"output": "mean", "cache": cache / "sentences"}
        return (TransformerEmbedding(encoder_path("minilm"), **options),)

    return {
        "GloVe 100 d": lambda: (glove(), Pooling()),
        "MiniLM distilled, 256 d": lambda: static_mean(folders["float32"]),
        "GloVe and distilled, words": both,
        "distilled, words": lambda: (static(folders["float32"]), Pooling()),
        "distilled, int8": lambda: static_mean(folders["int8"]),
        "distilled, first 64 d": lambda: static_mean(folders["float32"], dim=64),
        "distilled, quantized": lambda: static_mean(folders["quantized"]),
        "MiniLM itself, 384 d": minilm,
    }


def apply(steps, texts, *, fit=False):
    """Return the vectors of texts."""
    X = Tokenizer().transform(texts)
    for step in steps:
        X = step.fit_transform(X) if fit else step.transform(X)
    return X if isinstance(X, np.ndarray) else X.blocks[0].values


def accuracy(folders, rows, cache):
    """Print accuracy, correlations and costs."""
    print("\n| | SST-2 test | BBC, 5 folds | SICK | STS benchmark | seconds |")
    print("|---|---|---|---|---|---|")
    sst2 = sst2_texts()
    targets = {part: load_sst2(part).target for part in sst2}
    rated = [fetch_sentence_pairs(name, return_X_y=True) for name in ("sick", "stsb")]
    for name, make in encoders(folders, cache).items():
        if not any(row in name for row in rows):
            continue
        steps = make()
        apply(steps, sst2["train"], fit=True)
        start = time.perf_counter()
        inputs = {part: apply(steps, texts) for part, texts in sst2.items()}
        seconds = time.perf_counter() - start
        cells = [f"{logistic(inputs, targets)[1]:.2f}", bbc(steps)]
        for pairs, ratings in rated:
            left, right = (apply(steps, [pair[i] for pair in pairs]) for i in (0, 1))
            r = np.corrcoef(cosines(left, right), ratings)[0, 1]
            cells.append(f"{100 * r:.1f}")
        print(f"| {name} | {' | '.join(cells)} | {seconds:.2f} |", flush=True)


def bbc(steps):
    """Return mean and standard deviation of the accuracy over folds."""
    news = load_bbc_news()
    vectors = apply(steps, news.data)
    grid = {"logisticregression__C": PENALTIES[1::2]}
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    pipe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    scores = []
    for train, test in folds.split(vectors, news.target, news.groups):
        search = GridSearchCV(pipe, grid, cv=3).fit(vectors[train], news.target[train])
        scores.append(100 * search.score(vectors[test], news.target[test]))
    return f"{np.mean(scores):.2f} +- {np.std(scores):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("tables", nargs="+", choices=("speed", "accuracy"))
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=[""], help="parts of names")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    folders = Models(arguments.cache)
    if "speed" in arguments.tables:
        speed(folders, arguments.models, arguments.repeats)
    if "accuracy" in arguments.tables:
        accuracy(folders, arguments.models, arguments.cache)


if __name__ == "__main__":
    main()
