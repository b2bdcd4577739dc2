"""The files and functions that four journeys through the package enter.

A reader who wants to know what a call does reads what it enters. Each journey runs
twice; the second run is profiled, so that imports and caches are warm. Counted are the
files and the distinct functions of the package itself, and, beside it, those of a
comparable call of another library, in that library. Comprehensions and lambdas belong
to the function that contains them.

Prints a table; ``--list`` prints the functions by file. `tests/test_journeys.py`
compares the counts with upper bounds.

Run: python benchmarks/journeys.py [--list] [--only net]
"""

import argparse
import sys
import tempfile
import threading
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    ConcatMetaEmbedding,
    DynamicMetaClassifier,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    StackedMetaClassifier,
    Tokenizer,
    make_table_pipeline,
)

_INNER = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>", "<module>")


def enter(run, package):
    """Return the functions of a package that a call enters, by file.

    Parameters
    ----------
    run : callable
        Called without arguments, twice.
    package : str
        Name of an imported package.

    Returns
    -------
    dict of str to set of str
        Qualified names of functions, by path relative to the package.
    """
    root = Path(sys.modules[package].__file__).parent
    entered = defaultdict(set)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name not in _INNER:
            entered[code.co_filename].add(code.co_qualname)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            run()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    paths = {path: Path(path) for path in entered}
    return {
        str(paths[path].relative_to(root)): names
        for path, names in entered.items()
        if paths[path].is_relative_to(root)
    }


def texts_and_labels(n=120):
    """Return generated texts of two classes."""
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bcdfghklmn" for b in ("a", "e", "i", "o", "u")]
    labels = np.arange(n) % 2
    texts = [
        " ".join([*rng.choice(words, 8), "good" if label else "bad"])
        for label in labels
    ]
    return texts, labels


def vectors_file(folder, texts):
    """Write a file of vectors in the word2vec text format, and return its path."""
    rng = np.random.default_rng(1)
    words = sorted({word for text in texts for word in text.split()})
    lines = [f"{len(words)} 5"]
    lines += [" ".join([word, *map(str, rng.normal(size=5))]) for word in words]
    path = Path(folder) / "vectors.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def journeys(folder):
    """Yield the name of each journey, its call, and the call and package beside it."""
    texts, y = texts_and_labels()
    source = PretrainedEmbedding(vectors_file(folder, texts))
    union = EmbeddingUnion([("a", source), ("b", source)])
    X = union.fit_transform(Tokenizer().transform(texts))

    def fit_net():
        model = DynamicMetaClassifier(projection_dim=4, max_epochs=2, random_state=0)
        model.fit(X, y)

    yield "DynamicMetaClassifier.fit", fit_net, fit_skorch, "skorch"

    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=len(y)),
            "category": rng.choice(["x", "y", "z"], len(y)),
            "text": texts,
            "date": pd.date_range("2020-01-01", periods=len(y)).astype(str),
        }
    )

    def fit_table():
        make_table_pipeline("classifier", random_state=0).fit(table, y)

    def fit_skrub():
        import skrub

        skrub.tabular_pipeline("classifier").fit(table, y)

    yield 'make_table_pipeline("classifier").fit', fit_table, fit_skrub, "skrub"

    n_files = 0

    def embed():
        nonlocal n_files
        n_files += 1
        new = Path(folder) / str(n_files)
        new.mkdir()
        new_source = PretrainedEmbedding(vectors_file(new, texts))
        make_pipeline(
            EmbeddingUnion([("a", new_source), ("b", source)]),
            ConcatMetaEmbedding(),
            Pooling(),
        ).fit_transform(texts)

    def fit_svd():
        make_pipeline(TfidfVectorizer(), TruncatedSVD(5)).fit_transform(texts)

    yield "text, new file, union, concatenation, Pooling", embed, fit_svd, "sklearn"

    def fit_stack():
        StackedMetaClassifier(random_state=0).fit(X, y)

    def fit_stacking():
        models = [("a", LogisticRegression()), ("b", LogisticRegression(C=10))]
        pooled = Pooling().fit_transform(X)
        StackingClassifier(models).fit(pooled, y)

    yield "StackedMetaClassifier.fit", fit_stack, fit_stacking, "sklearn"


def fit_skorch():
    """Fit a small network by skorch."""
    import torch
    from skorch import NeuralNetClassifier

    rows = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    labels = np.arange(120) % 2
    net = NeuralNetClassifier(
        torch.nn.Linear,
        module__in_features=5,
        module__out_features=2,
        max_epochs=2,
        criterion=torch.nn.CrossEntropyLoss,
        verbose=0,
    )
    net.fit(rows, labels)


def count(entered):
    """Return the numbers of files and functions."""
    return len(entered), sum(len(names) for names in entered.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--list", action="store_true", help="print the functions")
    parser.add_argument("--only", default="", help="journeys whose name contains this")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| journey | files / functions | beside it | files / functions |")
        print("|---|---|---|---|")
        for name, run, other, package in journeys(folder):
            if args.only not in name:
                continue
            ours = enter(run, "sk_metaembed")
            try:
                __import__(package)
                theirs = "{} / {}".format(*count(enter(other, package)))
            except ImportError:
                theirs = "not installed"
            print(
                "| {} | {} / {} | {} | {} |".format(name, *count(ours), package, theirs)
            )
            if args.list:
                for path, names in sorted(ours.items()):
                    print(f"  {path}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main()
