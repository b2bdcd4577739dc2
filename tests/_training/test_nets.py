"""Training of nets without denormals, and restoring nets from files."""

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences, TokenSequences

X = EmbeddedSequences(
    TokenSequences.from_lists([["a"], ["b"]] * 4), [Block("x", np.eye(2), "type")]
)
Y = [0, 1] * 4
PLAIN = {"weight_decay": 0.0, "linear_share": 0.0}


def test_a_net_unlike_its_tensors_is_not_built():
    model = DynamicMetaClassifier(max_epochs=1, train_options=PLAIN).fit(X, Y)
    expected = model.predict_proba(X)
    plain, tensors = model._net_parts()
    # More than memory holds.
    larger = {**plain, "network": plain["network"] | {"hidden_dims": (10**12,)}}
    weight = "module/head.0.weight"
    fewer = {name: each for name, each in tensors.items() if name != weight}
    others = {**tensors, weight: torch.ones(2, 1)}, fewer, {}
    more = {**tensors, "module/head.0.other": torch.ones(2)}
    for parts in ((larger, tensors), *((plain, each) for each in (*others, more))):
        with pytest.raises(ValueError, match="the network and its weights differ in"):
            model._set_net(*parts)
    model._set_net(plain, tensors)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


class DeadUnit(Callback):
    def on_train_begin(self, net, **kwargs):
        with torch.no_grad():
            net.module_.head[0].bias[0] = -1e9
            net.module_.head[0].weight[0] = 1e-35


def test_a_unit_without_gradients_does_not_keep_tiny_weights():
    callbacks = [DeadUnit()]
    model = DynamicMetaClassifier(
        max_epochs=100, callbacks=callbacks, train_options=PLAIN
    )
    head = model.fit(X, Y).net_.module_.head[0]
    assert (head.weight[0] == 0).all()
    assert (head.weight[1:] != 0).any()
