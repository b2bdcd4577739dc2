"""Validation of estimators' parameters, stricter than scikit-learn's."""

from numbers import Integral, Real

from ._named_errors import name_errors_of_methods
from ._sklearn import (
    Interval,
    InvalidParameterError,
    make_constraint,
    validate_parameter_constraints,
)

_LONGEST = 200  # characters


class CheckedParametersMixin:
    """Reject True and False for numbers; name the class in errors of public methods.

    To Python a bool is an int: ``max_iter=True``, often a parameter mistaken for
    another, would train for one iteration. Long values are shortened in messages.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        name_errors_of_methods(cls)

    def _validate_params(self):
        params = self.get_params(deep=False)
        for name, value in params.items():
            if isinstance(value, bool) and self._accepts_numbers_only(name, value):
                self._reject(name, value)
        try:
            super()._validate_params()
        except InvalidParameterError:
            for name, value in params.items():
                if len(repr(value)) > _LONGEST:
                    self._reject_if_invalid(name, value)
            raise

    def _accepts_numbers_only(self, name, value):
        """Return whether a bool satisfies only constraints on numbers."""
        constraints = self._parameter_constraints.get(name, "no_validation")
        if isinstance(constraints, str):
            return False
        satisfied = [c for c in _flat(constraints) if c.is_satisfied_by(value)]
        return bool(satisfied) and all(map(_is_number, satisfied))

    def _reject_if_invalid(self, name, value):
        constraints = self._parameter_constraints.get(name, "no_validation")
        if isinstance(constraints, str):
            return
        if not any(c.is_satisfied_by(value) for c in map(make_constraint, constraints)):
            self._reject(name, value)

    def _reject(self, name, value):
        constraints = {name: self._parameter_constraints[name]}
        caller = type(self).__name__
        validate_parameter_constraints(constraints, {name: _Shortened(value)}, caller)


class _Shortened:
    """A value that satisfies no constraint, with the repr of another, shortened."""

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
    """Return constraints, with those that combine others replaced by their parts."""
    objects = [make_constraint(constraint) for constraint in constraints]
    return [part for c in objects for part in getattr(c, "_constraints", [c])]


def _is_number(constraint):
    if isinstance(constraint, Interval):
        return True
    return getattr(constraint, "type", None) in (int, float, Integral, Real)
