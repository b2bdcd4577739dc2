"""What tells steps on texts and tokens from steps on numbers: their tags, their output.

Mixins for steps that are written from scratch; the bases of sources and of
meta-embedders have them already.

Which blocks a step was fitted on, and whether others fit.

Parameter validation: what scikit-learn's constraints let through or show in full.
"""

from functools import wraps

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils._set_output import _auto_wrap_is_configured, _get_output_config
from sklearn.utils.validation import _check_sample_weight

from .._core._parameters import CheckedParametersMixin
from ._embedded_sequences import EmbeddedSequences
from ._sequence_pairs import SequencePairs
from ._tags import read_tags
from ._token_sequences import TokenSequences
from ._validation import holds_numbers


def check_embedded(X, *, caller):
    """Return X if it is an EmbeddedSequences, or say what to put before the step.

    Parameters
    ----------
    X : EmbeddedSequences
    caller : str
        The estimator's name.

    Returns
    -------
    EmbeddedSequences

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(X, EmbeddedSequences):
        return X
    if isinstance(X, SequencePairs):
        raise TypeError(
            f"{caller} takes single sequences, got {X!r}. Pass one side, X.first or "
            "X.second; what combines sources stands in the PairEncoder's encoder."
        )
    if holds_numbers(X):
        raise TypeError(
            f"{caller} takes EmbeddedSequences, got {type(X).__name__} of shape "
            f"{tuple(X.shape)}. Put a source before it. If a Pooling step made this "
            "array, the order of the steps is wrong: Pooling comes once, after every "
            "step that takes EmbeddedSequences."
        )
    raise TypeError(
        f"{caller} takes EmbeddedSequences, got {type(X).__name__}. Put a source "
        "before it in the Pipeline, such as Word2VecEmbedding, PretrainedEmbedding or "
        "EmbeddingUnion: it turns texts or tokens into them."
    )


def block_dims(embedded):
    """Return the blocks' dimensions by name, in order."""
    return {block.name: block.dim for block in embedded.blocks}


def check_blocks(embedded, dims, *, caller):
    """Raise unless the blocks have the names and dimensions that fit saw.

    Parameters
    ----------
    embedded : EmbeddedSequences
    dims : dict of str to int
        What `block_dims` gave in fit.
    caller : str
        The estimator's name.

    Raises
    ------
    ValueError
        If names, their order or dimensions differ.
    """
    came = block_dims(embedded)
    if list(came.items()) != list(dims.items()):
        raise ValueError(
            f"{caller} was fitted on blocks {dims} (name: dimension, in this order), "
            f"got {came}. Pass what the sources that it was fitted with give, or fit "
            "again."
        )


MISSING_CONSTRAINT = [StrOptions({"raise", "empty"})]
_CONTAINERS = TokenSequences | EmbeddedSequences | SequencePairs


class SequencesInputMixin(CheckedParametersMixin):
    """Tags of a step whose rows are texts or token sequences, not numbers.

    scikit-learn's own array validation does not apply to such a step, and its checks
    pass over it; those of `sk_metaembed.utils.estimator_checks` feed it words.

    With ``set_output(transform="pandas")``, a DataFrame made of the array that
    `transform` returns has the index of the input, be it a container or a frame.

    See Also
    --------
    EmbeddedInputMixin : For steps that take EmbeddedSequences only.
    SequencesOutputMixin : For steps that also hand on a container.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from sklearn.utils import get_tags
    >>> from sk_metaembed.sequences import SequencesInputMixin
    >>> class WordCount(SequencesInputMixin, BaseEstimator):
    ...     pass
    >>> tags = get_tags(WordCount()).input_tags
    >>> tags.string, tags.two_d_array
    (True, False)
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = []  # no dtype comes in
        return tags

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in ("transform", "fit_transform"):
            owner = next((base for base in cls.__mro__ if name in vars(base)), None)
            if owner in (None, TransformerMixin):  # whose fit_transform calls transform
                continue
            # A base that has the mixin has wrapped its own method already.
            if owner is cls or not issubclass(owner, SequencesInputMixin):
                setattr(cls, name, _keeping_index(getattr(cls, name)))


def _keeping_index(method):
    """Wrap a method so that the DataFrame it returns has the index of a container X.

    scikit-learn copies the index of pandas input only and numbers the rows otherwise.
    ColumnTransformer and FeatureUnion would then join columns of different rows.
    """

    @wraps(method)
    def keeping(self, X, *args, **kwargs):
        result = method(self, X, *args, **kwargs)
        index = X.index if isinstance(X, _CONTAINERS) else None
        if index is None or not _gives_pandas(self):
            return result
        import pandas as pd

        # The order of the bases decides whether scikit-learn has made the frame yet.
        if isinstance(result, np.ndarray) and result.ndim == 2:
            return pd.DataFrame(
                result, index=index, columns=self.get_feature_names_out(), copy=False
            )
        if isinstance(result, pd.DataFrame):
            result.index = index
        return result

    return keeping


def _gives_pandas(step):
    if not _auto_wrap_is_configured(step):
        return False
    return _get_output_config("transform", step)["dense"] == "pandas"


class EmbeddedInputMixin(SequencesInputMixin):
    """Tags of a step that takes EmbeddedSequences and cannot read raw texts.

    Of two mixins it stands on the left: ``EmbeddedInputMixin, SequencesOutputMixin``.

    See Also
    --------
    SequencesInputMixin : For steps that read texts or tokens.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from sklearn.utils import get_tags
    >>> from sk_metaembed.sequences import EmbeddedInputMixin
    >>> class VectorCount(EmbeddedInputMixin, BaseEstimator):
    ...     pass
    >>> tags = get_tags(VectorCount()).input_tags
    >>> tags.string, tags.two_d_array
    (False, False)
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        return tags


