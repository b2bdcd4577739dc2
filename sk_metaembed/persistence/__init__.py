"""Estimators in files that hold no code: `save` and `load`.

Sits on all other rooms, and asks of them only how their handles and nets are told of.
"""

from .._core._public_module import set_public_module
from ._codecs import StandIn
from ._errors import SavedFileError, UntrustedError
from ._load import load
from ._save import save

__all__ = ["SavedFileError", "UntrustedError", "load", "save"]

set_public_module(globals(), StandIn)
