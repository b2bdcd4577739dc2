"""Estimators in files that hold no code: `save` and `load`.

Sits on all other rooms, and asks of them only how their handles and nets are told of.
"""

from ._errors import SavedFileError, UntrustedError
from ._load import load
from ._save import save

__all__ = ["SavedFileError", "UntrustedError", "load", "save"]
