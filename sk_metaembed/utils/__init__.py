"""Checks of estimators of other authors."""
