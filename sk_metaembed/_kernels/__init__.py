"""Compiled loops, and whether they are worth loading."""
