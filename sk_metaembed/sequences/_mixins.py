"""Mixins for steps that take texts, tokens or embedded sequences, not numbers.

They are for steps written from scratch: the base classes of sources and meta-embedders
derive from them.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin

from .._core._errors import NamedErrorsMixin
from .._core._sample_weights import check_sample_weight
from .._core._sklearn import StrOptions, auto_wrap_is_configured, get_output_config
from .._core._typing import Container, Tags
from ._embedded_sequences import EmbeddedSequences
from ._indexing import Rows
from ._sequence_pairs import SequencePairs
from ._tags import read_tags
from ._validation import holds_numbers


def check_embedded(X, dims=None):
    """Return X if it is an EmbeddedSequences, or raise a TypeError with a remedy.

    `dims` are the dimensions of the blocks in fit, by name. A ValueError is raised if
    the blocks of X have other names or dimensions.
    """
    if isinstance(X, EmbeddedSequences):
        received = block_dims(X)
        if dims is not None and list(received.items()) != list(dims.items()):
            raise ValueError(
                f"this step was fitted on blocks {dims} (name: dimension, in this "
                f"order), got {received}. Pass the output of the sources that it was "
                "fitted with, or fit it again."
            )
        return X
    if isinstance(X, SequencePairs):
        raise TypeError(
            f"this step takes single sequences, got {X!r}. Pass one side, X.first or "
            "X.second; steps that combine sources belong in the encoder of PairEncoder."
        )
    if holds_numbers(X):
        raise TypeError(
            f"this step takes EmbeddedSequences, got {type(X).__name__} of shape "
            f"{tuple(X.shape)}. Put a source before it. If this is the output of "
            "Pooling, the order of the steps is wrong: Pooling comes after all steps "
            "that take EmbeddedSequences."
        )
    raise TypeError(
        f"this step takes EmbeddedSequences, got {type(X).__name__}. Put a source "
        "before it in the Pipeline, such as Word2VecEmbedding, PretrainedEmbedding or "
        "EmbeddingUnion, that embeds texts or tokens."
    )


def block_dims(embedded):
    """Return the blocks' dimensions by name, in order."""
    return {block.name: block.dim for block in embedded.blocks}


def dimension_names(dims):
    """Return a distinct name for each dimension of blocks, object (sum of dims,).

    A name is the name of the block and a number. If the former ends in a digit or an
    underscore, an underscore separates them: "layer1" and "layer11" would otherwise
    share names.
    """
    stems = {b: f"{b}_" if re.search(r"[\d_]\Z", b) else b for b in dims}
    names = [f"{stems[block]}{i}" for block, dim in dims.items() for i in range(dim)]
    return np.array(names, dtype=object)


MISSING_CONSTRAINT = [StrOptions({"raise", "empty"})]


class SequencesInputMixin(NamedErrorsMixin):
    """Mixin for steps whose rows are texts or token sequences, not numbers.

    It sets the step's tags: scikit-learn's array validation and checks do not apply.
    `sk_metaembed.utils.estimator_checks.check_estimator` passes words to the step.

    With ``set_output(transform="pandas")``, the DataFrame made of the array that
    `transform` returns has the index of the input, whether a container or a DataFrame.

    See Also
    --------
    EmbeddedInputMixin : For steps that take EmbeddedSequences only.
    SequencesOutputMixin : For steps that also return a container.

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

    _takes_texts = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = self._takes_texts
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = []  # the input has no dtype
        return tags

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in ("transform", "fit_transform"):
            owner = next((base for base in cls.__mro__ if name in vars(base)), None)
            # TransformerMixin's fit_transform calls transform.
            if owner in (None, TransformerMixin):
                continue
            # Bases with this mixin have wrapped their own methods already.
            if owner is cls or not issubclass(owner, SequencesInputMixin):
                setattr(cls, name, _with_input_index(getattr(cls, name)))


@contextmanager
def explained_token_errors(step, what, remedy):
    """Name a remedy if a step of another library fails on a TokenSequences.

    If the step, or the first step of a Pipeline, accepts a TokenSequences, the error is
    unchanged.
    """
    try:
        yield
    except (AttributeError, TypeError) as error:
        while hasattr(step, "steps"):
            step = step.steps[0][1]
        if isinstance(step, SequencesInputMixin):
            raise
        message = f"{what} failed on a TokenSequences: {error}. {remedy}"
        raise TypeError(message) from error


def _with_input_index(method):
    """Wrap a method so that the DataFrame it returns has the index of a container X.

    scikit-learn copies the index of pandas input only and numbers the rows otherwise;
    ColumnTransformer and FeatureUnion would then join columns of different rows.
    """

    @wraps(method)
    def wrapper(self, X, *args, **kwargs):
        result = method(self, X, *args, **kwargs)
        index = X.index if isinstance(X, Rows) else None
        if index is None or not _outputs_pandas(self):
            return result
        import pandas as pd

        # Whether scikit-learn has made the DataFrame yet depends on the order of bases.
        if isinstance(result, np.ndarray) and result.ndim == 2:
            return pd.DataFrame(
                result, index=index, columns=self.get_feature_names_out(), copy=False
            )
        if isinstance(result, pd.DataFrame):
            result.index = index
        return result

    return wrapper


def _outputs_pandas(step):
    if not auto_wrap_is_configured(step):
        return False
    return get_output_config("transform", step)["dense"] == "pandas"


class EmbeddedInputMixin(SequencesInputMixin):
    """Mixin for steps that take EmbeddedSequences and cannot read raw texts.

    Put it to the left of other mixins: ``EmbeddedInputMixin, SequencesOutputMixin``.

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

    _takes_texts = False


