"""ElmoLanguageModel: training, saving, and resuming."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from skorch.callbacks import Callback

from sk_metaembed import ElmoEmbedding, ElmoLanguageModel

from .grammar import SMALL, sentences
from .test_corpus import Stream


def weights_of(model):
    return {k: v.clone() for k, v in model.net_.module_.state_dict().items()}


def assert_same_weights(one, other):
    one, other = weights_of(one), weights_of(other)
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


@pytest.fixture(scope="module")
def trained():
    model = ElmoLanguageModel(**{**SMALL, "max_epochs": 6})
    return model.fit(sentences(80), X_val=sentences(20, seed=1))


@pytest.fixture(scope="module")
def saved(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    trained.save(folder)
    return folder


def test_it_learns_the_grammar(trained):
    # Of seven predictions two have choices, three and four: 12 ** (1 / 7) is 1.43.
    held_out = sentences(50, seed=2)
    assert trained.perplexity(held_out) < 2.0 < trained.perplexity([["on", "on"]])
    recorded = [epoch["valid_perplexity"] for epoch in trained.history_]
    assert min(recorded) < recorded[0] / 2
    assert trained.n_iter_ == len(recorded) == 6
    assert trained.vocabulary_[:4] == ["<S>", "</S>", "<UNK>", "the"]
    assert trained.coverage_ == 1.0
    assert trained.n_words_ == 480


def test_perplexity_of_rows_and_directions(trained):
    rows = [*sentences(7, seed=3), ["the"], [], ["unheard", "of", "cat"]]
    forward, backward, both = (
        np.log(trained.perplexity(rows, d)) for d in ("forward", "backward", "both")
    )
    assert both == pytest.approx((forward + backward) / 2)
    assert trained.score(rows) == -trained.perplexity(rows)
    likelihoods = trained.score_samples(rows)
    n_words = sum(map(len, rows)) + len(rows)
    assert -likelihoods.sum() / n_words == pytest.approx(both)
    alone = [trained.score_samples([row])[0] for row in rows]
    np.testing.assert_allclose(likelihoods, alone, rtol=1e-5)
    texts = [" ".join(row) for row in rows]
    np.testing.assert_allclose(trained.score_samples(texts), likelihoods, rtol=1e-5)


def test_an_adaptive_softmax_learns_in_bfloat16():
    model = ElmoLanguageModel(**SMALL, softmax="adaptive", dtype="bfloat16")
    model.fit(sentences(50))
    assert model.perplexity(sentences(20, seed=1)) < 6
    same = clone(model).fit(sentences(50))
    assert_same_weights(model, same)
    # Probabilities sum to one.
    n_words = len(model.vocabulary_)
    vector = torch.randn(1, 6, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        module = model.net_.module_.softmax
        losses = module(vector.expand(n_words, 6), torch.arange(n_words))
    assert torch.exp(-losses).sum().item() == pytest.approx(1, rel=1e-5)


def test_saved_model_embeds_and_loads(trained, saved):
    rows = sentences(5, seed=4)
    files = saved / "options.json", saved / "weights.hdf5"
    block = ElmoEmbedding(*files).fit_transform(rows).blocks[-1]
    assert block.values.shape == (30, 12)
    again = ElmoLanguageModel.load(saved)
    assert again.options_ == trained.options_
    assert again.perplexity(rows) == pytest.approx(trained.perplexity(rows))
    copied = pickle.loads(pickle.dumps(trained))
    assert copied.perplexity(rows) == trained.perplexity(rows)


def test_fine_tuning_lowers_perplexity_on_the_domain(tmp_path):
    trained = ElmoLanguageModel(**SMALL, softmax="adaptive").fit(sentences(40))
    trained.save(tmp_path)
    # The sentences of the domain have other words in the places of those known.
    domain, held_out = (sentences(40, "on", seed) for seed in (5, 6))
    before = ElmoLanguageModel.load(tmp_path)
    tuned = ElmoLanguageModel(tmp_path, **{**SMALL, "max_epochs": 3}).fit(domain)
    assert tuned.vocabulary_ == before.vocabulary_
    assert tuned.perplexity(held_out) < 0.7 * before.perplexity(held_out)


def test_weights_without_vocabulary_get_one(saved):
    files = saved / "options.json", saved / "weights.hdf5"
    with pytest.raises(ValueError, match="no vocabulary"):
        ElmoLanguageModel.load(files)
    model = ElmoLanguageModel(files, **SMALL).fit(sentences(20, "lay"))
    assert "lay" in model.vocabulary_
    assert model.options_.projection_dim == 6


@pytest.mark.parametrize(
    ("X", "params", "message"),
    [
        ([], {}, "the corpus is empty: it has 0 rows"),
        ([["a", "a"]], {}, "only one distinct word, 'a', in 1 rows"),
        ([["a", "b"]], {"min_count": 2}, "The most frequent word occurs 1 times"),
        (
            [["a", "b"]],
            {"architecture": {"filters": ((60, 2),)}},
            "'filters' parameter of the architecture of ElmoL.* must be pairs",
        ),
        ([["a", "b"]], {"architecture": {"cells": 2}}, "no key 'cells'; its keys are"),
        (
            [["a", "b"]],
            {"architecture": {"cell_dim": 0}},
            "'cell_dim' parameter of the",
        ),
    ],
)
def test_invalid_input_is_refused(X, params, message):
    with pytest.raises(ValueError, match=message):
        ElmoLanguageModel(**{**SMALL, **params}).fit(X)


def test_perplexity_of_no_rows_is_refused(trained):
    with pytest.raises(ValueError, match="X has 0 rows; perplexity needs"):
        trained.perplexity([])
    with pytest.raises(ValueError, match="direction must be one of"):
        trained.perplexity([["the"]], "sideways")
    assert len(trained.score_samples([])) == 0
    with pytest.raises(ValueError, match="X_val has 0 rows"):
        ElmoLanguageModel(**SMALL).fit(sentences(3), X_val=[])


def test_diverged_training_raises():
    model = ElmoLanguageModel(**{**SMALL, "lr": 1e30})
    with pytest.raises(FloatingPointError, match="training diverged in epoch"):
        model.fit(sentences(20))
    assert not hasattr(model, "net_")


class FailInTraining(Callback):
    def on_batch_end(self, net, training=False, **kwargs):
        if len(net.history[-1]["batches"]) > 1:
            raise RuntimeError


def test_failed_training_leaves_the_model_as_it_was():
    rows = sentences(20)
    model, twin = (ElmoLanguageModel(**SMALL).fit(rows) for _ in range(2))
    model.set_params(callbacks=[FailInTraining()], min_count=2)
    with pytest.raises(RuntimeError):
        model.fit(rows)
    model.set_params(callbacks=None)
    assert_same_weights(model, twin)
    assert model.vocabulary_ == twin.vocabulary_
    assert len(model.history_) == model.n_iter_ == twin.n_iter_


def test_a_vocabulary_of_other_size_is_refused(saved, tmp_path):
    for file in saved.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with open(tmp_path / "vocab.txt", "a", encoding="utf-8") as held:
        held.write("more\n")
    with pytest.raises(ValueError, match=r"the softmax in .* 14 words require"):
        ElmoLanguageModel.load(tmp_path)
    (tmp_path / "vocab.txt").write_text("a\nb\n", "utf-8")
    with pytest.raises(ValueError, match="is not a vocabulary"):
        ElmoLanguageModel.load(tmp_path)


def test_scoring_monitor_scores_each_epoch():
    callback = pytest.importorskip("sklearn.callback", reason="of scikit-learn 1.9")
    rows = sentences(20)
    given = Stream(rows, 99)
    monitor = callback.ScoringMonitor(
        scoring={"own": lambda model, X, y: model.score(X)}
    )
    model = ElmoLanguageModel(**SMALL).set_callbacks(monitor).fit(given)
    recorded = monitor.get_logs().data
    epochs = [row["own"] for row in recorded if row["task_name"] == "epoch"]
    assert len(epochs) == 2
    assert epochs[-1] == model.score(rows)
    # To look on changes nothing.
    assert ElmoLanguageModel(**SMALL).fit(rows).score(rows) == model.score(rows)


class Record(Callback):
    def __init__(self, name):
        self.name = name

    def on_epoch_end(self, net, **kwargs):
        net.history.record(self.name, 0.5)


def test_skorch_callbacks_may_have_names():
    given = [Record("one"), ("own", Record("other"))]
    model = ElmoLanguageModel(**SMALL, callbacks=given).fit(sentences(9))
    assert model.history_[:, ("one", "other")] == [(0.5, 0.5)] * 2
    for wrong in (3, ("name", 3)):
        with pytest.raises(TypeError, match="callbacks must hold skorch callbacks"):
            clone(model).set_params(callbacks=[wrong]).fit(sentences(9))
