"""What contextual sources share: distinct sentences, batches and their runner."""
