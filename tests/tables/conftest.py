"""Models of tables of the usual size."""

import pytest


@pytest.fixture
def usual_trees(few_trees, monkeypatch):
    """Undo `few_trees`."""
    monkeypatch.setattr("sk_metaembed.tables._learners._ROUNDS", 100)
    monkeypatch.setattr("sk_metaembed.tables._learners._TREES", 100)
