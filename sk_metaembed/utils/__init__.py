"""Estimator checks for third-party steps."""
