"""Report the parts of a fit to scikit-learn's callbacks, such as its ProgressBar."""

from contextlib import contextmanager


@contextmanager
def fit_task(estimator, X, y, n_parts):
    """Report a fit of `n_parts` parts; yield the context of the parts.

    `estimator` has scikit-learn's `CallbackSupportMixin`. X and y are the training
    data, for callbacks that compute scores.
    """
    task = {"estimator": estimator, "X": X, "y": y}
    context = estimator._init_callback_context(max_subtasks=n_parts)
    context.call_on_fit_task_begin(**task)
    yield context
    context.call_on_fit_task_end(**task, reconstruction_attributes=dict)


def part_tasks(estimator, context, names, results):
    """Yield the results of named parts, each reported as a task of `context`."""
    results = iter(results)
    for name in names:
        part = context.subcontext(task_name=name)
        part.call_on_fit_task_begin(estimator=estimator)
        yield next(results)
        part.call_on_fit_task_end(estimator=estimator)
    next(results, None)  # at its end, an iterator closes threads and progress bars
