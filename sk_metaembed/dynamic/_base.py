"""What the Dynamic* estimators share: their parameters, training and checks."""

import os
from numbers import Integral, Real

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions

from ..sequences import SequencePairs
from ..sequences._estimator import EmbeddedInputMixin
from ._composition import TrainableComposition
from ._fitted_net import FittedNet
from ._holdout import split_rows
from ._options import ENCODERS, check_options, checked_weights, label_weights
from ._scalar_mix import ScalarMixAttributes
from ._targets import check_target
from ._together import shared_random_state, together
from ._trainable import check_dims, dims_of, read_input

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

        See Also
        --------
        partial_fit : One epoch at a time, for data that come in parts.
        TrainingCurveDisplay.from_estimator : Draws what training has recorded.

        Notes
        -----
        Sequences of weight 0 are left out. An interrupt from the keyboard ends
        training as early stopping does: with the best weights so far. With
        `checkpoint`, the same fit again then goes on where it ended.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> clf = DynamicMetaClassifier(
        ...     trainable=CharEmbedding(), encoder="mean", max_epochs=1
        ... )
        >>> _ = clf.fit(["good", "bad"], [1, 0], X_val=["good"], y_val=[1])
        >>> [name for name in clf.history_[-1] if name in ("train_loss", "valid_loss")]
        ['train_loss', 'valid_loss']
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

        See Also
        --------
        fit : Trains for many epochs, with early stopping.

        Notes
        -----
        The first call decides on the classes, and on mean and scale of numbers.
        ``class_weight="balanced"`` balances the labels of each call.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
        >>> clf = DynamicMetaClassifier(
        ...     trainable=CharEmbedding(), encoder="mean", max_epochs=1
        ... )
        >>> for texts, y in [(["good", "fine"], [1, 1]), (["bad"], [0])]:
        ...     _ = clf.partial_fit(texts, y, classes=[0, 1])
        >>> clf.n_iter_, clf.classes_.tolist()
        (2, [0, 1])
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
        whose = type(self).__name__
        check_options(self, whose=whose)
        X = read_input(
            X,
            dims=self.dims_in_ if goes_on else None,
            whose=whose,
            reads_tokens=bool(self._pairs()),
            pairs=self._reads_pairs if goes_on else None,
        )
        y = self._read_target(y, X, whose=whose)
        if len(X) == 0:
            raise ValueError(
                f"Found array with 0 sample(s): {whose} needs at least one sequence "
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
        whose = type(self).__name__
        trained = self._opened(X)
        check_dims(
            dims_of(X), trained, self.projection_dim, self.layer_norm, whose=whose
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
                self.class_weight, y, self._target, whose=type(self).__name__
            )
        return (weights / weights.mean()).astype(np.float32)

    def _held_out(self, X, y, weights, X_val, y_val):
        whose = type(self).__name__
        if (X_val is None) != (y_val is None):
            missing = "X_val" if X_val is None else "y_val"
            raise ValueError(
                f"{whose}: {missing} is missing. X_val and y_val, held-out sequences "
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
        X_val = self._read(X_val, whose=f"{whose}'s X_val")
        if len(X_val) == 0:
            raise ValueError(f"{whose}: X_val holds no sequences. Leave it out.")
        return X_val, self._read_target(y_val, X_val, whose=f"{whose}'s y_val")

    def _checkpoint(self, X, y, weights, held_out, goes_on):
        if self.checkpoint is None:
            return None
        from ._checkpoint import checkpoint_of

        return checkpoint_of(self, X, y, weights, held_out, goes_on=goes_on)

    def _train(self, X, y, weights, held_out, epochs, checkpoint=None, *, new):
        from ._fitting import train_estimator

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
        from ._network import DynamicMetaNet, WeightedLoss

        return DynamicMetaNet, WeightedLoss

    def _network_parameters(self):
        """Return the parameters that not all kinds of networks have."""
        return {"encoder": self.encoder, "pairs": self._reads_pairs}

    def _valid_score(self):
        """Return the callback that writes the held-out score into the history."""
        from ._training import ValidAccuracy

        return ValidAccuracy()

    def _read_target(self, y, X, *, whose):
        return check_target(y, len(X), whose=whose)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # With such a source there need be no other before it.
        tags.input_tags.string = bool(self.trainable)
        return tags
