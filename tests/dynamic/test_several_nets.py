"""Several networks as one predictor, by scikit-learn's voting estimators."""

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier, VotingRegressor

from sk_metaembed import DynamicMetaClassifier, DynamicMetaRegressor, load, save

SMALL = {"projection_dim": 4, "hidden_dims": (), "max_epochs": 2}


def nets(kind, n_nets=3):
    """Return named networks that differ by their seeds."""
    return [(f"net{i}", kind(random_state=i, **SMALL)) for i in range(n_nets)]


# Each of two processes imports torch.
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_probabilities_are_averaged_and_saved(n_jobs, embedded, labels, tmp_path):
    vote = VotingClassifier(nets(DynamicMetaClassifier), voting="soft", n_jobs=n_jobs)
    found = vote.fit(embedded, labels).predict_proba(embedded)
    parts = [net.predict_proba(embedded) for net in vote.estimators_]
    assert np.ptp(parts, axis=0).max() > 0.01
    np.testing.assert_allclose(found, np.mean(parts, axis=0), rtol=1e-5)
    save(vote, tmp_path / "vote.skm")
    again = load(tmp_path / "vote.skm").predict_proba(embedded)
    np.testing.assert_allclose(again, found, rtol=1e-5)


def test_numbers_are_averaged(embedded):
    y = np.asarray(embedded.tokens.lengths, dtype=float)
    vote = VotingRegressor(nets(DynamicMetaRegressor)).fit(embedded, y)
    parts = [net.predict(embedded) for net in vote.estimators_]
    np.testing.assert_allclose(vote.predict(embedded), np.mean(parts, axis=0))
