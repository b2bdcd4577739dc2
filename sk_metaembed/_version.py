"""The version, alone in a file so that the build reads it without importing."""

__version__ = "1.0.0"
