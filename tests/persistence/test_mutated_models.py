"""Files of trees and splines with random changes give a result or an error.

A crash would end the process, so the models are loaded and used in another one::

    python -m tests.persistence.test_mutated_models SEED SECONDS
"""

import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from sk_metaembed import load, save

from . import forge

ROOT = Path(__file__).parents[2]
VALUES = (0, 1, -1, 3, 255, -(2**31), 2**63, 1.5, float("nan"), None, True, "x", [], {})
WORDS = [n.to_bytes(8, "little") for n in (0, 1, 5, 255, 2**31, 2**63, 2**64 - 1)]
NAMES = "tree_", "n_features_in_", "_validate_X_predict", "_predictors", "_in_fit"
METHODS = "predict", "predict_proba", "decision_path", "apply"


def table():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[:, 3] = np.arange(60) % 5
    return X, (X[:, 3] % 2 + (X[:, 0] > 0)).astype(int)


def models():
    X, y = table()
    boosting = HistGradientBoostingClassifier(
        max_iter=2, categorical_features=[3], max_leaf_nodes=5, min_samples_leaf=3
    )
    forest = RandomForestClassifier(2, max_depth=3, random_state=0)
    isolation = IsolationForest(n_estimators=2, max_samples=8, random_state=0)
    splines = make_pipeline(SplineTransformer(), Ridge())
    return [model.fit(X, y) for model in (boosting, forest, isolation, splines)]


def mutated_arrays(data, rng):
    """Return the bytes of the arrays with a bit or a number changed."""
    data = bytearray(data)
    if rng.random() < 0.5:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    else:
        at = 8 * rng.randrange(len(data) // 8)
        data[at : at + 8] = rng.choice(WORDS)
    return bytes(data)


def mutated(parts, rng):
    """Return a file with changed arrays, or replaced or removed parts of nodes."""
    parts = dict(parts)
    nodes = forge.nodes_of(parts)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if rng.random() < 0.6:
            parts[forge.ARRAYS] = mutated_arrays(parts[forge.ARRAYS], rng)
        else:
            value = rng.choice((*VALUES, *NAMES, {"ref": rng.randrange(len(nodes))}))
            place = rng.choice(forge.places(nodes))
            nodes = forge.edited(nodes, place, value, drop=rng.random() < 0.1)
    return forge.zipped(forge.with_nodes(parts, nodes))


def run(seed, seconds, folder):
    """Load and use mutated files; return the numbers of files and of loaded ones."""
    rng, path, X = random.Random(seed), folder / "m.skm", table()[0]
    inputs = X, X.astype("f4"), X[:, :1].astype("f4"), np.zeros((3, 1), np.uint8)
    saved = [forge.members(save(model, path).read_bytes()) for model in models()]
    n_files = n_loaded = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        path.write_bytes(mutated(rng.choice(saved), rng))
        n_files += 1
        try:
            model = load(path)
        except (ValueError, RecursionError):
            continue
        n_loaded += 1
        for method in METHODS:
            for given in inputs if hasattr(model, method) else ():
                try:
                    getattr(model, method)(given)
                except Exception:  # of whatever a parameter leads to
                    continue
    return n_files, n_loaded


@pytest.mark.slow
def test_mutated_files_do_not_crash():
    command = [sys.executable, "-m", "tests.persistence.test_mutated_models", "0", "10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    n_files, n_loaded = map(int, done.stdout.split()[-2:])
    assert n_files > n_loaded > 0


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")
@pytest.mark.parametrize("names", [["Birch", "FeatureHasher", "KMeans"], []])
def test_changed_attributes_end_no_process(names):
    command = [sys.executable, "benchmarks/changed_attributes.py", "20", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-1000:]
    assert int(done.stdout.splitlines()[-1]) > 10


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        counts = run(int(sys.argv[1]), float(sys.argv[2]), Path(folder))
    sys.stdout.write("{} {}\n".format(*counts))
