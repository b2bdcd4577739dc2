"""Training of the Dynamic* estimators: plan, batches, fit, prediction."""
