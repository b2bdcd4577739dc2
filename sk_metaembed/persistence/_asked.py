"""What a file needs that only its user can allow, and how that is said."""

from contextlib import suppress

from ._boosters import KINDS
from ._errors import UntrustedError

_OF_BOOSTERS = (
    " LightGBM, XGBoost and CatBoost do not validate all of a model's numbers, so a "
    "forged model could crash the process or read memory outside the model."
)

_TODO = (
    "If you know where the file comes from and what this does, pass trusted={names!r}."
)


def untrusted_types(names):
    """Return the error for types that are on no list."""
    reasons = {}
    with suppress(ImportError):  # loading does not require skops
        from skops.io.exceptions import UNTRUSTED_TYPE_REASONS as reasons

    names = sorted(names)
    why = "".join(f" {reasons[name]}" for name in names if name in reasons)
    if {name.partition(".")[0] for name in names} & {*KINDS}:
        why += _OF_BOOSTERS
    return UntrustedError(
        f"The file holds objects of types that are not trusted: {', '.join(names)}. "
        "Making and using them can run code that is not this library's." + why + " "
        f"{_TODO.format(names=names)}",
        names,
    )


def untrusted_functions(names):
    """Return the error for functions that are on no list."""
    names = sorted(names)
    return UntrustedError(
        f"The file names functions to be imported and called: {', '.join(names)}. "
        f"{_TODO.format(names=names)}",
        names,
    )


def untrusted_options(names):
    """Return the error for parameters that let an estimator run code."""
    names = sorted(names)
    return UntrustedError(
        f"The file holds estimators with {', '.join(names)}, which lets them run code "
        f"that comes with a model or a pickle. {_TODO.format(names=names)}",
        names,
    )
