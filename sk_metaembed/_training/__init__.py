"""Devices, random generators, callbacks and checkpoints of trained networks."""
