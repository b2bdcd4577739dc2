"""Replace steps of a fitted estimator, wherever they are inside it."""

from copy import copy

# Where fitted estimators keep the steps that they apply.
_STEPS = (
    *("best_estimator_", "estimator_", "regressor_", "encoder_", "encoders_"),
    *("steps", "transformer_list", "transformers_", "transformer_"),
    *("_pipeline", "_wrapped_transformer"),  # of skrub
)


def replace_steps(estimator, function):
    """Return a fitted estimator with ``function(step)`` in place of each of its steps.

    Estimators around a replaced step are shallow copies; `estimator` is not modified.
    If the function returns a step itself, the steps inside it are replaced.
    """
    new = function(estimator)
    if new is not estimator:
        return new
    own = getattr(estimator, "__dict__", {})
    parts = {name: own[name] for name in _STEPS if own.get(name) is not None}
    changes = {name: _replace_part(part, function) for name, part in parts.items()}
    changes = {name: part for name, part in changes.items() if part is not parts[name]}
    if changes:
        new = copy(estimator)
        vars(new).update(changes)
    return new


def _replace_part(part, function):
    """Replace steps in an estimator, a dict of them, or (name, step, ...) tuples."""
    if isinstance(part, dict):
        new = {name: replace_steps(step, function) for name, step in part.items()}
        is_same = all(new[name] is step for name, step in part.items())
    elif isinstance(part, list):
        new = [
            (name, replace_steps(step, function), *rest) for name, step, *rest in part
        ]
        is_same = all(pair[1] is old[1] for pair, old in zip(new, part, strict=True))
    else:
        return replace_steps(part, function)
    return part if is_same else new
