"""A fit and its predictions have the right shape, or end in a sentence of ours."""

import linecache
import warnings

import numpy as np
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def quick_learners(task):
    """Return learners for a `TableClassifier` or `TableRegressor` that fit fast."""
    kinds = {"classifier": DecisionTreeClassifier, "regressor": DecisionTreeRegressor}
    return [("tree", kinds[task](max_depth=2, random_state=0))]


def is_own(error):
    """Return whether a raise statement of this package raised an error."""
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    line = linecache.getline(code.co_filename, traceback.tb_lineno)
    module = traceback.tb_frame.f_globals.get("__name__", "")
    is_kind = isinstance(error, TypeError | ValueError)
    return is_kind and f"{module}.".startswith("sk_metaembed.") and "raise " in line


def check_case(case, pipeline):
    """Fit and predict a `random_tables.Case`; return the error message, None if none.

    Raises whatever is not an error of this package, and AssertionError for a wrong
    result or an ordinary table that is refused.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            warnings.simplefilter("error", RuntimeWarning)
            pipeline.fit(case.X, case.y)
            results = _predictions(pipeline, case.new)
            name = [*results][-1]
            alone = getattr(pipeline, name)(case.new[:1])
    except Exception as error:
        if not is_own(error):
            raise
        assert not case.is_ordinary, f"refused: {error}"
        return str(error)
    _check_results(pipeline, results, case)
    _check_alone(results[name], alone)
    return None


def _predictions(pipeline, X):
    names = ["predict", *["predict_proba"] * is_classifier(pipeline)]
    return {name: getattr(pipeline, name)(X) for name in names}


def _check_alone(batch, alone):
    """Check that the first row is predicted as in the batch."""
    scale = 1e-5 * np.abs(batch).max(initial=1e-9)
    np.testing.assert_allclose(alone, batch[:1], rtol=1e-5, atol=scale)


def _check_results(pipeline, results, case):
    n_rows = case.new.num_rows if hasattr(case.new, "num_rows") else len(case.new)
    n_columns = np.shape(case.y)[1:] if np.ndim(case.y) == 2 else ()
    shape = (n_rows, *n_columns) if n_columns != (1,) else (n_rows,)
    predicted = results["predict"]
    assert predicted.shape == shape, f"{predicted.shape} is not {shape}"
    if "predict_proba" not in results:
        assert np.isfinite(predicted).all()
        return
    probabilities = results["predict_proba"]
    assert probabilities.shape == (n_rows, len(pipeline.classes_))
    assert (probabilities >= 0).all()
    assert (probabilities <= 1 + 1e-9).all()
    if len(shape) == 1:
        assert set(predicted.tolist()) <= set(pipeline.classes_.tolist())
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
