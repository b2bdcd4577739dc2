"""Training of the Dynamic* estimators: batches, fit, prediction."""
