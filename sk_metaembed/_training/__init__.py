"""Devices, random generators, callbacks and saved states of trained networks."""
