"""Sources that are trained with the network of a Dynamic* estimator."""
