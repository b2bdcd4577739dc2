"""SequencesOutputMixin in steps of third parties."""

import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from sk_metaembed.sequences import SequencesOutputMixin


def test_wrong_order_of_bases_is_refused():
    with pytest.raises(TypeError, match="Wrong: SequencesOutputMixin must be to"):

        class Wrong(TransformerMixin, SequencesOutputMixin, BaseEstimator):
            pass
