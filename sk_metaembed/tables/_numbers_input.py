"""Input that is rows of numbers, NaN where missing."""

from sklearn.utils.validation import validate_data


class NumbersInputMixin:
    """An estimator of tables takes numbers, any of which may be missing."""

    def _numbers(self, X, dtype, *, reset=False):
        """Return X as an array; with ``reset=True`` its columns are those of the fit.

        Only a fit needs rows.
        """
        return validate_data(
            self,
            X,
            dtype=dtype,
            ensure_all_finite="allow-nan",
            ensure_min_samples=int(reset),
            reset=reset,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
