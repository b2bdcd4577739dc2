"""Checks of estimators' parameters."""

from numbers import Integral, Real

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    make_constraint,
    validate_parameter_constraints,
)

_LONGEST = 200  # characters


class CheckedParametersMixin:
    """Refuse True and False for numbers, and keep long values out of messages.

    To Python a bool is an int, so that ``max_iter=True``, often a parameter that was
    mistaken for another, would train for one iteration.
    """

    def _validate_params(self):
        params = self.get_params(deep=False)
        for name, value in params.items():
            if isinstance(value, bool) and self._wants_number(name, value):
                self._refuse(name, value)
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            name = str(error).split("'")[1]
            if len(repr(params[name])) <= _LONGEST:
                raise
            self._refuse(name, params[name])

    def _wants_number(self, name, value):
        """Return whether a bool satisfies nothing but constraints on numbers."""
        given = self._parameter_constraints.get(name, "no_validation")
        if isinstance(given, str):
            return False
        satisfied = [c for c in _flat(given) if c.is_satisfied_by(value)]
        return bool(satisfied) and all(map(_is_number, satisfied))

    def _refuse(self, name, value):
        constraints = {name: self._parameter_constraints[name]}
        caller = type(self).__name__
        validate_parameter_constraints(constraints, {name: _Refused(value)}, caller)


class _Refused:
    """Satisfies no constraint, and is shown as the value that it stands for."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        shown = repr(self.value)
        if len(shown) <= _LONGEST:
            return shown
        shown = " ".join(shown.split())[: _LONGEST // 2]
        return f"{shown}... (an instance of {type(self.value).__name__!r})"


def is_integer(value):
    """Return whether value is an integer, and not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value):
    """Return whether value is a real number, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _flat(constraints):
    """Return constraints, and in place of a helper such as "verbose" its parts."""
    made = [make_constraint(constraint) for constraint in constraints]
    return [part for c in made for part in getattr(c, "_constraints", [c])]


def _is_number(constraint):
    if isinstance(constraint, Interval):
        return True
    return getattr(constraint, "type", None) in (int, float, Integral, Real)
