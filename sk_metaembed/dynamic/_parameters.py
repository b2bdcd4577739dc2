"""Parameters of the Dynamic* estimators: their types, constraints and defaults."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

from .._core._sklearn import Interval, StrOptions

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
    "batch_size": [_POSITIVE, StrOptions({"auto"})],
    "max_epochs": [_POSITIVE, StrOptions({"auto"})],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_POSITIVE],
    "train_options": [dict, None],
    "mixer": [StrOptions({"standardized", "published"})],
    "class_weight": [StrOptions({"balanced"}), dict, list, None],
    "device": [str],
    "callbacks": [list, tuple, None],
    "warm_start": ["boolean"],
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
    "embedding_dropout",
    "encoder_dropout",
    "head_dropout",
)

TRAIN_OPTIONS = {
    "lr_factor": 0.2,
    "lr_patience": 0,
    "weight_decay": 0.0,
    "gradient_clip": 5.0,
    "dtype": "float32",
}
