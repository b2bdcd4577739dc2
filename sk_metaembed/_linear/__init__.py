"""Fit linear models with matrix products."""
