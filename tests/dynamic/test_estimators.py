"""The Dynamic* estimators: training, outputs, options and bad input."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    EmbeddedSequences,
    TrainableTokens,
    load,
    save,
)

SMALL = {
    "projection_dim": 8,
    "encoder_dim": 6,
    "hidden_dims": (),
    "lr": 0.02,
    "batch_size": 16,
    "max_epochs": 8,
    "early_stopping": True,
    "random_state": 0,
}


@pytest.mark.parametrize(
    ("attention", "encoder"),
    [
        ("task", "mean"),
        ("word", "bilstm-max"),
        ("context", "gru"),
        ("uniform", "max"),
    ],
)
def test_every_combination_learns(embedded, labels, attention, encoder):
    options = SMALL | {"encoder": encoder, "early_stopping": False, "lr": 0.05}
    options["max_epochs"] = 10
    model = DynamicMetaClassifier(attention, **options).fit(embedded, labels)
    assert model.score(embedded, labels) > 0.75
    proba = model.predict_proba(embedded)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-5)
    assert list(model.classes_) == ["high", "low"]
    assert model.n_iter_ == len(model.history_) == 10


def test_word_weights_give_a_type_level_block_and_context_a_token_level_one(
    embedded, labels
):
    levels = {}
    for attention in ("task", "word", "uniform", "context"):
        out = DynamicMetaEmbedding(attention, **SMALL).fit_transform(embedded, labels)
        assert isinstance(out, EmbeddedSequences)
        (block,) = out.blocks
        levels[attention] = block.level
        assert block.dim == 8
        assert np.isfinite(block.values).all()
        anywhere = np.logical_or(embedded.blocks[0].known, embedded.blocks[1].known)
        if block.level == "type":
            np.testing.assert_array_equal(block.known, anywhere)
            assert not block.values[~block.known].any()
    assert levels == dict.fromkeys(["task", "word", "uniform"], "type") | {
        "context": "token"
    }


@pytest.mark.parametrize("attention", ["word", "context"])
def test_attention_weights_are_a_row_a_token_and_sum_to_one(
    embedded, labels, attention
):
    model = DynamicMetaClassifier(attention, encoder="mean", **SMALL)
    frame = model.fit(embedded, labels).attention_weights(embedded)
    tokens = embedded.tokens
    assert frame["token"].tolist() == [t for row in tokens for t in row]
    assert frame["sequence"].tolist() == tokens.segment_ids().tolist()
    total = frame[["s0", "s1"]].sum(axis=1)
    known = np.logical_or(*(b.known for b in embedded.blocks))[tokens.codes]
    np.testing.assert_allclose(total, known, atol=1e-5)


def test_label_sets_and_numbers(embedded):
    means = np.array([row.sum(axis=0)[:2] for row in embedded.to_list()])
    indicators = (means > 0).astype(int)
    options = SMALL | {"encoder": "mean", "lr": 0.05, "early_stopping": False}
    options["max_epochs"] = 12
    sets = DynamicMetaClassifier(**options).fit(embedded, indicators)
    assert sets.predict(embedded).shape == (60, 2)
    assert (sets.predict(embedded) == indicators).mean() > 0.75
    assert sets.predict_proba(embedded).shape == (60, 2)
    numbers = DynamicMetaRegressor(**options).fit(embedded, 100 + 50 * means[:, 0])
    assert numbers.predict(embedded).shape == (60,)
    assert numbers.score(embedded, 100 + 50 * means[:, 0]) > 0.3
    both = DynamicMetaRegressor(**options).fit(embedded, means)
    assert both.predict(embedded).shape == (60, 2)


def test_best_weights_are_kept(embedded, labels):
    options = SMALL | {"max_epochs": 40, "lr": 0.3}
    options["train_options"] = {"linear_share": 0, "n_iter_no_change": 5}
    model = DynamicMetaClassifier(class_weight={"high": 3.0}, **options)
    X, y = embedded[40:], labels[40:]
    model.fit(embedded[:40], labels[:40], X_val=X, y_val=y)
    weights = np.where(y == "high", 3.0, 1.0)
    chances = model.predict_proba(X)
    loss = log_loss(y, chances, sample_weight=weights)
    assert loss == pytest.approx(min(model.history_[:, "valid_loss"]), rel=1e-4)
    options["train_options"]["monitor"] = "score"
    model.set_params(**options).fit(embedded[:40], labels[:40], X_val=X, y_val=y)
    best = max(model.history_[:, "valid_acc"])
    assert model.score(X, y, weights) == pytest.approx(best)


def test_pickle_is_small_and_predicts_the_same(embedded, labels):
    model = DynamicMetaClassifier(encoder="mean", **SMALL).fit(embedded, labels)
    data = pickle.dumps(model)
    np.testing.assert_array_equal(
        pickle.loads(data).predict_proba(embedded), model.predict_proba(embedded)
    )
    assert len(data) < 60_000


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")


def test_scikit_learn_callbacks_follow_the_epochs(embedded, labels, callback):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = DynamicMetaClassifier(encoder="mean", **SMALL).set_callbacks(monitor)
    model.fit(embedded, labels)
    log = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(log) == model.n_iter_
    assert all(0 <= row["accuracy"] <= 1 for row in log)


def test_bfloat16_computes_nearly_the_same(embedded, labels):
    options = SMALL | {"encoder": "bilstm-max", "early_stopping": False}
    options |= {"train_options": {"dtype": "bfloat16"}}
    model = DynamicMetaClassifier(**options).fit(embedded, labels)
    assert model.net_.module_.head[0].weight.dtype == torch.float32
    half = model.predict_proba(embedded)
    model.net_.autocast = False
    full = model.predict_proba(embedded)
    assert not np.array_equal(half, full)
    np.testing.assert_allclose(half, full, atol=0.02)


class Failing:
    """A callback of scikit-learn that raises an error after an epoch."""

    def setup(self, estimator, context):
        self.is_open = True

    def teardown(self, estimator, context):
        self.is_open = False

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch":
            raise ZeroDivisionError


@pytest.mark.usefixtures("callback")
def test_callbacks_are_closed_after_an_error(embedded, labels):
    callback = Failing()
    model = DynamicMetaClassifier(encoder="mean", **SMALL).set_callbacks(callback)
    with pytest.raises(ZeroDivisionError):
        model.fit(embedded, labels)
    assert not callback.is_open and not hasattr(model, "net_")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, y: (np.ones((60, 2)), y), ValueError, "got 2 columns of numbers"),
        (lambda X, y: (X, y[:-1]), ValueError, "60 rows and y 59 labels"),
        (lambda X, y: (X[:0], y[:0]), ValueError, "at least one sequence"),
    ],
)
def test_bad_input_raises(embedded, labels, change, error, message):
    model = DynamicMetaClassifier(encoder="mean", **SMALL)
    with pytest.raises(error, match=message):
        model.fit(*change(embedded, labels))
    with pytest.raises(NotFittedError):
        model.predict(embedded)


def test_other_blocks_than_in_fit_are_refused(embedded, labels):
    model = DynamicMetaClassifier(encoder="mean", **SMALL).fit(embedded, labels)
    with pytest.raises(ValueError, match="was fitted on blocks"):
        model.predict(embedded.select(["s1", "s0"]))
    with pytest.raises(ValueError, match="Set projection_dim, for example to 4"):
        model.set_params(projection_dim=None).fit(embedded, labels)


def test_a_diverged_fit_leaves_the_estimator_unfitted(embedded, labels):
    model = DynamicMetaClassifier(network_options={"mixer": "published"}, **SMALL)
    huge = [
        type(b)(b.name, b.values * (3e38 / np.abs(b.values).max()), b.level)
        for b in embedded.blocks
    ]
    with pytest.raises(FloatingPointError, match="Use a smaller lr"):
        model.fit(embedded.with_blocks(huge), labels)
    with pytest.raises(NotFittedError):
        model.predict(embedded)


def test_a_missing_gpu_raises(embedded, labels):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    model = DynamicMetaClassifier(device="cuda", encoder="mean", **SMALL)
    with pytest.raises(ValueError, match="torch finds no GPU"):
        model.fit(embedded, labels)


# Each of two processes imports torch.
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_votes_of_nets_are_means_and_saved(n_jobs, embedded, labels, tmp_path):
    options = {"projection_dim": 4, "hidden_dims": (), "max_epochs": 2}
    nets = [
        (f"net{i}", DynamicMetaClassifier(random_state=i, **options)) for i in range(3)
    ]
    vote = VotingClassifier(nets, voting="soft", n_jobs=n_jobs)
    found = vote.fit(embedded, labels).predict_proba(embedded)
    parts = [net.predict_proba(embedded) for net in vote.estimators_]
    assert np.ptp(parts, axis=0).max() > 0.01
    np.testing.assert_allclose(found, np.mean(parts, axis=0), rtol=1e-5)
    save(vote, tmp_path / "vote.skm")
    again = load(tmp_path / "vote.skm").predict_proba(embedded)
    np.testing.assert_allclose(again, found, rtol=1e-5)


def test_rows_that_can_be_read_once_are_read_once():
    rows, y = [["a", "b"], ["c"], ["a"], ["d", "c"]] * 6, np.arange(24) % 2
    model = DynamicMetaClassifier(**SMALL, trainable=TrainableTokens(2)).fit(rows, y)
    assert model.linear_share_ > 0
    expected = model.predict_proba(rows)
    np.testing.assert_array_equal(model.predict_proba(row for row in rows), expected)
