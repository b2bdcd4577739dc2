"""Training by several processes, here threads that run one at a time."""

import pickle

import numpy as np
import pytest
from skorch.callbacks import Callback, Checkpoint, EarlyStopping

from sk_metaembed import (
    CharEmbedding,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    SequencePairs,
)

from .conftest import make_embedded
from .threads import run_together, together

SMALL = {
    "projection_dim": 8,
    "embedding_dropout": 0.0,
    "head_dropout": 0.0,
    "lr": 0.02,
    "batch_size": 16,
    "max_epochs": 2,
    "early_stopping": True,
    "hidden_dims": (),
    "random_state": 0,
    "device": "cpu",
}
X = make_embedded(50, lengths=(0, 7))
WEIGHTS = np.random.default_rng(3).uniform(0.1, 2, size=50)
SCORE = np.array([row[:, 0].sum() for row in X.to_list()])
LABELS = (np.median(SCORE) < SCORE).astype(int)
TAGS = [[f"t{int(w[1:]) % 3}" for w in row] for row in X.tokens.to_list()]
IMAGES = np.random.default_rng(1).normal(size=(25, 3))[np.arange(50) // 2]
TASKS = {
    "classifier": (DynamicMetaClassifier(encoder_dim=4), X, LABELS),
    "context": (
        DynamicMetaClassifier("context", encoder="mean"),
        X,
        LABELS,
    ),
    "regressor": (DynamicMetaRegressor(encoder="attention"), X, SCORE),
    "label sets": (
        DynamicMetaClassifier(encoder="gru", encoder_dim=4),
        X,
        np.c_[LABELS, 1 - LABELS, LABELS],
    ),
    "columns": (
        DynamicMetaClassifier(encoder="mean"),
        X,
        np.c_[LABELS, np.arange(50) % 3].astype(str),
    ),
    "scalar mix": (DynamicMetaEmbedding("task", mix_penalty=0.1), X, LABELS),
    "tagger": (DynamicMetaTagger(encoder_dim=4), X, TAGS),
    "softmax tagger": (DynamicMetaTagger(encoder_dim=4, decoder="softmax"), X, TAGS),
    "pairs": (
        DynamicMetaClassifier(encoder="mean"),
        SequencePairs(X),
        LABELS[:25],
    ),
    "characters": (
        DynamicMetaClassifier(trainable=CharEmbedding(dropout=0.0), encoder="mean"),
        X.tokens,
        LABELS,
    ),
}


def fitted(estimator, X, y, **options):
    model = type(estimator)(**estimator.get_params(deep=False) | SMALL | options)
    weights = WEIGHTS[: len(X)]
    return model.fit(X, y, sample_weight=weights)


def curve(model):
    names = [n for n in model.history_[0] if n.startswith(("train_l", "valid_"))]
    names = [n for n in names if isinstance(model.history_[0][n], float)]
    return np.array([[epoch[name] for name in names] for epoch in model.history_])


def weights_of(model):
    return [w.numpy() for w in model.net_.module_.state_dict().values()]


@pytest.mark.parametrize("task", TASKS)
def test_several_processes_learn_what_one_does(monkeypatch, task):
    alone = fitted(*TASKS[task])
    models = together(
        monkeypatch, 3, lambda rank: fitted(*TASKS[task], device="accelerate")
    )
    for model in models:
        assert curve(alone).shape[1] >= 2
        np.testing.assert_allclose(curve(model), curve(alone), atol=1e-5)
        for one, main in zip(weights_of(model), weights_of(models[0]), strict=True):
            np.testing.assert_array_equal(one, main)


def test_more_processes_than_held_out_sequences(monkeypatch):
    task = TASKS["classifier"]
    options = {"validation_fraction": 0.04, "batch_size": 60}
    alone = fitted(*task, **options)
    models = together(
        monkeypatch, 3, lambda rank: fitted(*task, device="accelerate", **options)
    )
    np.testing.assert_allclose(curve(models[2]), curve(alone), atol=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_parts_of_a_batch_teach_what_the_batch_does(task):
    alone = fitted(*TASKS[task])
    np.testing.assert_allclose(
        curve(fitted(*TASKS[task], train_options={"micro_batch_size": 5})),
        curve(alone),
        atol=1e-5,
    )


def test_processes_compute_their_shares_in_parts(monkeypatch):
    task, sizes = TASKS["classifier"], []
    options = {"device": "accelerate", "train_options": {"micro_batch_size": 3}}

    class Sizes(Callback):
        def on_batch_begin(self, net, batch=None, training=False, **kwargs):
            if training:
                sizes.extend(len(part) for part, _ in batch.parts)

    models = together(
        monkeypatch, 2, lambda rank: fitted(*task, callbacks=[Sizes()], **options)
    )
    np.testing.assert_allclose(curve(models[1]), curve(fitted(*task)), atol=1e-5)
    assert max(sizes) <= 3


def test_without_a_seed_all_processes_draw_the_same(monkeypatch):
    task = TASKS["classifier"]
    options = {"device": "accelerate", "random_state": None, "max_epochs": 1}
    models = together(monkeypatch, 2, lambda rank: fitted(*task, **options))
    np.testing.assert_array_equal(curve(models[0]), curve(models[1]))


def test_all_processes_stop_after_the_same_epoch(monkeypatch):
    class StopsInOne(Callback):
        def on_epoch_end(self, net, **kwargs):
            if net.processes_.rank == 1 and len(net.history) == 2:
                raise KeyboardInterrupt

    options = {"device": "accelerate", "max_epochs": 9, "callbacks": [StopsInOne()]}
    models = together(
        monkeypatch, 3, lambda rank: fitted(*TASKS["classifier"], **options)
    )
    assert [model.n_iter_ for model in models] == [2, 2, 2]


def test_early_stopping_and_learning_rate_are_decided_alike(monkeypatch):
    task, rates = TASKS["classifier"], []

    class Rates(Callback):
        def on_train_end(self, net, **kwargs):
            rates.append(net.optimizer_.param_groups[0]["lr"])

    options = {"lr": 0.5, "max_epochs": 30, "patience": 2, "callbacks": [Rates()]}
    alone = fitted(*task, **options)
    models = together(
        monkeypatch, 2, lambda rank: fitted(*task, device="accelerate", **options)
    )
    assert [m.n_iter_ for m in models] == [alone.n_iter_] * 2
    assert alone.n_iter_ < 30
    assert rates == [rates[0]] * 3
    assert rates[0] < 0.5


@pytest.mark.parametrize("moment", ["on_batch_begin", "on_epoch_end", "on_train_end"])
def test_an_error_in_one_process_ends_all(monkeypatch, moment):
    def fail(net, **kwargs):
        if net.processes_.rank == 1:
            raise OSError("the disk is full")

    class Failing(Callback):
        pass

    setattr(Failing, moment, lambda self, net, **kwargs: fail(net))
    options = {"device": "accelerate", "callbacks": [Failing()]}

    def run(rank):
        with pytest.raises((OSError, RuntimeError)) as error:
            fitted(*TASKS["classifier"], **options)
        # They are still in step: the next fit is one again.
        return error.value, fitted(*TASKS["classifier"], device="accelerate")

    results = together(monkeypatch, 3, run)
    assert isinstance(results[1][0], OSError)
    for rank in (0, 2):
        assert "because process 1 of 3 could not continue" in str(results[rank][0])
        assert "OSError: the disk is full" in str(results[rank][0])
    assert curve(results[2][1]).tolist() == curve(results[0][1]).tolist()


def test_an_error_before_training_ends_all(monkeypatch):
    def run(rank):
        y = LABELS if rank else LABELS[:-1]
        return fitted(*TASKS["classifier"][:2], y, device="accelerate")

    first, second = run_together(monkeypatch, 2, run)
    assert isinstance(first, ValueError)
    assert "inconsistent numbers of samples" in str(second)


def test_an_interrupt_within_an_epoch_is_an_error(monkeypatch):
    class Interrupts(Callback):
        def on_batch_begin(self, net, **kwargs):
            if net.processes_.rank == 0:
                raise KeyboardInterrupt

    options = {"device": "accelerate", "callbacks": [Interrupts()]}
    errors = run_together(
        monkeypatch, 2, lambda rank: fitted(*TASKS["classifier"], **options)
    )
    assert all("interrupted within an epoch" in str(error) for error in errors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": LABELS[::-1]}, "the checksum of the training targets is"),
        ({"X": X[:40], "y": LABELS[:40]}, "the number of training sequences is 40"),
        ({"lr": 0.5}, "the parameter lr is 0.5 in process 1, but 0.02 in process 0"),
    ],
)
def test_processes_with_different_data_raise(monkeypatch, change, message):
    def run(rank):
        given = {"X": X, "y": LABELS} | (change if rank else {})
        given |= {"device": "accelerate", "early_stopping": False}
        return fitted(DynamicMetaClassifier(), **given)

    first, second = run_together(monkeypatch, 2, run)
    assert message in str(second)
    assert message in str(first)


def test_one_process_writes_and_prints(monkeypatch, tmp_path, capsys):
    def run(rank):
        folder = tmp_path / str(rank)
        folder.mkdir()
        writer = Checkpoint(
            dirname=str(folder), f_pickle="net.pkl", monitor="train_loss_best"
        )
        task, options = TASKS["classifier"], {"callbacks": [writer], "verbose": 1}
        return fitted(*task, device="accelerate", **options)

    models = together(monkeypatch, 2, run)
    assert len(list((tmp_path / "0").iterdir())) >= 4
    assert list((tmp_path / "1").iterdir()) == []
    assert capsys.readouterr().out.count("train_loss") == 1
    assert models[1].history_ == models[0].history_
    assert models[1].net_.verbose == 1
    with open(tmp_path / "0" / "net.pkl", "rb") as file:
        assert pickle.load(file).processes_.count == 1


class Counts:
    """A callback of scikit-learn."""

    def __init__(self):
        self.n_tasks = 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.n_tasks += 1

    def on_fit_task_end(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass


def test_a_callback_of_scikit_learn_runs_once(monkeypatch):
    counts = [Counts(), Counts()]

    def run(rank):
        model = DynamicMetaClassifier(**SMALL | {"device": "accelerate"})
        return model.set_callbacks(counts[rank]).fit(X, LABELS)

    models = together(monkeypatch, 2, run)
    assert models[1]._skl_callbacks == [counts[1]]
    assert counts[0].n_tasks == 1 + SMALL["max_epochs"]
    assert counts[1].n_tasks == 0


def test_training_continues_distributed_and_alone(monkeypatch):
    task, options = TASKS["classifier"], {"device": "accelerate", "warm_start": True}
    alone = fitted(*task, warm_start=True).fit(X, LABELS)
    models = together(
        monkeypatch, 2, lambda rank: fitted(*task, **options).fit(X, LABELS)
    )
    np.testing.assert_allclose(curve(models[1]), curve(alone), atol=1e-4)
    copied = pickle.loads(pickle.dumps(models[1]))
    np.testing.assert_array_equal(copied.predict(X), models[0].predict(X))
    assert copied.set_params(device="cpu").partial_fit(X, LABELS).n_iter_ == 5


def test_a_weight_that_nothing_uses_rests(monkeypatch):
    # Weight decay would move it, were its gradient 0 and not missing.
    class Idle(Callback):
        def on_grad_computed(self, net, named_parameters=None, **kwargs):
            assert all(w.grad is not None for _, w in named_parameters)

    options = {"device": "accelerate", "callbacks": [Idle()], "max_epochs": 1}
    together(monkeypatch, 2, lambda rank: fitted(*TASKS["columns"], **options))


def test_user_early_stopping_works_too(monkeypatch):
    stop = EarlyStopping(monitor="train_loss", threshold=10.0, patience=2, sink=print)
    options = {"device": "accelerate", "callbacks": [stop], "max_epochs": 9}
    options |= {"early_stopping": False}
    alone = fitted(*TASKS["classifier"], **options | {"device": "cpu"})
    models = together(
        monkeypatch, 2, lambda rank: fitted(*TASKS["classifier"], **options)
    )
    assert [model.n_iter_ for model in models] == [alone.n_iter_] * 2
    assert alone.n_iter_ < 9


def test_killed_training_resumes_distributed(monkeypatch, tmp_path):
    class Ends(Callback):
        def on_batch_begin(self, net, **kwargs):
            if len(net.history) == 2 and net.processes_.rank == 1:
                raise OSError("power is gone")

    task = TASKS["tagger"]
    options = {"device": "accelerate"}

    def fit_in(folder, **more):
        saves = {"train_options": {"checkpoint": folder}}
        return lambda rank: fitted(*task, **saves, **options, **more)

    unbroken = together(monkeypatch, 2, fit_in(None))
    folder = tmp_path / "states"
    run_together(monkeypatch, 2, fit_in(folder, callbacks=[Ends()]))
    assert len(list(folder.iterdir())) == 1
    again = together(monkeypatch, 2, fit_in(folder))
    assert list(folder.iterdir()) == []
    assert curve(again[0]).tolist() == curve(unbroken[0]).tolist()
    for one, other in zip(weights_of(again[1]), weights_of(unbroken[1]), strict=True):
        np.testing.assert_array_equal(one, other)