class SequencesOutputMixin(SequencesInputMixin):
    """A step whose output is a container: there is no array to wrap in a frame.

    Without `set_output`, ``Pipeline.set_output`` would refuse the whole pipeline
    because of one step in its middle. It stands to the left of TransformerMixin.

    See Also
    --------
    SequencesInputMixin : For steps whose output is an array.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, TransformerMixin
    >>> from sk_metaembed import TokenSequences
    >>> from sk_metaembed.sequences import SequencesOutputMixin, check_tokens
    >>> class Beginning(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         return self
    ...
    ...     def transform(self, X):
    ...         return TokenSequences.from_lists(row[:3] for row in check_tokens(X))
    >>> step = Beginning().set_output(transform="pandas")
    >>> step.transform(["once upon a time", "the end"])
    TokenSequences(2 sequences, 5 tokens, 5 types)
    """

    def __init_subclass__(cls, **kwargs):
        order = cls.__mro__
        if TransformerMixin in order:
            if order.index(TransformerMixin) < order.index(SequencesOutputMixin):
                raise TypeError(
                    f"{cls.__name__}: SequencesOutputMixin must stand to the left of "
                    "TransformerMixin among the bases, so that its set_output is used."
                )
            # Else each subclass would have to say again that nothing is to be wrapped.
            kwargs.setdefault("auto_wrap_output_keys", None)
        super().__init_subclass__(**kwargs)

    def set_output(self, *, transform=None):
        """Return self: the output is a container whatever is asked for.

        A Pipeline tells the choice to each of its steps; it takes effect in those that
        give arrays.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Accepted so that ``Pipeline.set_output`` reaches the steps behind this one.

        Returns
        -------
        estimator instance
            As it was.
        """
        return self


class TaggerMixin:
    """What is common to steps that give every token of a sequence a tag.

    A tagger's y is a list of tag lists, and so is what it predicts. scikit-learn knows
    of no such labels: a tagger is no classifier to it, and its tags say
    ``estimator_type="tagger"``. By that the checks of
    `sk_metaembed.utils.estimator_checks` know what to feed. Of the mixins it stands on
    the left.

    See Also
    --------
    EmbeddedInputMixin : For steps that take EmbeddedSequences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
    >>> from sk_metaembed.sequences import EmbeddedInputMixin, TaggerMixin
    >>> class Nothing(TaggerMixin, EmbeddedInputMixin, BaseEstimator):
    ...     def fit(self, X, y):
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return [["O"] * n for n in X.tokens.lengths]
    >>> tokens = TokenSequences.from_lists([["in", "Rome"], ["there"]])
    >>> X = EmbeddedSequences(tokens, [Block("one-hot", np.eye(3), "type")])
    >>> round(Nothing().score(X, [["O", "B-place"], ["O"]]), 3)
    0.667
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "tagger"
        tags.target_tags.required = True
        return tags

    def _tokens_of(self, X):
        """Return the TokenSequences that y belongs to."""
        return check_embedded(X, caller=type(self).__name__).tokens

    def score(self, X, y, sample_weight=None):
        """Return the share of tokens with the right tag.

        Most tokens are outside of any span, so this is high even where no span is
        found: ``scoring=make_scorer(span_f1_score)`` tells more in a search.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks that fit saw.
        y : list of lists of str, array of such lists, or TokenSequences
            The right tags.
        sample_weight : array-like of shape (n_sequences,), default=None
            How much each token of a sequence counts.

        Returns
        -------
        float
            Between 0 and 1; 1 if there are no tokens.

        Raises
        ------
        ValueError
            If y does not give every token one tag.
        """
        caller = type(self).__name__
        tokens = self._tokens_of(X)
        right = read_tags(y, tokens, caller=caller)
        found = read_tags(
            self.predict(X), tokens, caller=caller, name="what it predicts"
        )
        if tokens.n_tokens == 0:
            return 1.0
        weights = _check_sample_weight(sample_weight, tokens, dtype=np.float64)
        weights = np.repeat(weights, tokens.lengths)
        hits = right.types[right.codes] == found.types[found.codes]
        return float(hits @ weights / weights.sum()) if weights.any() else 1.0
