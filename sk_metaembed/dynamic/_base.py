"""What the Dynamic* estimators share: their parameters, training and checks.

What a fitted Dynamic* estimator does with further data.

What makes an estimator one with trainable sources: parameters, opening, networks.

What ELMo's scalar mix has learned: a weight a layer or source, and a factor.

What Dynamic* estimators that are transformers share.

Attention weights as a table.
"""

import os
from numbers import Integral, Real

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from ..sequences import SequencePairs
from ..sequences._mixins import EmbeddedInputMixin
from ._options import (
    ENCODERS,
    check_options,
    checked_weights,
    label_weights,
    split_rows,
)
from ._targets import check_target
from ._trainable import (
    TrainedSources,
    check_dims,
    dims_of,
    read_input,
    tokens_of,
    trainable_pairs,
)
from .training._distributed_fit import shared_random_state, together


class FittedNet:
    """Reads data as fit did, and runs the net over them.

    A mixin of `BaseDynamicMeta`, whose attributes it uses.
    """

    def _read(self, X, caller):
        return read_input(
            X,
            dims=self.dims_in_,
            caller=caller,
            reads_tokens=bool(self._trained),
            pairs=self._reads_pairs,
        )

    def _data(self, X):
        """Return X as the fitted net reads it, both sides of pairs as sequences."""
        from .training._predict import data_for

        check_is_fitted(self, "net_")
        X = self._read(X, type(self).__name__)
        sequences = X.sequences if isinstance(X, SequencePairs) else X
        return data_for(self.net_, sequences, self._trained, self._target.per_token)

    def _outputs(self, X):
        """Return the net's outputs, float32 of shape (n_rows, n_outputs)."""
        from .training._predict import row_data_for, run_sequences

        check_is_fitted(self, "net_")
        X, net = self._read(X, type(self).__name__), self.net_
        data = row_data_for(net, X, self._trained)
        n_outputs = int(np.sum(self._target.n_outputs))
        return run_sequences(net, data, net.module_.outputs, n_outputs)

    def attention_weights(self, X):
        """Return how much each source counts at each token.

        They are what predicting mixes the sources with, and tell how much each
        contributes, not how much it helps. With ``attention="context"`` a word has
        others in another sequence.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks that fit saw; tokens or texts if it saw none.

        Returns
        -------
        pandas.DataFrame
            One row a token: ``sequence``, ``position``, ``token``, and one column a
            source with its weight; those that are trained along stand last. Under the
            softmax gate a row's weights sum to 1, or to 0 where no source knows the
            token. With ``attention="uniform"`` every known source has weight 1. Where
            all sources are at sequence level there is a row a sequence, without
            ``position`` and ``token``. Of pairs, ``sequence`` is the pair's number, and
            a column ``side`` behind it says "first" or "second".
        """
        from .training._predict import run_positions

        data, names = self._data(X), list(self._source_dims())
        values, level = run_positions(self.net_, data, 1, len(names))
        frame = weights_frame(data.tokens, names, values, level)
        return by_pair(frame, len(data) // 2) if self._reads_pairs else frame

    def _net_parts(self):
        """Return the net as plain values and tensors."""
        from .training._state import net_parts

        return net_parts(self)

    def _set_net(self, plain, tensors):
        """Have the net that `_net_parts` told of."""
        from .training._state import net_of

        self.net_ = net_of(self, plain, tensors)
        self.history_ = self.net_.history

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")


class TrainableComposition(_BaseComposition):
    """Base of estimators with a parameter `trainable`.

    A single source's parameters are reached as ``trainable__parameter``, those of
    named ones as ``name__parameter``.
    """

    def get_params(self, deep=True):
        """Return the parameters, with those of the trainable sources.

        By these names a grid search reaches into a source and tries its parameters
        along with those of the net.

        Parameters
        ----------
        deep : bool, default=True
            With ``trainable__parameter`` of a single source, and ``name__parameter``
            of named ones.

        Returns
        -------
        dict
            Values by name.
        """
        return self._get_params("trainable", deep=deep)

    def set_params(self, **params):
        """Set parameters, replace a trainable source, or set one of its parameters.

        A fitted net stays as it is until the next fit. Of named sources, each name
        replaces a source, as it does a step of a Pipeline.

        Parameters
        ----------
        **params : dict
            By the names that `get_params` gives.

        Returns
        -------
        estimator instance
            The estimator.
        """
        self._set_params("trainable", **params)
        return self

    @property
    def trained_(self):
        """The networks that were trained along, by the names of their sources.

        Torch modules with the weights that training has left them, empty where no
        source was trainable. A fine-tuned transformer has ``save(folder)``, which
        writes it for others to load.
        """
        networks = self.net_.module_.trained
        return dict(zip(self._trained.names, networks, strict=True))

    def _pairs(self):
        pairs = trainable_pairs(self.trainable, caller=type(self).__name__)
        self._validate_names([name for name, _ in pairs])
        return pairs

    def _sk_visual_block_(self):
        if self.trainable is None:
            name = type(self).__name__
            return _VisualBlock("single", self, names=name, name_details=str(self))
        pairs = self.trainable
        if not isinstance(pairs, list | tuple):
            pairs = [(f"trainable: {type(pairs).__name__}", pairs)]
        names, sources = zip(*pairs, strict=True)
        return _VisualBlock("parallel", sources, names=names)

    def _opened(self, X):
        return TrainedSources(self._pairs(), tokens_of(X))

    def _go_on(self, X):
        """Take the learning rates of now for the networks of the last fit."""
        trained = self._opened(X)
        if trained != self._trained:
            raise ValueError(
                f"{type(self).__name__} goes on with the net of the last fit, whose "
                f"trainable sources are {self._trained}, but {trained} are asked for. "
                "Only their learning rates can change. Set them back, or fit with "
                "warm_start=False, or a clone."
            )
        self._trained = trained

    def _source_dims(self):
        """Return the dimension of each source, in the net's order."""
        return {**self.dims_in_, **self._trained.dims}


class ScalarMixAttributes:
    """Tells the scalar mix of estimators fitted with ``attention="task"``."""

    @property
    def layer_weights_(self):
        """The scalar mix: the weight of each layer or source, by its name.

        There only with ``attention="task"``, where no weight depends on the word. They
        begin equal; their logarithms can be given to an `ElmoEmbedding` as
        ``mix_weights``.
        """
        weights = self._scalar_mix("layer_weights_").task_weights()
        return dict(zip(self._source_dims(), weights, strict=True))

    @property
    def gamma_(self):
        """The factor of the scalar mix.

        It lets the task scale the mixture as a whole, and begins at 1. There only with
        ``attention="task"``.
        """
        return float(self._scalar_mix("gamma_").gamma.detach())

    def _scalar_mix(self, asked):
        check_is_fitted(self, "net_")
        mixer = self.net_.module_.mixer
        if mixer.attention != "task":
            raise AttributeError(
                f"{type(self).__name__} has {asked} where it was fitted with "
                f"attention='task', here with {mixer.attention!r}. "
                "attention_weights(X) tells the weights of any attention."
            )
        return mixer


_POSITIVE = Interval(Integral, 1, None, closed="left")
_DROPOUT = Interval(Real, 0, 1, closed="left")


class BaseDynamicMeta(
    EmbeddedInputMixin,
    CallbackSupportMixin,
    ScalarMixAttributes,
    FittedNet,
    TrainableComposition,
):
    """Trains mixer, encoder and head on y; leaves say what comes out.

    A leaf gives ``_make_target(y, classes, weights)``, and an ``__init__`` of its own
    where it has more parameters or other defaults. The parameters are described in
    the leaves.
    """

    _parameter_constraints: dict = {
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
        "micro_batch_size": [_POSITIVE, None],
        "max_epochs": [_POSITIVE],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "gradient_clip": [Interval(Real, 0, None, closed="neither"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [_POSITIVE],
        "lr_factor": [Interval(Real, 0, 1, closed="neither")],
        "lr_patience": [Interval(Integral, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, list, None],
        "device": [str],
        "dtype": [StrOptions({"float32", "bfloat16"})],
        "compile": ["boolean"],
        "callbacks": [list, tuple, None],
        "checkpoint": [str, os.PathLike, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        attention="word",
        *,
        trainable=None,
        gate="softmax",
        projection_dim=256,
        activation="relu",
        layer_norm=False,
        mix_penalty=0.0,
        encoder="bilstm-max",
        encoder_dim=512,
        hidden_dims=(512, 512),
        embedding_dropout=0.2,
        encoder_dropout=0.0,
        head_dropout=0.2,
        lr=4e-4,
        batch_size=64,
        micro_batch_size=None,
        max_epochs=100,
        weight_decay=0.0,
        gradient_clip=5.0,
        early_stopping=True,
        validation_fraction=0.1,
        patience=3,
        lr_factor=0.2,
        lr_patience=0,
        class_weight=None,
        device="auto",
        dtype="float32",
        compile=False,
        callbacks=None,
        checkpoint=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.attention = attention
        self.trainable = trainable
        self.gate = gate
        self.projection_dim = projection_dim
        self.activation = activation
        self.layer_norm = layer_norm
        self.mix_penalty = mix_penalty
        self.encoder = encoder
        self.encoder_dim = encoder_dim
        self.hidden_dims = hidden_dims
        self.embedding_dropout = embedding_dropout
        self.encoder_dropout = encoder_dropout
        self.head_dropout = head_dropout
        self.lr = lr
        self.batch_size = batch_size
        self.micro_batch_size = micro_batch_size
        self.max_epochs = max_epochs
        self.weight_decay = weight_decay
        self.gradient_clip = gradient_clip
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.lr_factor = lr_factor
        self.lr_patience = lr_patience
        self.class_weight = class_weight
        self.device = device
        self.dtype = dtype
        self.compile = compile
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    @together
    def fit(self, X, y=None, sample_weight=None, *, X_val=None, y_val=None):
        """Train on labelled sequences.

        Unless `early_stopping` is False or `X_val` is given, a part of the sequences is
        held out to find the best epoch. The net begins anew, except with
        ``warm_start=True``: then it goes on from the weights of the last fit.

        Parameters
        ----------
        X : EmbeddedSequences of shape (n_sequences,)
            With the blocks of the sources that are to be combined, or SequencePairs
            of them. Where the trainable sources are all there are, texts, token lists
            or TokenSequences; or pairs: two columns of texts (array or DataFrame), a
            list of pairs of token lists, or SequencePairs of tokens.
        y : array-like of shape (n_sequences,) or (n_sequences, n_outputs)
            Labels, an indicator matrix of labels, several columns of labels (a
            DataFrame or array), or numbers; of a tagger a list of tags a sequence, of
            a ranker the features of each caption's image.
        sample_weight : array-like of shape (n_sequences,), default=None
            How much each sequence counts in the loss and in the held-out score.
        X_val : EmbeddedSequences or SequencePairs, default=None
            Held-out sequences for early stopping, instead of a part of X and
            whatever `early_stopping` says.
        y_val : array-like, default=None
            Their targets.

        Returns
        -------
        estimator instance
            The trained estimator.

        Notes
        -----
        Sequences of weight 0 are left out. An interrupt from the keyboard ends
        training as early stopping does: with the best weights so far. With
        `checkpoint`, the same fit again then goes on where it ended.
        """
        goes_on = self.warm_start and hasattr(self, "net_")
        X, y, weights = self._checked(X, y, sample_weight, goes_on)
        if goes_on:
            self._go_on(X)
        else:
            self._start(X, y, weights)
        weights = self._weights(y, weights)
        checkpoint = self._checkpoint(X, y, weights, (X_val, y_val), goes_on)
        held_out = self._held_out(X, y, weights, X_val, y_val)
        epochs, new = self.max_epochs, not goes_on
        return self._train(X, y, weights, held_out, epochs, checkpoint, new=new)

    @with_callbacks
    @together
    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
        """Train for one more epoch, without holding anything out.

        For data that come in parts, and for loops with a rule of their own to stop. The
        weights are those of the last call, whether or not an earlier one had better
        ones.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs of shape (n_sequences,)
            With the blocks of the first call.
        y : array-like of shape (n_sequences,) or (n_sequences, n_outputs)
            As for `fit`.
        classes : array-like, or list of array-like, default=None
            All labels that will ever come, of several columns a list of lists; needed
            in the first call unless y has them all.
        sample_weight : array-like of shape (n_sequences,), default=None
            How much each sequence counts in the loss.

        Returns
        -------
        estimator instance
            The trained estimator.

        Notes
        -----
        The first call decides on the classes, and on mean and scale of numbers.
        ``class_weight="balanced"`` balances the labels of each call.
        """
        new = not hasattr(self, "net_")
        X, y, weights = self._checked(X, y, sample_weight, not new)
        if new:
            self._start(X, y, weights, classes)
        else:
            self._go_on(X)
        self._check_same_classes(classes)
        weights = self._weights(y, weights)
        return self._train(X, y, weights, None, 1, new=new)

    def _checked(self, X, y, sample_weight, goes_on):
        self._validate_params()
        caller = type(self).__name__
        check_options(self, caller=caller)
        X = read_input(
            X,
            dims=self.dims_in_ if goes_on else None,
            caller=caller,
            reads_tokens=bool(self._pairs()),
            pairs=self._reads_pairs if goes_on else None,
        )
        y = self._read_target(y, X, caller=caller)
        if len(X) == 0:
            raise ValueError(
                f"Found array with 0 sample(s): {caller} needs at least one sequence "
                "to learn from."
            )
        return X, y, checked_weights(sample_weight, X)

    def _check_same_classes(self, classes):
        if classes is None or not self._target.takes_classes:
            return
        if not self._target.has_classes(classes):
            known = self._target.classes
            several = isinstance(known, list)
            known = [c.tolist() for c in known] if several else known.tolist()
            raise ValueError(
                f"{type(self).__name__}: classes={list(classes)} are not those of the "
                f"first call, {known}. Pass the same, or train a clone."
            )

    def _start(self, X, y, weights, classes=None):
        caller = type(self).__name__
        trained = self._opened(X)
        check_dims(
            dims_of(X), trained, self.projection_dim, self.layer_norm, caller=caller
        )
        self.__dict__.pop("net_", None)
        self.dims_in_, self._trained = dims_of(X), trained
        self._reads_pairs = isinstance(X, SequencePairs)
        self._target = self._make_target(y, classes, weights)
        if self._target.classes is not None:
            self.classes_ = self._target.classes
        self._random = shared_random_state(self)

    def _weights(self, y, weights):
        """Return the sequences' weights times their labels', with mean 1."""
        if self.class_weight is not None:
            weights = weights * label_weights(
                self.class_weight, y, self._target, caller=type(self).__name__
            )
        return (weights / weights.mean()).astype(np.float32)

    def _held_out(self, X, y, weights, X_val, y_val):
        caller = type(self).__name__
        if (X_val is None) != (y_val is None):
            missing = "X_val" if X_val is None else "y_val"
            raise ValueError(
                f"{caller}: {missing} is missing. X_val and y_val, held-out sequences "
                "and their targets, come together or not at all."
            )
        if X_val is None:
            if not self.early_stopping:
                return None
            return split_rows(
                self._target.stratify(y),
                weights,
                self.validation_fraction,
                self._random,
            )
        X_val = self._read(X_val, caller=f"{caller}'s X_val")
        if len(X_val) == 0:
            raise ValueError(f"{caller}: X_val holds no sequences. Leave it out.")
        return X_val, self._read_target(y_val, X_val, caller=f"{caller}'s y_val")

    def _checkpoint(self, X, y, weights, held_out, goes_on):
        if self.checkpoint is None:
            return None
        from .training._checkpoint import checkpoint_of

        return checkpoint_of(self, X, y, weights, held_out, goes_on=goes_on)

    def _train(self, X, y, weights, held_out, epochs, checkpoint=None, *, new):
        from .training._fit import train_estimator

        context = self._init_callback_context(max_subtasks=epochs)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        try:
            self.net_ = train_estimator(
                self, X, y, weights, held_out, epochs, context, checkpoint, new=new
            )
        except FloatingPointError:
            # A net that went on with training holds what is no number any more.
            self.__dict__.pop("net_", None)
            raise
        self.history_ = self.net_.history
        self.n_iter_ = len(self.history_)
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, reconstruction_attributes=dict
        )
        return self

    def _torch_parts(self):
        """Return the classes of the network and of the loss."""
        from .nets._mixing import DynamicMetaNet, WeightedLoss

        return DynamicMetaNet, WeightedLoss

    def _network_parameters(self):
        """Return the parameters that not all kinds of networks have."""
        return {"encoder": self.encoder, "pairs": self._reads_pairs}

    def _valid_score(self):
        """Return the callback that writes the held-out score into the history."""
        from .training._fit import ValidAccuracy

        return ValidAccuracy()

    def _read_target(self, y, X, *, caller):
        return check_target(y, len(X), caller=caller)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # With such a source there need be no other before it.
        tags.input_tags.string = bool(self.trainable)
        return tags


class TransformingMixin(TransformerMixin):
    """Trains and transforms what is read once.

    A mixin of `BaseDynamicMeta`, whose methods it uses.
    """

    def fit_transform(self, X, y=None, **fit_params):
        """Train, and return what `transform` gives for the same sequences.

        X is read once, so that a generator of texts will do. The sequences that were
        learned from come out as new ones would, without dropout: what a classifier
        behind it sees of them may look too good.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            As for `fit`.
        y : array-like
            As for `fit`.
        **fit_params : dict
            What else `fit` takes.

        Returns
        -------
        EmbeddedSequences, SequencePairs, or ndarray of float32
            As `transform` gives it.
        """
        self._validate_params()
        # Read once: a generator of texts would run dry.
        caller = type(self).__name__
        X = read_input(X, caller=caller, reads_tokens=bool(self._pairs()))
        return super().fit_transform(X, y, **fit_params)


def by_pair(frame, n_pairs):
    """Return the table of both sides' sequences as one of pairs, pair by pair.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `weights_frame` gives it of all first and then all second sides.
    n_pairs : int

    Returns
    -------
    pandas.DataFrame
        With a column ``side``; ``sequence`` is the number of the pair.
    """
    if "side" in frame:
        raise ValueError(
            "A source is named 'side', which is a column of its own in this table of "
            "pairs. Give the source another name, for example in EmbeddingUnion."
        )
    rows = frame["sequence"].to_numpy()
    sides = np.where(rows < n_pairs, "first", "second")
    frame = frame.assign(sequence=rows % max(n_pairs, 1))
    frame.insert(1, "side", sides)
    return frame.sort_values("sequence", kind="stable", ignore_index=True)


def weights_frame(tokens, names, values, level):
    """Return one row a token with the sources' weights.

    Parameters
    ----------
    tokens : TokenSequences
    names : list of str
        The sources.
    values : ndarray of shape (n_rows, n_sources)
    level : {"type", "token", "sequence"}
        What the rows of `values` stand for.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        If a source has the name of one of the other columns.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "attention_weights returns a pandas DataFrame: pip install pandas."
        ) from error
    taken = {"sequence", "position", "token"} & set(names)
    if taken:
        raise ValueError(
            f"A source is named {taken.pop()!r}, which is a column of its own in this "
            "table. Give the source another name, for example in EmbeddingUnion."
        )
    columns = dict(zip(names, values.T, strict=True))
    if level == "sequence":
        return pd.DataFrame({"sequence": np.arange(len(tokens)), **columns})
    if level == "type":
        columns = {name: column[tokens.codes] for name, column in columns.items()}
    rows = tokens.segment_ids()
    return pd.DataFrame(
        {
            "sequence": rows,
            "position": np.arange(tokens.n_tokens) - tokens.offsets[:-1][rows],
            "token": tokens.types[tokens.codes],
            **columns,
        }
    )
