"""Sample weights for an estimator or a Pipeline, without metadata routing."""

from sklearn.utils.validation import has_fit_parameter


def weight_params(model, sample_weight):
    """Return the parameters of fit that pass weights to all steps that take them.

    None has none. Raises ValueError if the last step does not take weights. Pipelines
    can be nested.
    """
    if sample_weight is None:
        return {}
    last = model
    while hasattr(last, "steps") and not has_fit_parameter(last, "sample_weight"):
        last = last.steps[-1][1]
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"sample_weight was passed, but {type(last).__name__} does not support it."
        )
    return dict.fromkeys(_weight_names(model), sample_weight)


def _weight_names(model, prefix=""):
    if has_fit_parameter(model, "sample_weight"):
        return [f"{prefix}sample_weight"]
    return [
        full
        for name, step in getattr(model, "steps", [])
        for full in _weight_names(step, f"{prefix}{name}__")
    ]
