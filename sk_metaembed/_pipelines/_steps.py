"""Find a step inside a fitted pipeline or search, and its input."""

from sklearn.exceptions import NotFittedError

from ..sequences import (
    EmbeddedInputMixin,
    EmbeddedSequences,
    SequencesOutputMixin,
    Tokenizer,
)


def find_step(estimator, X, predicate):
    """Return the first step that satisfies a predicate, and its input.

    Parameters
    ----------
    estimator : fitted estimator
        The step itself, or a Pipeline or search around it, at any depth.
    X : input of the estimator
    predicate : callable
        From a step to a bool.

    Returns
    -------
    step : fitted estimator or None
        None if there is no such step.
    X : input of the step

    Raises
    ------
    ValueError
        If there is no such step, but a ColumnTransformer or FeatureUnion.
    """
    steps = fitted_steps(estimator)
    for i, step in enumerate(steps):
        if predicate(step):
            return step, apply_steps(steps[:i], X)
    _refuse_branches(steps)
    return None, X


def embedding_input(estimator, X):
    """Return the input of the first step of an estimator that embeds texts."""
    return find_step(estimator, X, _embeds)[1]


def _embeds(step):
    """Return whether a step returns or takes EmbeddedSequences."""
    kinds = SequencesOutputMixin | EmbeddedInputMixin
    return isinstance(step, kinds) and not isinstance(step, Tokenizer)


def find_embedded(estimator, X):
    """Return every EmbeddedSequences that X becomes in an estimator, in order.

    Steps after the first one that returns something else are ignored.
    """
    steps, embedded = fitted_steps(estimator), []
    if not any(map(_embeds, steps)):
        _refuse_branches(steps)
    for output in outputs_within(steps, X):
        if isinstance(output, EmbeddedSequences):
            embedded.append(output)
        elif embedded:
            break
    return embedded


def outputs_within(steps, X):
    """Yield what X becomes after each of some steps, up to a final predictor."""
    for step in steps:
        if hasattr(step, "transform"):  # resampling steps have none
            X = step.transform(X)
            yield X


def apply_steps(steps, X):
    """Return X transformed by steps."""
    for output in outputs_within(steps, X):
        X = output
    return X


def _refuse_branches(steps):
    """Raise a ValueError if a step has branches with different inputs."""
    for step in steps:
        if hasattr(step, "transformers") or hasattr(step, "transformer_list"):
            name = type(step).__name__
            raise ValueError(
                f"steps inside a {name} are not searched. Pass one of its branches, "
                "such as columns.named_transformers_['text'] of a ColumnTransformer "
                "or union.named_transformers['text'] of a FeatureUnion, and its input."
            )


def fitted_steps(estimator, unwrap=None):
    """Return the steps that an estimator applies one after another, without wrappers.

    Unlike `flat_steps`, these are also the steps in a wrapper other than a search.
    """
    estimator = (unwrap or unwrap_fitted)(estimator)
    if not hasattr(estimator, "steps"):
        return [estimator]
    steps = [s for _, s in estimator.steps if not isinstance(s, str | None)]
    return [inner for step in steps for inner in fitted_steps(step, unwrap)]


def unwrap_fitted(estimator):
    """Return the fitted estimator in a search or another wrapper of a single estimator.

    Raises NotFittedError if a search has not refitted its best candidate.
    """
    if hasattr(estimator, "best_estimator_"):
        return unwrap_fitted(estimator.best_estimator_)
    # Transformers are not unwrapped; `estimator_` of an ensemble is an unfitted
    # template.
    wraps = not (hasattr(estimator, "transform") or hasattr(estimator, "estimators_"))
    for name in ("regressor_", "estimator_"):
        if wraps and hasattr(estimator, name):
            return unwrap_fitted(getattr(estimator, name))
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        raise NotFittedError(
            f"this {type(estimator).__name__} has no fitted estimator. Fit "
            "it with refit=True or the name of a metric."
        )
    return estimator


def flat_steps(estimator):
    """Return the steps that a Pipeline, or a search of one, applies."""
    return fitted_steps(estimator, lambda step: getattr(step, "best_estimator_", step))
