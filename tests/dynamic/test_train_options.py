"""`train_options` and `network_options`: their keys, values and descriptions."""

from inspect import signature

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc
from skorch.callbacks import Callback

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
)

from .test_options import classifier


class Look(Callback):
    """Note the callbacks of a net while it is trained."""

    def on_train_begin(self, net, **kwargs):
        self.found = dict(net.callbacks_)


ALL = [
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr_facto": 0.5}, r"unknown key 'lr_facto'. Allowed keys are \['dtype'"),
        ({"lr_factor": 1.5}, r"'lr_factor' .* Got 1.5"),
        ({"lr_patience": True}, r"'lr_patience' .* Got 'True'"),
        ({"gradient_clip": 0}, r"'gradient_clip' .* Got 0"),
        ({"dtype": "float16"}, r"'dtype' .* Got 'float16'"),
        ([("lr_factor", 0.5)], r"'train_options' .* 'dict' or None. Got \["),
    ],
)
def test_wrong_options_are_refused(embedded, labels, options, message):
    with pytest.raises(ValueError, match=message) as error:
        classifier(train_options=options).fit(embedded, labels)
    assert "DynamicMetaClassifier" in str(error.value)


@pytest.mark.parametrize("estimator", ALL)
def test_the_docstring_has_each_option_with_its_default(estimator):
    documented = " ".join(estimator.__doc__.split())
    for name, default in (
        estimator._network_options | estimator._train_options
    ).items():
        described = documented.split(f"``{name}`` : ")[1][:99]
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        assert f"default={shown}." in described or name == "weight_decay"


def test_shared_parameters_are_described_with_own_defaults():
    classifier, tagger = (
        {p.name: p for p in ClassDoc(kind)["Parameters"]}
        for kind in (DynamicMetaClassifier, DynamicMetaTagger)
    )
    assert list(tagger) == list(signature(DynamicMetaTagger).parameters)
    assert tagger["lr"] == classifier["lr"]
    assert "sequence as one vector" in " ".join(classifier["encoder"].desc)
    assert "Reads the sentence" in " ".join(tagger["encoder"].desc)
    dropout = [kind["embedding_dropout"].type for kind in (classifier, tagger)]
    assert dropout == ["float, default=0.2", "float, default=0.5"]


def test_only_labels_are_smoothed(embedded, labels):
    net = classifier(train_options={"label_smoothing": 0.3}).fit(embedded, labels).net_
    assert net.criterion__label_smoothing == 0.3
    assert DynamicMetaClassifier().train_options is None
    published = DynamicMetaClassifier.published(train_options={"dtype": "bfloat16"})
    assert published.train_options["label_smoothing"] == 0
    assert published.train_options["dtype"] == "bfloat16"
    assert "label_smoothing" not in DynamicMetaRegressor.published().train_options
    model = DynamicMetaRegressor(train_options={"label_smoothing": 0.3})
    with pytest.raises(ValueError, match="unknown key 'label_smoothing'. Allowed"):
        model.fit(embedded, np.arange(len(labels)))


def test_options_train_the_net(embedded, labels):
    def decayed(**options):
        model = classifier(train_options=options, callbacks=[Look()])
        return model.set_params(early_stopping=True).fit(embedded, labels).net_

    def find(net):
        return dict(net.callbacks_)["Look"].found

    net = decayed(weight_decay=0.5, gradient_clip=0.25)
    assert net.optimizer__weight_decay == 0.5
    assert find(net)["clip"].gradient_clip_value == 0.25
    assert "clip" not in find(decayed(gradient_clip=None))
    plateau = find(decayed(lr_factor=0.4, lr_patience=5))["plateau"]
    assert (plateau.kwargs["factor"], plateau.kwargs["patience"]) == (0.4, 5)
