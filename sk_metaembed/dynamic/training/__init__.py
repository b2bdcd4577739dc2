"""Training of the networks, and prediction."""
