"""Parameters of the Dynamic* estimators: their types, constraints and defaults."""

from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

from .._core._sklearn import Interval, StrOptions, validate_parameter_constraints

Attention: TypeAlias = Literal["word", "context", "task", "uniform"]
Encoder: TypeAlias = Literal["conv", "bilstm-max", "gru", "mean", "max"]
TaggingEncoder: TypeAlias = Literal["bilstm", "conv"]
ClassWeight: TypeAlias = (
    dict[Any, float] | list[dict[Any, float]] | Literal["balanced"] | None
)

Gate: TypeAlias = Literal["softmax", "sigmoid"]
MixerKind: TypeAlias = Literal["standardized", "published"]

_POSITIVE = Interval(Integral, 1, None, closed="left")
_DROPOUT = Interval(Real, 0, 1, closed="left")

CONSTRAINTS = {
    "attention": [StrOptions(set(get_args(Attention)))],
    "trainable": "no_validation",
    "gate": [StrOptions(set(get_args(Gate)))],
    "projection_dim": [_POSITIVE, None],
    "activation": [StrOptions({"relu"}), None],
    "layer_norm": ["boolean"],
    "mix_penalty": [Interval(Real, 0, None, closed="left")],
    "encoder": [StrOptions(set(get_args(Encoder)))],
    "encoder_dim": [_POSITIVE, tuple, list],
    "conv_widths": [tuple, list],
    "hidden_dims": [tuple, list],
    "embedding_dropout": [_DROPOUT],
    "encoder_dropout": [_DROPOUT],
    "head_dropout": [_DROPOUT],
    "lr": [Interval(Real, 0, None, closed="neither")],
    "batch_size": [_POSITIVE, StrOptions({"auto"})],
    "max_epochs": [_POSITIVE, StrOptions({"auto"})],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_POSITIVE],
    "train_options": [dict, None],
    "mixer": [StrOptions(set(get_args(MixerKind)))],
    "class_weight": [StrOptions({"balanced"}), dict, list, None],
    "device": [str],
    "callbacks": [list, tuple, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

# Parameters that the networks have by the same name.
NETWORK = (
    "projection_dim",
    "attention",
    "gate",
    "activation",
    "layer_norm",
    "mixer",
    "encoder",
    "embedding_dropout",
    "encoder_dropout",
    "head_dropout",
)

TRAIN_OPTIONS = {
    "lr_factor": 0.5,
    "lr_patience": 3,
    "weight_decay": 0.0,
    "gradient_clip": 5.0,
    "dtype": "float32",
}

_AUTO = StrOptions({"auto"})
_TRAIN_CONSTRAINTS = {
    "monitor": [StrOptions({"loss", "score"})],
    "lr_factor": [Interval(Real, 0, 1, closed="neither")],
    "lr_patience": [Interval(Integral, 0, None, closed="left")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "gradient_clip": [Interval(Real, 0, None, closed="neither"), None],
    "label_smoothing": [Interval(Real, 0, 1, closed="left")],
    "linear_share": [Interval(Real, 0, 1, closed="left"), _AUTO],
    "dtype": [StrOptions({"float32", "bfloat16"})],
}


def read_train_options(given, defaults, owner):
    """Return valid train options, with the defaults of an estimator filled in.

    Parameters
    ----------
    given : dict or None
    defaults : dict
    owner : str
        The estimator's class, for messages.
    """
    options = {**defaults, **(given or {})}
    unknown = [key for key in options if key not in defaults]
    if unknown:
        raise ValueError(
            f"train_options has the unknown key {unknown[0]!r}. Allowed keys are "
            f"{sorted(defaults)}."
        )
    constraints = dict(_TRAIN_CONSTRAINTS)
    if defaults["weight_decay"] == "auto":
        constraints["weight_decay"] = [*constraints["weight_decay"], _AUTO]
    # To Python a bool is a number.
    shown = {k: repr(v) if isinstance(v, bool) else v for k, v in options.items()}
    owner = f"{owner}'s train_options"
    validate_parameter_constraints(constraints, shown, owner)
    return options
