"""Sample weights for an estimator or a Pipeline, without metadata routing."""

from sklearn.utils.validation import has_fit_parameter


def weight_params(model, sample_weight):
    """Return the parameters of fit that pass weights to all steps that take them."""
    steps = model.steps if hasattr(model, "steps") else [(None, model)]
    names = [
        f"{name}__sample_weight" if name else "sample_weight"
        for name, step in steps
        if has_fit_parameter(step, "sample_weight")
    ]
    if not names:
        raise ValueError(
            f"sample_weight was passed, but {type(model).__name__} does not support it."
        )
    return dict.fromkeys(names, sample_weight)
