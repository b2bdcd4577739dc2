"""Parameters of the Dynamic* estimators that are a dict of options."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

from .._core._sklearn import Interval, StrOptions, validate_parameter_constraints


class TrainOptions(NamedTuple):
    """The parameter `train_options`, with its defaults filled in."""

    lr_factor: float = 0.2
    lr_patience: int = 0
    weight_decay: float = 0.0
    gradient_clip: float | None = 5.0
    dtype: str = "float32"


class _Number(Interval):
    """An interval without True and False, which are integers to Python."""

    def is_satisfied_by(self, value):
        return not isinstance(value, bool) and super().is_satisfied_by(value)


_TRAIN_CONSTRAINTS = {
    "lr_factor": [_Number(Real, 0, 1, closed="neither")],
    "lr_patience": [_Number(Integral, 0, None, closed="left")],
    "weight_decay": [_Number(Real, 0, None, closed="left")],
    "gradient_clip": [_Number(Real, 0, None, closed="neither"), None],
    "dtype": [StrOptions({"float32", "bfloat16"})],
}


class OptionGroup:
    """A parameter whose value is a dict with some of the fields of a NamedTuple.

    Parameters
    ----------
    name : str
        Name of the parameter.
    kind : type
        The NamedTuple.
    constraints : dict
        Constraints of scikit-learn by key.
    defaults : dict
        The keys that the parameter may have, with their defaults.
    """

    def __init__(self, name, kind, constraints, defaults):
        self.name, self.defaults = name, defaults
        self._kind, self._constraints = kind, constraints
        self._prefix = f"{name}__"

    def replace(self, **defaults):
        """Return the group with other defaults."""
        changed = self.defaults | defaults
        return OptionGroup(self.name, self._kind, self._constraints, changed)

    def _given(self, value):
        """Return a valid or an invalid value of the parameter as a dict."""
        return value if isinstance(value, dict) else {}

    def params(self, value):
        """Return each option as ``parameter__option``, for `get_params`."""
        given = self._given(value)
        return {self._prefix + k: given.get(k, v) for k, v in self.defaults.items()}

    def pop(self, params, value, *, caller):
        """Remove ``parameter__option`` from `params`; return the parameter with them.

        `value` itself, which belongs to the caller, does not change.
        """
        names = [name for name in params if name.startswith(self._prefix)]
        options = {name.removeprefix(self._prefix): params.pop(name) for name in names}
        self._check_keys(options, caller)
        return {**self._given(value), **options} if options else value

    def _check_keys(self, options, caller):
        unknown = [key for key in options if key not in self.defaults]
        if unknown:
            raise ValueError(
                f"{caller}: {self.name} has the unknown key {unknown[0]!r}. Allowed "
                f"keys are {sorted(self.defaults)}."
            )

    def read(self, value, *, caller):
        """Return the valid NamedTuple of a parameter."""
        given = self._given(value)
        self._check_keys(given, caller)
        constraints = {self._prefix + k: c for k, c in self._constraints.items()}
        validate_parameter_constraints(constraints, self.params(value), caller)
        return self._kind(**self.defaults | given)


TRAIN_OPTIONS = OptionGroup(
    "train_options", TrainOptions, _TRAIN_CONSTRAINTS, TrainOptions()._asdict()
)
