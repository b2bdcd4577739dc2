"""SequencesOutputMixin in steps of third parties."""

import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from sk_metaembed.sequences import SequencesOutputMixin, check_tokens


class Reading(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return check_tokens(X)

    def get_feature_names_out(self, input_features=None):
        return ["tokens"]


def test_containers_are_not_wrapped():
    step = Reading().set_output(transform="pandas")
    assert step.fit_transform(["a b"]).to_list() == [["a", "b"]]


def test_wrong_order_of_bases_is_refused():
    with pytest.raises(TypeError, match="Wrong: SequencesOutputMixin must be to"):

        class Wrong(TransformerMixin, SequencesOutputMixin, BaseEstimator):
            pass
