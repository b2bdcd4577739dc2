"""Parameters of the Dynamic* estimators: constraints, training options, docs."""

from __future__ import annotations

import re
from inspect import cleandoc
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

from .._core._checked_parameters import is_integer
from .._core._sklearn import Interval, StrOptions
from .._training._choose_device import check_callbacks
from ._options import TRAIN_OPTIONS

Attention: TypeAlias = Literal["word", "context", "task", "uniform"]
Encoder: TypeAlias = Literal["bilstm-max", "gru", "mean", "max", "attention"]
ClassWeight: TypeAlias = (
    dict[Any, float] | list[dict[Any, float]] | Literal["balanced"] | None
)

MixerKind: TypeAlias = Literal["standardized", "published"]

ENCODERS = get_args(Encoder)

_POSITIVE = Interval(Integral, 1, None, closed="left")
_DROPOUT = Interval(Real, 0, 1, closed="left")

CONSTRAINTS = {
    "attention": [StrOptions({"task", "word", "context", "uniform"})],
    "trainable": "no_validation",
    "gate": [StrOptions({"softmax", "sigmoid"})],
    "projection_dim": [_POSITIVE, None],
    "activation": [StrOptions({"relu"}), None],
    "layer_norm": ["boolean"],
    "mix_penalty": [Interval(Real, 0, None, closed="left")],
    "encoder": [StrOptions(set(ENCODERS))],
    "encoder_dim": [_POSITIVE, tuple, list],
    "hidden_dims": [tuple, list],
    "embedding_dropout": [_DROPOUT],
    "encoder_dropout": [_DROPOUT],
    "head_dropout": [_DROPOUT],
    "lr": [Interval(Real, 0, None, closed="neither")],
    "batch_size": [_POSITIVE],
    "max_epochs": [_POSITIVE, StrOptions({"auto"})],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "patience": [_POSITIVE],
    "train_options": [dict, None],
    "mixer": [StrOptions({"standardized", "published"})],
    "class_weight": [StrOptions({"balanced"}), dict, list, None],
    "device": [str],
    "callbacks": [list, tuple, None],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


def check_parameters(params, *, caller):
    """Raise for invalid parameters that `CONSTRAINTS` accept."""
    _check_sizes(params["encoder_dim"], "encoder_dim", caller)
    _check_sizes(params["hidden_dims"], "hidden_dims", caller, may_be_empty=True)
    check_callbacks(params["callbacks"], caller=caller)


def _check_sizes(sizes, name, caller, *, may_be_empty=False):
    sizes = sizes if isinstance(sizes, tuple | list) else [sizes]
    wrong = [s for s in sizes if not (is_integer(s) and s >= 1)]
    if wrong or not (sizes or may_be_empty):
        shown = repr(wrong[0]) if wrong else "no size"
        raise ValueError(
            f"{caller}: {name} must be the sizes of layers, integers of 1 or more; got "
            f"{shown}."
        )


_COMMON = """attention : {"word", "context", "task", "uniform"}, default="word"
    What the weight of a source depends on. "word": the word (DME). "context": the
    sequence, read by a small BiLSTM (CDME). "task": nothing, one weight per source and
    a factor gamma (ELMo's scalar mix). "uniform": no weights, a plain sum.
trainable : FineTuned, CharEmbedding, or list of (str, source), default=None
    Sources whose own weights are trained too, at their own learning rates, in addition
    to the blocks of X or alone. X may then be texts, token lists or TokenSequences; it
    must have blocks if it had blocks in fit. `FineTuned` wraps a
    `TransformerEmbedding`; `CharEmbedding` learns word vectors from characters or
    byte pairs.
gate : {"softmax", "sigmoid"}, default="softmax"
    Weights sum to 1 over the sources that know the word, or are independent.
projection_dim : int or None, default=256
    Dimension that all sources are projected to. None mixes the vectors without
    projection; their dimensions must then be equal.
activation : {"relu"} or None, default="relu"
    Applied to the mixed vectors.
layer_norm : bool, default=False
    Normalize the projected vector of each word and source to mean 0 and variance 1
    before weighting, so that sources with longer vectors do not dominate.
mix_penalty : float, default=0.0
    Regularization of ``attention="task"`` towards equal weights: lambda in the penalty
    lambda * abs(s)^2 on the scores of the softmax. With 0.001 weights can differ, with
    1 they are close to the mean. Ignored by other attentions.
mixer : {"standardized", "published"}, default="standardized"
    "standardized" subtracts the mean of each dimension of a source and divides by its
    standard deviation, both over the distinct words of the training fold that the
    source knows, and with "word" and "context" weights each dimension of the projected
    vectors separately: a weight is a vector instead of a scalar. Trainable sources are
    not standardized. "published" does neither, as in [1]_.
encoder : {"bilstm-max", "gru", "mean", "max", "attention"}, default="%(encoder)s"
    Encodes the mixed vectors of a sequence as one vector: a bidirectional LSTM with
    max pooling over time, the last state of a GRU, the mean, the maximum, or a learned
    weighted mean. The last three skip tokens that no source knows, as `Pooling` does;
    recurrent layers read them as zeros. A sequence without known tokens gives zeros.
encoder_dim : int or tuple of int, default=512
    Size of the recurrent layer (one direction), or sizes of stacked layers.
hidden_dims : tuple of int, default=%(hidden_dims)s
    Sizes of the head's hidden layers; empty for a linear head.
embedding_dropout, encoder_dropout, head_dropout : float, default=0.2, 0.0, 0.2
    Dropout on mixed vectors, on the input of recurrent layers, and in the head.
lr : float, default=%(lr)s
    Learning rate of Adam.
batch_size : int, default=%(batch_size)s
    Approximate number of sequences per step. A batch has sequences of similar length.
max_epochs : int or "auto", default="auto"
    Maximum number of passes over the data. "auto" is 100 with early stopping. Without,
    it is the number of epochs with about 400 steps, and 8 at least.
early_stopping : bool or "auto", default="auto"
    Hold out a part of the data, monitor its accuracy (its loss for numbers and label
    sets), and restore the weights of the best epoch. False trains on all data for
    `max_epochs` at a constant learning rate. "auto" holds out a part of 5,000 sequences
    or more.
validation_fraction : float, default=0.1
    Fraction of the data to hold out, stratified by class. ``fit`` also accepts `X_val`.
patience : int, default=%(patience)s
    Epochs without improvement before training stops.
train_options : dict or None, default=None
%(train_options)s
class_weight : dict, list of dict, "balanced" or None, default=None
    Weight of each label in the loss and in the held-out score; labels that are not
    named have weight 1, and "balanced" gives rare labels larger weights. For label sets
    and several columns of labels a list with one dict per column; the weights of a
    sequence are multiplied. Must be None if y holds numbers.
device : str, default="auto"
    "auto" uses a GPU if torch finds one; otherwise a torch device name. "cuda:auto"
    gives each process of joblib a GPU in turn.
callbacks : list of skorch callbacks, default=None
    Additional callbacks, or (name, callback) pairs. scikit-learn's own callbacks are
    set with ``set_callbacks``.
warm_start : bool, default=False
    Start from the weights of the last fit and the state of its optimizer, such as
    Adam's moments, with `lr` as learning rate. The parameters of the network must not
    have changed.
random_state : int, RandomState or None, default=None
    Seeds weights, batches, dropout and the held-out part.
verbose : int, default=0
    1 prints a row per epoch."""

_ATTRIBUTES = """dims_in_ : dict of str to int
    Dimension of each block in fit, by name.
layer_weights_ : dict of str to float
    Weight of each layer or source with ``attention="task"``; they sum to 1 with the
    softmax gate. For other attentions see `attention_weights`.
gamma_ : float
    Factor of the scalar mix with ``attention="task"``.
trained_ : dict of str to torch Module
    The networks of `trainable`, by the names of the sources ("finetuned" for a single
    transformer, which has ``save(folder)``).
net_ : skorch.NeuralNet
    The trained net. ``net_.module_.mixer`` has the projections and the attention.
history_ : skorch History
    One record per epoch: losses, held-out score, duration.
n_iter_ : int
    Number of epochs trained.
classes_ : ndarray of shape (n_classes,), or list of them
    Only if y holds labels; a list for several columns of labels."""

_TRAIN_OPTIONS = """\
    Further options of training; keys that are missing have their defaults. Parameter
    searches access a single option as ``train_options__gradient_clip``.

    - ``lr_factor`` : float, default=%(lr_factor)s. Multiplies the learning rate after
      ``lr_patience`` epochs without improvement.
    - ``lr_patience`` : int, default=%(lr_patience)s. Epochs without improvement before
      the learning rate is reduced.
    - ``weight_decay`` : float, default=%(weight_decay)s. L2 penalty of Adam.
    - ``gradient_clip`` : float or None, default=%(gradient_clip)s. Largest norm of the
      gradient.
    - ``dtype`` : {"float32", "bfloat16"}, default="%(dtype)s". "bfloat16" computes
      matrix products in mixed precision; weights stay float32."""


_DEFAULTS = {
    "batch_size": "32",
    "encoder": "mean",
    "hidden_dims": "(512, 512)",
    "lr": "1e-3",
    "patience": "3",
}


def describe(entries=None, **defaults):
    """Return a class decorator that fills the placeholders of a docstring.

    Parameters
    ----------
    entries : dict of str to (str or None), default=None
        Other descriptions, by the first name they describe; None leaves one out.
    **defaults
        Defaults that differ between the estimators.

    Returns
    -------
    callable
    """

    def fill(cls):
        if cls.__doc__ is None:  # python -OO
            return cls
        group = getattr(cls, "_train_options", TRAIN_OPTIONS)
        options = {group.name: _TRAIN_OPTIONS % group.defaults}
        values = _DEFAULTS | options | defaults
        common = _common(entries or {}, values)
        # Python 3.13 compiles docstrings without their indentation.
        text = cleandoc(cls.__doc__).replace("%(common)s", common)
        cls.__doc__ = text.replace("%(attributes)s", _ATTRIBUTES) + "\n"
        return cls

    return fill


def _common(entries, defaults):
    """Return the common parameters' entries, which begin where nothing is indented."""
    texts = re.split(r"\n(?=\w)", _COMMON % defaults)
    texts = {re.match(r"\w+", text).group(): text for text in texts} | entries
    return "\n".join(text for text in texts.values() if text is not None)
