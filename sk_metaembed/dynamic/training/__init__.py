"""Training of the Dynamic* estimators: batches, fit, predict, several processes."""
