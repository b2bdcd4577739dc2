"""Models of LightGBM, XGBoost and CatBoost, in the form in which they pickle them.

It contains no code, but the compiled code that reads it and predicts with it does not
validate all of it. A file with such a model is therefore loaded only if the library's
class is trusted.
"""

from sklearn.base import BaseEstimator

from ._codecs import MalformedEntryError, Placeholder, entry
from ._functions import function_name, imported

LIBRARIES = ("lightgbm", "xgboost", "catboost")


def encode_booster(value, where, copy):
    """Return a Placeholder for a model of a booster library, or NotImplemented."""
    kind = type(value)
    is_model = _is_of_library(kind) and hasattr(kind, "__setstate__")
    if not is_model or isinstance(value, BaseEstimator):
        return NotImplemented
    return Placeholder(
        "booster",
        module=kind.__module__,
        name=kind.__qualname__,
        state=copy(value.__getstate__(), where),
    )


def _is_of_library(kind):
    return kind.__module__.partition(".")[0] in LIBRARIES


def decode_booster(content):
    """Return a model of a trusted class."""
    cls = imported(content)
    if not (isinstance(cls, type) and _is_of_library(cls)):
        raise MalformedEntryError(
            f"{function_name(content)} is not a model of {', '.join(LIBRARIES)}"
        )
    new = cls.__new__(cls)
    new.__setstate__(entry(content, "state", dict))
    return new
