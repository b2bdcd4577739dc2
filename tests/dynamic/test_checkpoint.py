"""Fits that are killed, interrupted or run out of disk, and what they go on to."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from skorch.callbacks import Callback

from sk_metaembed import (
    CharEmbedding,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
)
from sk_metaembed._training import _checkpoint_file

from .conftest import make_embedded

SMALL = {
    "projection_dim": 6,
    "encoder_dim": 5,
    "hidden_dims": (4,),
    "batch_size": 8,
    "lr": 0.05,
    "max_epochs": 4,
    "early_stopping": True,
    "random_state": 0,
    "device": "cpu",
}
rng = np.random.default_rng(0)
LABELS = np.where(rng.random(24) > 0.5, "high", "low")


class Killed(BaseException):
    """Ends a fit as a signal would: nothing of the library catches it."""


class Kill(Callback):
    """Ends a fit in the middle of an epoch, or at its end."""

    def __init__(self, epoch, error=Killed, at_end=False):
        self.epoch, self.error, self.at_end = epoch, error, at_end

    def on_batch_end(self, net, **kwargs):
        if not self.at_end and len(net.history) == self.epoch:
            raise self.error

    def on_epoch_end(self, net, **kwargs):
        if self.at_end and len(net.history) == self.epoch:
            raise self.error


def weights(estimator):
    state = estimator.net_.module_.state_dict()
    return {name: value.numpy().copy() for name, value in state.items()}


def assert_same(one, other):
    assert one.n_iter_ == other.n_iter_
    for epoch, same in zip(one.history_, other.history_, strict=True):
        for name in epoch.keys() - {"dur", "batches"}:
            assert epoch[name] == same[name], name
    expected = weights(other)
    assert weights(one).keys() == expected.keys()
    for name, value in weights(one).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def tags(X):
    return [["A" if len(w) > 2 else "O" for w in row] for row in X.tokens.to_list()]


FITS = {
    "classifier": (DynamicMetaClassifier(**SMALL, patience=2), lambda X: LABELS),
    "CDME": (DynamicMetaClassifier("context", **SMALL), lambda X: LABELS),
    "no early stopping": (
        DynamicMetaEmbedding(**SMALL | {"early_stopping": False}, attention="task"),
        lambda X: LABELS,
    ),
    "regressor": (
        DynamicMetaRegressor(**SMALL, embedding_dropout=0.5),
        lambda X: np.arange(24.0),
    ),
    "tagger": (DynamicMetaTagger(**SMALL), tags),
    "characters": (
        DynamicMetaClassifier(trainable=CharEmbedding(char_dim=3), **SMALL),
        lambda X: LABELS,
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_a_resumed_fit_has_the_same_weights(name, tmp_path):
    estimator, target = FITS[name]
    X = make_embedded(24, lengths=(1, 7))
    y = target(X)
    whole = clone(estimator).fit(X, y)
    saved = clone(estimator).set_params(train_options__checkpoint=tmp_path)
    for epoch, at_end in ((2, False), (3, True)):
        kill = Kill(epoch, at_end=at_end)
        with pytest.raises(Killed):
            clone(saved).set_params(callbacks=[kill]).fit(X, y)
        assert len(list(tmp_path.iterdir())) == 1
    assert_same(saved.fit(X, y), whole)
    assert list(tmp_path.iterdir()) == []


KILLED = """
    import os, signal, sys
    import tests.dynamic.test_checkpoint as t

    class Signal(t.Callback):
        def on_batch_end(self, net, **kwargs):
            if len(net.history) == 3:
                os.kill(os.getpid(), signal.SIGKILL)

    t.SUBJECT.set_params(train_options__checkpoint=sys.argv[1])
    t.SUBJECT.set_params(callbacks=[Signal()])
    t.SUBJECT.fit(t.make_embedded(24), t.LABELS)
