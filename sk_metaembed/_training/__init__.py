"""What the trained networks of all rooms share: device, generators, checkpoints."""
