"""What every step that hands on a container, not an array, shares."""


class SequencesInputMixin:
    """Tags of a step whose rows are texts or token sequences, not numbers.

    scikit-learn's own array validation does not apply to such a step.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = []  # no dtype comes in
        return tags


class EmbeddedInputMixin(SequencesInputMixin):
    """Tags of a step that takes EmbeddedSequences and cannot read raw texts.

    Of two mixins it stands on the left: ``EmbeddedInputMixin, SequencesOutputMixin``.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        return tags


class SequencesOutputMixin(SequencesInputMixin):
    """A step whose output is a container: there is no array to wrap in a frame.

    Without `set_output`, ``Pipeline.set_output`` would refuse the whole pipeline
    because of one step in its middle. It stands to the left of TransformerMixin.
    """

    def __init_subclass__(cls, **kwargs):
        # Else each subclass would have to say again that nothing is to be wrapped.
        kwargs.setdefault("auto_wrap_output_keys", None)
        super().__init_subclass__(**kwargs)

    def set_output(self, *, transform=None):
        """Return self: the output is a container whatever is asked for.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Accepted so that ``Pipeline.set_output`` reaches the steps behind this one.

        Returns
        -------
        self : estimator instance
        """
        return self
