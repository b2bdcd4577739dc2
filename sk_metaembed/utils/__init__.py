"""Checks of estimators that other authors wrote."""
