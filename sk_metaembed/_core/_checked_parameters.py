"""Validation of estimators' parameters, stricter than scikit-learn's."""

from numbers import Integral, Real

from ._named_errors import NamedErrorsMixin
from ._sklearn import (
    Interval,
    InvalidParameterError,
    make_constraint,
    validate_parameter_constraints,
)

_LONGEST = 200  # characters


class CheckedParametersMixin(NamedErrorsMixin):
    """Reject True and False for numbers; name the class in errors of public methods.

    To Python a bool is an int: ``max_iter=True``, often a parameter mistaken for
    another, would train for one iteration. Long values are shortened in messages.
    """

    def _validate_params(self):
        constraints, params = self._parameter_constraints, self.get_params(deep=False)
        for name, value in params.items():
            given = constraints.get(name, "no_validation")
            if isinstance(value, bool) and _accepts_numbers_only(given, value):
                params[name] = _NoNumber(value)
        try:
            validate_parameter_constraints(constraints, params, type(self).__name__)
        except InvalidParameterError as error:
            message = str(error)
            for value in params.values():
                message = message.replace(repr(value), _shortened(value))
            error.args = (message,)
            raise


class _NoNumber:
    """True or False, where only numbers are allowed: satisfies no constraint."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return repr(self.value)


def _accepts_numbers_only(constraints, value):
    """Return whether a bool satisfies only constraints on numbers."""
    if isinstance(constraints, str):
        return False
    satisfied = [c for c in _flat(constraints) if c.is_satisfied_by(value)]
    return bool(satisfied) and all(map(_is_number, satisfied))


def _shortened(value):
    """Return the repr of a value, cut if it is long."""
    shown = repr(value)
    if len(shown) <= _LONGEST:
        return shown
    shown = " ".join(shown.split())[: _LONGEST // 2]
    return f"{shown}... (an instance of {type(value).__name__!r})"


def is_integer(value):
    """Return whether value is an integer, and not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value):
    """Return whether value is a real number, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _flat(constraints):
    """Return constraints, with those that combine others replaced by their parts."""
    objects = [make_constraint(constraint) for constraint in constraints]
    return [part for c in objects for part in getattr(c, "_constraints", [c])]


def _is_number(constraint):
    if isinstance(constraint, Interval):
        return True
    return getattr(constraint, "type", None) in (int, float, Integral, Real)
