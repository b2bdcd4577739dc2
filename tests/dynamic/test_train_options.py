"""The parameter `train_options`: its keys, values and descriptions."""

import pytest

from sk_metaembed import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
)

from .test_options import classifier

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
    assert len(estimator._train_options) == 5
    for name, default in estimator._train_options.items():
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        assert f"default={shown}." in documented.split(f"``{name}`` : ")[1][:99]


def test_options_train_the_net(embedded, labels):
    def decayed(**options):
        return classifier(train_options=options).fit(embedded, labels).net_

    net = decayed(weight_decay=0.5, gradient_clip=0.25)
    assert net.optimizer__weight_decay == 0.5
    assert dict(net.callbacks_)["clip"].gradient_clip_value == 0.25
    assert "clip" not in dict(decayed(gradient_clip=None).callbacks_)
    plateau = dict(decayed(lr_factor=0.4, lr_patience=5).callbacks_)["plateau"]
    assert (plateau.kwargs["factor"], plateau.kwargs["patience"]) == (0.4, 5)
