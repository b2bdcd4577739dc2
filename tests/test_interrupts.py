"""Ctrl-C in the middle of a fit: what is left is unfitted, or works."""

import contextlib
import os
import sys
import threading
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import sk_metaembed as sk

PACKAGE = os.path.dirname(sk.__file__) + os.sep
WORDS = ["good", "bad", "film", "plot", "old", "new", "dull", "fine"]
rng = np.random.default_rng(0)
TEXTS = [" ".join(rng.choice(WORDS, 4)) for _ in range(24)]
Y = np.array(["bad" in text for text in TEXTS]).astype(int)
ONE, TWO = (rng.normal(size=(8, dim)) for dim in (3, 4))


def pretrained(words, matrix):
    vectors = sk.WordVectors.from_arrays(words, matrix[: len(words)])
    return sk.PretrainedEmbedding(vectors)


UNION = sk.EmbeddingUnion(
    [("a", pretrained(WORDS[:7], ONE)), ("b", pretrained(WORDS[1:], TWO))]
)
GENSIM = {"vector_size": 3, "min_count": 1, "epochs": 1, "random_state": 0}
NET = {"max_epochs": 2, "device": "cpu", "random_state": 0}
SMALL = {**NET, "projection_dim": 3, "encoder": "mean", "hidden_dims": ()}
BILM = {"projection_dim": 4, "cell_dim": 4, "filters": ((1, 4),), "char_dim": 2}
TAGS = [["A" if len(w) > 3 else "O" for w in text.split()] for text in TEXTS]

OF_TEXTS = {
    "pretrained": pretrained(WORDS, ONE),
    "union": UNION,
    "word2vec": sk.Word2VecEmbedding(**GENSIM),
    "fastText": sk.FastTextEmbedding(**GENSIM, bucket=50),
    "estimator": sk.EstimatorEmbedding(TfidfVectorizer(), as_text=True),
}
OF_BLOCKS = {
    "concat": sk.ConcatMetaEmbedding(),
    "svd": sk.SVDMetaEmbedding(n_components=2),
    "gcca": sk.GCCAMetaEmbedding(n_components=2),
    "procrustes": sk.ProcrustesMetaEmbedding(),
    "one to n": sk.OneToNMetaEmbedding(n_components=2),
    "imputer": sk.SourceImputer(min_shared=2),
    "pooling": sk.Pooling(),
    "dme": sk.DynamicMetaClassifier(**SMALL),
    "tagger": sk.TokenClassifier(LogisticRegression()),
}


def interrupted(step, X, y, at, within=""):
    """Fit, with Ctrl-C at the n-th function of the package; return how many ran.

    Those count whose path ends in `within`.
    """
    count = [0]

    def trace(frame, event, arg):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE) and path.endswith(within):
            count[0] += 1
            if count[0] == at:
                raise KeyboardInterrupt
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step.fit(X, y)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return count[0]


def output(step, X):
    result = step.transform(X) if hasattr(step, "transform") else step.predict(X)
    if isinstance(result, sk.EmbeddedSequences):
        return np.concatenate([block.values.ravel() for block in result.blocks])
    return np.concatenate([np.ravel(row) for row in result])


@pytest.fixture(scope="module")
def embedded():
    import_module("skorch")  # which takes long while calls are counted
    return UNION.fit_transform(TEXTS)


@pytest.mark.parametrize("name", [*OF_TEXTS, *OF_BLOCKS])
@pytest.mark.filterwarnings("ignore:.*training was interrupted")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_in_fit(name, embedded):
    step = {**OF_TEXTS, **OF_BLOCKS}[name]
    X = TEXTS if name in OF_TEXTS else embedded
    y = {"tagger": TAGS}.get(name, Y)
    step.set_params(**{k: 0 for k in ("random_state",) if k in step.get_params()})
    n_calls = interrupted(clone(step), X, y, None)
    expected = output(clone(step).fit(X, y), X)
    shared = clone(step).fit(X, y)
    for at in np.unique(np.linspace(1, n_calls, 4).astype(int)):
        left = clone(step)
        interrupted(left, X, y, at)
        try:
            result = output(left, X)
        except NotFittedError:
            pass
        else:
            assert result.dtype.kind != "f" or np.isfinite(result).all()
        if name != "dme":  # interrupted in an epoch, a fit ends with what it has
            np.testing.assert_array_equal(output(shared, X), expected)
        result = output(shared.fit(X, y), X)
        np.testing.assert_array_equal(result, expected)


def test_other_threads_continue_after_ctrl_c(embedded):
    """While a network is created, which is locked for others."""
    step = sk.DynamicMetaClassifier(**{**SMALL, "max_epochs": 1})
    for at in range(1, 16):
        interrupted(
            clone(step), embedded, Y, at, os.path.join("dynamic", "_network.py")
        )
    thread = threading.Thread(target=clone(step).fit, args=(embedded, Y), daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_ctrl_c_in_a_language_model():
    model = sk.ElmoLanguageModel(**NET, architecture=BILM)
    rows = [text.split() for text in TEXTS[:6]]
    n_calls = interrupted(clone(model), rows, None, None)
    for at in np.linspace(1, n_calls, 5).astype(int):
        left = clone(model)
        interrupted(left, rows, None, at)
        with contextlib.suppress(NotFittedError):
            assert np.isfinite(left.perplexity(rows))
