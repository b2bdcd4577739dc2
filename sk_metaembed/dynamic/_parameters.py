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

_POSITIVE = Interval(Integral, 1, None, closed="left")
_DROPOUT = Interval(Real, 0, 1, closed="left")

CONSTRAINTS = {
    "attention": [StrOptions(set(get_args(Attention)))],
    "trainable": "no_validation",
    "projection_dim": [_POSITIVE, None],
    "encoder": [StrOptions(set(get_args(Encoder)))],
    "encoder_dim": [_POSITIVE, tuple, list],
    "hidden_dims": [tuple, list],
    "embedding_dropout": [_DROPOUT],
    "head_dropout": [_DROPOUT],
    "network_options": [dict, None],
    "lr": [Interval(Real, 0, None, closed="neither")],
    "batch_size": [_POSITIVE, StrOptions({"auto"})],
    "max_epochs": [_POSITIVE, StrOptions({"auto"})],
    "early_stopping": ["boolean"],
    "train_options": [dict, None],
    "class_weight": [StrOptions({"balanced"}), dict, list, None],
    "device": [str],
    "callbacks": [list, tuple, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

# Keys of `network_options` and `train_options` that all estimators have.
NETWORK_OPTIONS = {
    "mixer": "standardized",
    "gate": "softmax",
    "activation": "relu",
    "layer_norm": False,
    "mix_penalty": 0.0,
    "conv_widths": (3, 5),
    "encoder_dropout": 0.0,
}
TRAIN_OPTIONS = {
    "validation_fraction": 0.1,
    "n_iter_no_change": 10,
    "lr_factor": 0.5,
    "lr_patience": 3,
    "weight_decay": 0.0,
    "gradient_clip": 5.0,
    "dtype": "float32",
}

_AUTO = StrOptions({"auto"})
_OPTION_CONSTRAINTS = {
    "mixer": [StrOptions({"standardized", "published"})],
    "gate": [StrOptions({"softmax", "sigmoid"})],
    "activation": [StrOptions({"relu"}), None],
    "layer_norm": ["boolean"],
    "mix_penalty": [Interval(Real, 0, None, closed="left")],
    "conv_widths": [tuple, list],
    "encoder_dropout": [_DROPOUT],
    "decoder": [StrOptions({"crf", "softmax"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_POSITIVE],
    "monitor": [StrOptions({"loss", "score"})],
    "lr_factor": [Interval(Real, 0, 1, closed="neither")],
    "lr_patience": [Interval(Integral, 0, None, closed="left")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "gradient_clip": [Interval(Real, 0, None, closed="neither"), None],
    "label_smoothing": [Interval(Real, 0, 1, closed="left")],
    "linear_share": [Interval(Real, 0, 1, closed="left"), _AUTO],
    "dtype": [StrOptions({"float32", "bfloat16"})],
}


def read_options(name, given, defaults, owner):
    """Return valid options, with the defaults of an estimator filled in.

    Parameters
    ----------
    name : {"network_options", "train_options"}
    given : dict or None
    defaults : dict
    owner : str
        Name of the estimator's class, for messages.
    """
    options = {**defaults, **(given or {})}
    unknown = [key for key in options if key not in defaults]
    if unknown:
        raise ValueError(
            f"{name} has the unknown key {unknown[0]!r}. Allowed keys are "
            f"{sorted(defaults)}."
        )
    constraints = dict(_OPTION_CONSTRAINTS)
    if defaults.get("weight_decay") == "auto":
        constraints["weight_decay"] = [*constraints["weight_decay"], _AUTO]
    # To Python a bool is a number.
    shown = {
        key: repr(value) if isinstance(value, bool) and key != "layer_norm" else value
        for key, value in options.items()
    }
    validate_parameter_constraints(constraints, shown, f"{owner}'s {name}")
    return options
