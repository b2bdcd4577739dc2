"""The parameter `train_options`: its keys, its values, and how searches reach them."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sk_metaembed as sk
from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
)
from sk_metaembed.dynamic.training import _skorch_net
from sk_metaembed.dynamic.training._skorch_net import SequenceNet

from .conftest import make_embedded
from .test_estimators import SMALL

ALL = [
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
]


def classifier(**options):
    return DynamicMetaClassifier(**SMALL | {"encoder": "mean"} | options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"lr_facto": 0.5},
            r"unknown key 'lr_facto'. Allowed keys are \['dtype'",
        ),
        ({"lr_factor": 1.5}, r"'train_options__lr_factor' .* Got 1.5"),
        ({"lr_patience": -1}, r"'train_options__lr_patience' .* Got -1"),
        ({"lr_patience": True}, r"'train_options__lr_patience' .* Got True"),
        ({"gradient_clip": True}, r"'train_options__gradient_clip' .* Got True"),
        ({"gradient_clip": 0}, r"'train_options__gradient_clip' .* Got 0"),
        ({"weight_decay": "a"}, r"'train_options__weight_decay' .* Got 'a'"),
        ({"dtype": "float16"}, r"'train_options__dtype' .* Got 'float16'"),
        ([("lr_factor", 0.5)], r"'train_options' .* 'dict' or None. Got \["),
    ],
)
def test_wrong_options_are_refused(embedded, labels, options, message):
    with pytest.raises(ValueError, match=message) as error:
        classifier(train_options=options).fit(embedded, labels)
    assert "DynamicMetaClassifier" in str(error.value)


@pytest.mark.parametrize("estimator", ALL)
def test_the_docstring_has_each_option_with_its_default(estimator):
    params = estimator().get_params()
    prefix = "train_options__"
    options = {n.removeprefix(prefix): v for n, v in params.items() if prefix in n}
    assert len(options) == 5
    documented = " ".join(estimator.__doc__.split())
    for name, default in options.items():
        assert f"``{name}`` : " in documented
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        assert f"default={shown}." in documented.split(f"``{name}`` : ")[1][:99]


def test_defaults_differ_where_the_docstring_says_so():
    assert DynamicMetaTagger().get_params()["train_options__lr_factor"] == 0.5
    assert DynamicMetaClassifier().get_params()["train_options__lr_factor"] == 0.2


def test_options_that_are_the_defaults_change_nothing(embedded, labels):
    model = classifier()
    options = {
        name.removeprefix("train_options__"): value
        for name, value in model.get_params().items()
        if name.startswith("train_options__")
    }
    same = clone(model).set_params(train_options=options).fit(embedded, labels)
    model.fit(embedded, labels)
    np.testing.assert_array_equal(
        same.predict_proba(embedded), model.predict_proba(embedded)
    )


def test_an_option_is_set_without_changing_the_given_dict():
    given = {"lr_factor": 0.5}
    model = classifier(train_options=given)
    model.set_params(train_options__gradient_clip=None, encoder="max")
    assert given == {"lr_factor": 0.5}
    assert model.train_options == {"lr_factor": 0.5, "gradient_clip": None}
    assert model.get_params()["train_options__gradient_clip"] is None
    assert model.get_params(deep=False)["train_options"] is model.train_options
    model.set_params(train_options={}, train_options__lr_patience=2)
    assert model.train_options == {"lr_patience": 2}
    with pytest.raises(ValueError, match="unknown key 'clip'. Allowed keys"):
        model.set_params(train_options__clip=1, encoder="gru")
    assert model.encoder == "max"  # nothing was set


def test_a_search_reaches_options_one_by_one_and_together(embedded, labels):
    pipe = make_pipeline(classifier(max_epochs=1))
    name = "dynamicmetaclassifier__train_options"
    grid = [
        {name: [{"weight_decay": 0.5}, {"gradient_clip": 0.1, "lr_factor": 0.4}]},
        {f"{name}__gradient_clip": [0.1, None]},
    ]
    search = GridSearchCV(pipe, grid, cv=2).fit(embedded, labels)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_options_train_the_net(embedded, labels):
    def decayed(**options):
        return classifier(train_options=options).fit(embedded, labels).net_

    net = decayed(weight_decay=0.5, gradient_clip=0.25)
    assert net.optimizer_.param_groups[0]["weight_decay"] == 0.5
    assert dict(net.callbacks_)["clip"].gradient_clip_value == 0.25
    assert "clip" not in dict(decayed(gradient_clip=None).callbacks_)
    plateau = dict(decayed(lr_factor=0.4, lr_patience=5).callbacks_)["plateau"]
    assert (plateau.kwargs["factor"], plateau.kwargs["patience"]) == (0.4, 5)


def test_options_are_cloned_pickled_and_saved(embedded, labels, tmp_path):
    options = {"weight_decay": 0.1}
    model = clone(classifier(train_options=options)).fit(embedded, labels)
    assert model.train_options == options
    copied = pickle.loads(pickle.dumps(model))
    loaded = sk.load(sk.save(model, tmp_path / "net.skm"))
    for other in (copied, loaded, clone(loaded)):
        assert other.train_options["weight_decay"] == 0.1


def test_losses_that_are_read_at_the_end_of_an_epoch_are_the_same(monkeypatch):
    X, y = make_embedded(), np.arange(60) % 2
    model = DynamicMetaClassifier(**SMALL)
    expected = model.fit(X, y).history_
    monkeypatch.setattr(_skorch_net, "_is_asynchronous", lambda device: True)
    for history in (
        model.fit(X, y).history_,
        pickle.loads(pickle.dumps(model)).history_,
    ):
        for epoch, same in zip(history, expected, strict=True):
            names = {*epoch} - {"dur", "event_lr"}
            assert {n: epoch[n] for n in names} == {n: same[n] for n in names}

    def stops(self, *args, **kwargs):
        if len(self.history) == 2 and len(self.history[-1]["batches"]) == 2:
            raise KeyboardInterrupt
        return step(self, *args, **kwargs)

    step = SequenceNet.train_step
    monkeypatch.setattr(SequenceNet, "train_step", stops)
    batches = model.fit(X, y).history_[-1]["batches"]
    assert [type(batch.get("train_loss")) for batch in batches] == [float, type(None)]
