"""Torch modules of the Dynamic* estimators: mixing, encoders, CRF."""
