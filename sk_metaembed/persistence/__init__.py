"""Save estimators to files that contain no code, and load them: `save` and `load`.

Other rooms are used only through the methods that describe a handle or a net.
"""

from .._core._public_module import set_public_module
from ._errors import SavedFileError, UntrustedError
from ._load import load
from ._save import save

__all__ = ["SavedFileError", "UntrustedError", "load", "save"]

set_public_module(globals())
