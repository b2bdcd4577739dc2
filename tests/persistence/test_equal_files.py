"""Equal estimators give equal files in processes that hash and allocate otherwise."""

import itertools
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import make_text_pipeline, save

from ..processes import run_script
from .same import Holder

TEXTS = ["a good film", "a bad film", "good plot", "bad plot, so bad"] * 5
LABELS = [1, 0] * 10
SCRIPT = """
import sys
import pytest
from tests.persistence import test_equal_files
target, temporary, kinds = sys.argv[1:]
with pytest.MonkeyPatch.context() as monkeypatch:
    test_equal_files.write(target, temporary, kinds, monkeypatch)
print(hash("tea"))
"""


def holders():
    """Return values whose order or bytes may depend on the process."""
    aligned = np.dtype([("flag", "i1"), ("pair", "f8", (2,))], align=True)
    padded = np.empty(50, np.dtype([("inner", aligned), ("short", "i2")], align=True))
    padded["short"], padded["inner"]["flag"], padded["inner"]["pair"] = 1, 2, 3
    words = ["tea", "milk", "rain", "honey"]
    return {
        "set": {*words},
        "mixed": {*words, None, 1, 1.5, b"tea", ("a", 1), ("a", None)},
        "keys": {("a",): {*words}},
        "padding": padded,
        "one": padded[0],
    }


def estimators(is_all):
    """Yield fitted estimators by name: a few, or one of each kind."""
    yield from ((name, Holder(value)) for name, value in holders().items())
    yield "stop words", TfidfVectorizer(stop_words=["a", "so"]).fit(TEXTS)
    yield "vocabulary", CountVectorizer(vocabulary={"good", "bad", "film"}).fit(TEXTS)
    words = TfidfVectorizer(), LogisticRegression()
    yield "words", make_pipeline(*words).fit(TEXTS, LABELS)
    if not is_all:
        return
    from tests.checks.data import fitted

    from ..test_estimators import ESTIMATORS
    from .test_round_trip import data_for
    from .write_fixtures import estimators as of_rooms

    for number, estimator in enumerate(ESTIMATORS):
        estimator = clone(estimator)
        params = estimator.get_params(deep=True)
        if any(isinstance(value, os.PathLike) for value in params.values()):
            continue  # a model in a temporary folder of the process
        seeds = [n for n in params if n.endswith("random_state")]
        threads = [n for n in params if n.endswith("n_jobs")]
        estimator.set_params(**dict.fromkeys(seeds, 0), **dict.fromkeys(threads, 1))
        yield (
            f"{number} {type(estimator).__name__}",
            fitted(estimator, data_for(estimator)),
        )
    text = make_text_pipeline("classifier", random_state=0)
    yield "text", text.fit([f"{text} {i}" for i, text in enumerate(TEXTS)], LABELS)
    for name, (estimator, _) in of_rooms().items():
        yield name, estimator
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 3
    boosting = HistGradientBoostingClassifier(max_iter=3, random_state=0)
    yield "boosting", boosting.fit(X, y)
    yield "forest", RandomForestClassifier(3, random_state=0).fit(X, y)


def write(target, temporary, kinds, monkeypatch):
    """Save estimators without what they have of their process: durations and paths."""
    number = itertools.count()

    def mkdtemp(*_, **__):
        folder = Path(temporary, str(next(number)))
        folder.mkdir(parents=True)
        return str(folder)

    shutil.rmtree(temporary, ignore_errors=True)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    for name, size in (("_ROUNDS", 5), ("_TREES", 10)):  # as in conftest.py
        monkeypatch.setattr(f"sk_metaembed.tables._learners.{name}", size)
    for name, estimator in estimators(kinds == "all"):
        save(estimator, Path(target, f"{name}.skm"))


@pytest.mark.filterwarnings("ignore:Loading .* requires explicit trust:UserWarning")
@pytest.mark.filterwarnings("ignore:.*'n_jobs' has no effect:FutureWarning")
@pytest.mark.parametrize("kinds", ["few", pytest.param("all", marks=pytest.mark.slow)])
def test_files_are_equal_in_each_process(kinds, tmp_path):
    folders = tmp_path / "here", tmp_path / "there"
    for folder in folders:
        folder.mkdir()
    with pytest.MonkeyPatch.context() as monkeypatch:
        write(folders[0], tmp_path / "temporary", kinds, monkeypatch)
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    changed = {"PYTHONHASHSEED": seed, "MALLOC_PERTURB_": "11"}
    shown = run_script(SCRIPT, folders[1], tmp_path / "temporary", kinds, **changed)
    assert int(shown.split()[-1]) != hash("tea")
    files = [{path.name: path.read_bytes() for path in f.iterdir()} for f in folders]
    assert len(files[0]) > 6
    different = [name for name in files[0] if files[0][name] != files[1][name]]
    assert files[0].keys() == files[1].keys()
    assert different == []