"""
SUBJECT = DynamicMetaClassifier("context", **SMALL)


def test_kill_9(tmp_path):
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    run = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)]
    done = subprocess.run(run, env=env, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(list(tmp_path.glob("*.pt"))) == 1
    X = make_embedded(24)
    whole = clone(SUBJECT).fit(X, LABELS)
    seen = []

    class Note(Callback):
        def on_epoch_begin(self, net, **kwargs):
            seen.append(len(net.history))

    saved = clone(SUBJECT).set_params(
        train_options__checkpoint=tmp_path, callbacks=[Note()]
    )
    assert_same(saved.fit(X, LABELS), whole)
    assert seen[0] == 3  # two epochs were over, and are not trained again
    assert list(tmp_path.iterdir()) == []


def killed(folder, epoch=3, **params):
    estimator = clone(SUBJECT).set_params(**params, train_options__checkpoint=folder)
    with pytest.raises(Killed):
        clone(estimator).set_params(callbacks=[Kill(epoch)]).fit(
            make_embedded(24), LABELS
        )
    return estimator


def test_a_fit_without_a_seed_resumes(tmp_path):
    np.random.seed(1)  # noqa: NPY002
    estimator = killed(tmp_path, random_state=None)
    np.random.seed(2)  # noqa: NPY002
    resumed = estimator.fit(make_embedded(24), LABELS)
    np.random.seed(1)  # noqa: NPY002
    again = clone(estimator).fit(make_embedded(24), LABELS)
    assert_same(resumed, again)


def test_a_warm_start_resumes(tmp_path):
    X = make_embedded(24)
    first = clone(SUBJECT).set_params(warm_start=True, max_epochs=2).fit(X, LABELS)
    state = weights(first), first._random.get_state()
    whole = first.fit(X, LABELS)
    second = clone(SUBJECT).set_params(warm_start=True, max_epochs=2).fit(X, LABELS)
    assert state[0].keys() == weights(second).keys()
    second.set_params(train_options__checkpoint=tmp_path, callbacks=[Kill(4)])
    with pytest.raises(Killed):
        second.fit(X, LABELS)
    third = clone(SUBJECT).set_params(warm_start=True, max_epochs=2).fit(X, LABELS)
    third.set_params(train_options__checkpoint=tmp_path).fit(X, LABELS)
    assert_same(third, whole)


@pytest.mark.parametrize(
    "change",
    [
        {"lr": 0.04},
        {"y": LABELS[::-1]},
        {"X": make_embedded(24, seed=1)},
    ],
)
def test_another_fit_has_a_file_of_its_own(change, tmp_path):
    estimator = killed(tmp_path)
    (left,) = tmp_path.iterdir()
    params = {k: v for k, v in change.items() if k in SMALL}
    data = {"X": make_embedded(24), "y": LABELS}
    data |= {k: v for k, v in change.items() if k not in SMALL}
    other = clone(estimator).set_params(**params)
    expected = clone(other).set_params(train_options__checkpoint=None).fit(**data)
    assert_same(other.fit(**data), expected)
    assert list(tmp_path.iterdir()) == [left]


def test_parameters_may_be_numbers_of_numpy(tmp_path):
    options = {"lr_factor": np.float64(0.5)}
    numbers = {"lr": np.float64(0.05), "train_options": options}
    whole = clone(SUBJECT).set_params(**numbers).fit(make_embedded(24), LABELS)
    assert_same(killed(tmp_path, **numbers).fit(make_embedded(24), LABELS), whole)


@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_a_corrupt_file_warns_and_training_restarts(damage, tmp_path):
    estimator = killed(tmp_path)
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 8
    file.write_bytes(data if damage == "flip" else data[:-100])
    X = make_embedded(24)
    with pytest.warns(UserWarning, match=r"is corrupt .* Training starts from"):
        estimator.fit(X, LABELS)
    assert_same(estimator, clone(SUBJECT).fit(X, LABELS))
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_the_file_and_the_estimator(tmp_path):
    X = make_embedded(24)
    whole = clone(SUBJECT).fit(X, LABELS)
    estimator = clone(SUBJECT).set_params(train_options__checkpoint=tmp_path)
    stopped = clone(estimator).set_params(callbacks=[Kill(3, KeyboardInterrupt)])
    assert len(stopped.fit(X, LABELS).predict(X)) == 24
    assert_same(estimator.fit(X, LABELS), whole)


def test_a_full_disk_ends_no_training(tmp_path, monkeypatch):
    def full(file, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_checkpoint_file, "write_checkpoint", full)
    X = make_embedded(24)
    estimator = clone(SUBJECT).set_params(train_options__checkpoint=tmp_path)
    with pytest.warns(UserWarning, match=r"cannot be written .*No space") as record:
        estimator.fit(X, LABELS)
    assert len(record) == 1
    assert_same(estimator, clone(SUBJECT).fit(X, LABELS))


def test_a_file_in_the_folders_place(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    estimator = clone(SUBJECT).set_params(train_options__checkpoint=place)
    with pytest.raises(FileExistsError, match="is not a writable directory"):
        estimator.fit(make_embedded(24), LABELS)


def test_nothing_in_a_checkpoint_is_executed(tmp_path):
    class Gadget:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    file = tmp_path / "forged.pt"
    _checkpoint_file.write_checkpoint(file, {"done": Gadget()})
    with pytest.raises(_checkpoint_file.CorruptCheckpointError):
        _checkpoint_file.read_checkpoint(file, torch.device("cpu"))
    assert not (tmp_path / "executed").exists()
