"""Sources with one vector per word, from a file or learned from the training fold."""