class SequencesOutputMixin(SequencesInputMixin):
    """Mixin for steps whose output is a container, not an array.

    It adds a `set_output` without effect: a step without one would make
    ``Pipeline.set_output`` fail for the whole pipeline. Put it to the left of
    TransformerMixin.

    See Also
    --------
    SequencesInputMixin : For steps whose output is an array.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, TransformerMixin
    >>> from sk_metaembed import TokenSequences
    >>> from sk_metaembed.sequences import SequencesOutputMixin, check_tokens
    >>> class FirstWords(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         return self
    ...
    ...     def transform(self, X):
    ...         return TokenSequences.from_lists(row[:3] for row in check_tokens(X))
    >>> step = FirstWords().set_output(transform="pandas")
    >>> step.transform(["once upon a time", "the end"])
    TokenSequences(2 sequences, 5 tokens, 5 types)
    """

    def __init_subclass__(cls, **kwargs):
        order = cls.__mro__
        if TransformerMixin in order:
            if order.index(TransformerMixin) < order.index(SequencesOutputMixin):
                raise TypeError(
                    f"{cls.__name__}: SequencesOutputMixin must be to the left of "
                    "TransformerMixin in the bases, so that its set_output is used."
                )
            # Without this default, each subclass would have to set the argument again.
            kwargs.setdefault("auto_wrap_output_keys", None)
        super().__init_subclass__(**kwargs)

    def set_output(self, *, transform: Container | None = None) -> Self:
        """Do nothing: the output is a container in any configuration.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Accepted so that ``Pipeline.set_output`` can configure the later steps.

        Returns
        -------
        estimator instance
            The estimator itself.
        """
        return self


class TaggerMixin:
    """Mixin for steps that predict a tag per token.

    A tagger's y and its predictions are lists of tags, one per sentence. scikit-learn
    has no such targets, so a tagger is not a classifier: its tags have
    ``estimator_type="tagger"``. Put the mixin to the left of the others.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "tagger"
        tags.target_tags.required = True
        return tags

    if TYPE_CHECKING:

        def predict(self, X: EmbeddedSequences) -> Any: ...

    def _tokens_of(self, X):
        """Return the TokenSequences that y belongs to."""
        return check_embedded(X).tokens

    def score(
        self, X: EmbeddedSequences, y: Tags, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy of the tags, averaged over tokens.

        Most tokens are outside of any entity, so the accuracy is high even if no entity
        is found: use ``scoring=make_scorer(span_f1_score)`` in a search.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks seen in fit.
        y : list of lists of str, array of such lists, or TokenSequences
            The true tags.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each token of a sequence.

        Returns
        -------
        float
            Between 0 and 1; 1 if there are no tokens.
        """
        tokens = self._tokens_of(X)
        true = read_tags(y, tokens)
        predicted = read_tags(self.predict(X), tokens, name="the prediction")
        if tokens.n_tokens == 0:
            return 1.0
        weights = check_sample_weight(sample_weight, tokens)
        weights = np.repeat(weights, tokens.lengths)
        hits = true.types[true.codes] == predicted.types[predicted.codes]
        return float(hits @ weights / weights.sum()) if weights.any() else 1.0
