"""The command line: fit a pipeline for a table, predict, describe."""

from ._main import main

__all__ = ["main"]
