"""Base class of the Dynamic* estimators: parameters, options and `fit`.

torch is imported inside functions, because only estimators that are fitted need it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core._errors import prefix_input_errors, short_repr
from .._core._estimators import (
    NamedEstimatorsMixin,
    fit_context,
    fit_task,
    is_integer,
)
from .._core._sample_weights import check_sample_weight
from .._core._sklearn import (
    COUNT,
    NATURAL,
    NONNEGATIVE,
    POSITIVE,
    SHARE,
    CallbackSupportMixin,
    Interval,
    InvalidParameterError,
    StrOptions,
    VisualBlock,
    validate_parameter_constraints,
    with_callbacks,
)
from .._targets import (
    check_groups,
    check_target,
    check_two_classes,
    make_target,
    warn_of_rare_classes,
)
from ..sequences import EmbeddedInputMixin, SequencePairs
from ..sequences._api import equal_rows
from ._inputs import (
    PreparedSources,
    check_dims,
    read_fit_input,
    read_fitted_input,
    tokens_and_blocks,
    trainable_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from .._core._typing import RandomState, Tags
    from ._inputs import Input

Attention: TypeAlias = Literal["word", "context", "task", "uniform"]
Encoder: TypeAlias = Literal["conv", "bilstm-max", "gru", "mean", "max"]
ClassWeight: TypeAlias = (
    dict[Any, float] | list[dict[Any, float]] | Literal["balanced"] | None
)

_AUTO = StrOptions({"auto"})
_OPTION_CONSTRAINTS = {
    "mixer": [StrOptions({"standardized", "published"})],
    "gate": [StrOptions({"softmax", "sigmoid"})],
    "activation": [StrOptions({"relu"}), None],
    "layer_norm": ["boolean"],
    "mix_penalty": [NONNEGATIVE],
    "conv_widths": [tuple, list],
    "encoder_dropout": [SHARE],
    "decoder": [StrOptions({"crf", "softmax"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [COUNT],
    "monitor": [StrOptions({"loss", "score"})],
    "lr_factor": [Interval(Real, 0, 1, closed="neither")],
    "lr_patience": [NATURAL],
    "weight_decay": [NONNEGATIVE],
    "gradient_clip": [POSITIVE, None],
    "label_smoothing": [SHARE],
    "linear_share": [SHARE, _AUTO],
    "dtype": [StrOptions({"float32", "bfloat16"})],
}

# Chosen on development parts by `benchmarks/dynamic_defaults.py`.
MAX_EPOCHS, STEPS_PER_OUTPUT = 100, 16
MIN_BATCH_SIZE, MAX_BATCH_SIZE = 32, 256
# With more rows, the batch size grows with the square root of the number of rows.
ROWS_OF_SMALL_BATCHES = 2500


class BaseDynamicMeta(EmbeddedInputMixin, CallbackSupportMixin, NamedEstimatorsMixin):
    """Train a mixer of sources, an encoder and a head on y.

    The parameters and attributes below are those of all subclasses: `inherit_docs` adds
    them to their docstrings, with the defaults of their signatures. A subclass may
    define

    - ``_target_kind``, the kind of y for `check_target` and `make_target`; or its own
      ``_read_target(y, X)``, which validates y, and ``_make_target(y, weights)``, which
      returns its `Target`, without the rows of weight 0;
    - ``_torch_modules()`` and ``_held_out_score(valid_set)``, with another network,
      loss and score;
    - ``_network_options`` and ``_train_options``, the keys of these parameters and
      their defaults;
    - ``_n_steps`` and ``_min_epochs``, the least number of steps and of epochs with
      ``max_epochs="auto"`` and without a held-out part;
    - an ``__init__`` with more parameters or other defaults.

    Parameters
    ----------
    attention : {"word", "context", "task", "uniform"}, default="word"
        What the weight of a source depends on. "word": the word (DME). "context": the
        sequence, read by a small BiLSTM (CDME). "task": nothing, one weight per source
        and a factor gamma (ELMo's scalar mix). "uniform": no weights, a plain sum. With
        500 rows, accuracies of DME, CDME and the plain sum are 78.9, 79.9 and 79.8 %;
        CDME takes 1.1 to 1.7 times as long.
    trainable : trainable source, or list of (str, source), default=None
        Sources whose own weights are trained too, at their own learning rates, in
        addition to the blocks of X or alone. `TrainableTokens` learns a vector per
        token or n-gram, `TrainableCharacters` word vectors from characters;
        `TrainableTransformer` wraps a `TransformerEmbedding`. None is
        ``TrainableTokens()`` if X has texts, token lists or TokenSequences instead of
        blocks, with `TrainablePositions` if 49 in 50 of them have the same length.
    projection_dim : int or None, default=256
        Dimension that all sources are projected to; 32 to 64 suffice for a few thousand
        short texts. 128 with an `encoder_dim` of 100 takes 12 s instead of 21 and costs
        .5 points of accuracy. None mixes the vectors without projection; their
        dimensions must then be equal.
    encoder : {"conv", "bilstm-max", "gru", "mean", "max"}, default="conv"
        Encodes the mixed vectors of a sequence as one vector. "conv": the maximum and
        the mean over the tokens of their vectors and of filters that read a token and
        its neighbors. "bilstm-max": a bidirectional LSTM with max pooling over time.
        "gru": the last state of a GRU. "mean" and "max" ignore the order and take half
        of the time of "conv"; "conv" gains .4, .8 and .5 points over "max" with 250,
        1,000 and 3,000 rows. "mean" and "max" skip tokens that no source knows, as
        `Pooling` does. The other encoders read such tokens as zeros. A sequence without
        known tokens gives zeros.
    encoder_dim : int or tuple of int, default=128
        Number of filters of each width, or size of the recurrent layer (one direction).
        A tuple has the sizes of stacked layers.
    hidden_dims : tuple of int, default=(512, 512)
        Sizes of the head's hidden layers; empty for a linear head. One layer is a tenth
        faster and changes the accuracy by +.3 ± .4 points.
    embedding_dropout : float, default=0.2
        Dropout on the mixed vectors; .5 changes the accuracy by less than .5 points.
    head_dropout : float, default=0.5
        Dropout in the head: on hidden layers, and on its input with ``encoder="conv"``.
    network_options : dict or None, default=None
        Further options of the network; missing keys have their defaults:

        - ``mixer`` : {"standardized", "published"}, default="standardized".
          "standardized" subtracts the mean of each dimension of a source and divides by
          its standard deviation, both over the distinct words of the training fold that
          the source knows, and with "word" and "context" weights each dimension of the
          projected vectors separately: a weight is a vector instead of a scalar.
          Trainable sources are not standardized. "published" does neither, as in [1]_.
        - ``gate`` : {"softmax", "sigmoid"}, default="softmax". Weights sum to 1 over
          the sources that know the word, or are independent.
        - ``activation`` : {"relu"} or None, default="relu". Applied to the mixed
          vectors.
        - ``layer_norm`` : bool, default=False. Normalize the projected vector of each
          word and source to mean 0 and variance 1 before weighting, so that sources
          with longer vectors do not dominate.
        - ``mix_penalty`` : float, default=0.0. Regularization of ``attention="task"``
          towards equal weights: lambda in the penalty lambda * abs(s)^2 on the scores
          of the softmax. With 0.001 weights can differ, with 1 they are close to the
          mean. Ignored by other attentions.
        - ``conv_widths`` : tuple of int, default=(3, 5). How many tokens the filters of
          ``encoder="conv"`` read. They are centered at each token of the sequence; even
          widths read one token more after it than before it. Neighbors beyond the ends
          of the sequence are zeros.
        - ``encoder_dropout`` : float, default=0.0. Dropout on the input of
          convolutional or recurrent layers.
        - ``decoder`` : {"crf", "softmax"}, default="crf". For taggers. Whether scores
          of adjacent tags are learned, or each token is classified on its own.
    lr : float, default=0.001
        Learning rate of Adam; .002 costs about 1 point with 250 and 1,000 rows.
    batch_size : int or "auto", default="auto"
        Approximate number of sequences per step. A batch has sequences of similar
        length. "auto" is 32 for up to 2,500 sequences or with trainable networks, and
        otherwise ``32 * sqrt(n / 2500)``, up to 256.
    max_epochs : int or "auto", default="auto"
        Maximum number of passes over the data. "auto" is 100 with early stopping.
        Without it, training takes about 400 steps, or 16 steps per class if that is
        more, but at least 5 epochs.
    early_stopping : bool, default=False
        Hold out a part of the data, stratified by class, and restore the weights of the
        epoch with the smallest loss on it; ``fit`` also accepts `X_val`. False trains
        on all data for `max_epochs`, while the learning rate falls linearly to 0, which
        gains 3.6 and .3 points of accuracy with 250 and 1,000 rows.
    train_options : dict or None, default=None
        Further options of training; missing keys have their defaults:

        - ``validation_fraction`` : float, default=0.1. Fraction of the data to hold out
          for early stopping.
        - ``n_iter_no_change`` : int, default=10. Epochs without improvement before
          early stopping ends training.
        - ``monitor`` : {"loss", "score"}, default="loss". What early stopping and the
          learning rate follow on the held-out part: the loss, or the accuracy, which
          says little where one class is frequent. With a `scheme`, the score of a
          tagger is the F1 of spans, which stays near 0 for many epochs of few
          sentences. Numbers and label sets have no score.
        - ``lr_factor`` : float, default=0.5. Multiplies the learning rate after
          ``lr_patience`` epochs without improvement.
        - ``lr_patience`` : int, default=3. Epochs without improvement before
          the learning rate is reduced.
        - ``weight_decay`` : float or "auto". L2 penalty of Adam. The default is "auto"
          for classifiers and regressors, which grows as a linear model explains less of
          y (see the Notes of `DynamicMetaClassifier`). Other estimators have 0.0 and do
          not accept "auto".
        - ``linear_share`` : float or "auto", default="auto". For classifiers and
          regressors. Share of a linear model of mean vectors and n-grams in the
          outputs; 0 is the network alone. "auto" grows as less of y is explained and as
          n-grams add more, and is 0.4 without vectors: see the same Notes.
        - ``gradient_clip`` : float or None, default=5.0. Largest norm of the
          gradient.
        - ``label_smoothing`` : float, default=0.01. For classifiers. Share of the
          target that is spread evenly over the labels, so that probabilities of nets
          with few rows are less extreme. For label sets, half of it is added to each
          label: the targets are 0.005 and 0.995.
        - ``dtype`` : {"float32", "bfloat16"}, default="float32". "bfloat16" computes
          matrix products in mixed precision, 1.3 to 1.7 times as fast on a CPU with
          instructions for it; weights stay float32.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weight of each label in the loss and in the held-out score; labels that are not
        named have weight 1, and "balanced" gives rare labels larger weights. For label
        sets a list with one dict per column; the weights of a sequence are multiplied.
        Must be None if y holds numbers.
    device : str, default="auto"
        "auto" uses a GPU if torch finds one; otherwise a torch device name. "cuda:auto"
        gives each process of joblib a GPU in turn.
    callbacks : list of skorch callbacks, default=None
        Additional callbacks, or (name, callback) pairs. A skorch ``LRScheduler``
        replaces the linear decrease of the learning rate. scikit-learn's own callbacks
        are set with ``set_callbacks``.
    random_state : int, RandomState or None, default=None
        Seeds weights, batches, dropout and the held-out part.
    verbose : int, default=0
        1 prints a row per epoch.

    Attributes
    ----------
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    layer_weights_ : dict of str to float
        Weight of each layer or source with ``attention="task"``; they sum to 1 with the
        softmax gate. For other attentions see `attention_weights`.
    gamma_ : float
        Factor of the scalar mix with ``attention="task"``.
    trained_ : dict of str to torch Module
        The networks of `trainable`, by the names of the sources ("transformer" for a
        single transformer, which has ``save(folder)``).
    net_ : skorch.NeuralNet
        The trained net. ``net_.module_.mixer`` has the projections and the attention.
    history_ : skorch History
        One record per epoch: losses, held-out score, duration.
    n_iter_ : int
        Number of epochs trained.
    classes_ : ndarray of shape (n_classes,)
        Only if y holds labels.
    """

    _named_estimators = "trainable"
    _parameter_constraints: dict = {
        "attention": [StrOptions(set(get_args(Attention)))],
        "trainable": "no_validation",
        "projection_dim": [COUNT, None],
        "encoder": [StrOptions(set(get_args(Encoder)))],
        "encoder_dim": [COUNT, tuple, list],
        "hidden_dims": [tuple, list],
        "embedding_dropout": [SHARE],
        "head_dropout": [SHARE],
        "network_options": [dict, None],
        "lr": [POSITIVE],
        "batch_size": [COUNT, StrOptions({"auto"})],
        "max_epochs": [COUNT, StrOptions({"auto"})],
        "early_stopping": ["boolean"],
        "train_options": [dict, None],
        "class_weight": [StrOptions({"balanced"}), dict, list, None],
        "device": [str],
        "callbacks": [list, tuple, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _network_options: dict[str, Any] = {
        "mixer": "standardized",
        "gate": "softmax",
        "activation": "relu",
        "layer_norm": False,
        "mix_penalty": 0.0,
        "conv_widths": (3, 5),
        "encoder_dropout": 0.0,
    }
    _train_options: dict[str, Any] = {
        "monitor": "loss",
        "validation_fraction": 0.1,
        "n_iter_no_change": 10,
        "lr_factor": 0.5,
        "lr_patience": 3,
        "weight_decay": 0.0,
        "gradient_clip": 5.0,
        "dtype": "float32",
    }
    _target_kind = "any"
    _n_steps, _min_epochs = 400, 5  # from `benchmarks/dynamic_defaults.py`

    # Subclasses with other parameters repeat this signature: scikit-learn, the docs,
    # editors and type checkers read names and defaults from it.
    def __init__(
        self,
        attention: Attention = "word",
        *,
        trainable: Any = None,
        projection_dim: int | None = 256,
        encoder: Encoder = "conv",
        encoder_dim: int | Sequence[int] = 128,
        hidden_dims: Sequence[int] = (512, 512),
        embedding_dropout: float = 0.2,
        head_dropout: float = 0.5,
        network_options: dict[str, Any] | None = None,
        lr: float = 1e-3,
        batch_size: int | Literal["auto"] = "auto",
        max_epochs: int | Literal["auto"] = "auto",
        early_stopping: bool = False,
        train_options: dict[str, Any] | None = None,
        class_weight: ClassWeight = None,
        device: str = "auto",
        callbacks: Sequence[Any] | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.attention = attention
        self.trainable = trainable
        self.projection_dim = projection_dim
        self.encoder = encoder
        self.encoder_dim = encoder_dim
        self.hidden_dims = hidden_dims
        self.embedding_dropout = embedding_dropout
        self.head_dropout = head_dropout
        self.network_options = network_options
        self.lr = lr
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.train_options = train_options
        self.class_weight = class_weight
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context
    @with_callbacks
    def fit(
        self,
        X: Input,
        y: ArrayLike | Tags | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Input | None = None,
        y_val: ArrayLike | Tags | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on labeled sequences.

        Unless `early_stopping` is False or `X_val` is given, a part of the sequences is
        held out to find the best epoch.

        Parameters
        ----------
        X : EmbeddedSequences of shape (n_sequences,)
            With the blocks of the sources to combine, or SequencePairs of them. Without
            such sources: texts, token lists, TokenSequences or SequencePairs of them,
            as `PairEncoder` of a `Tokenizer` returns. Vectors of tokens are then
            learned, unless there are other trainable sources.
        y : array-like of shape (n_sequences,) or (n_sequences, n_outputs)
            Labels, an indicator matrix of labels, or numbers; for a tagger a list of
            tags per sequence.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence in the loss and in the held-out score. Sequences of
            weight 0 are ignored, including their words and classes.
        X_val : sequences or pairs, as X, default=None
            Held-out sequences for early stopping, instead of a part of X and
            regardless of `early_stopping`.
        y_val : array-like, default=None
            Targets of `X_val`. Labels that are not in y count as wrong, with a warning,
            and have no loss; at least one label must be in y.
        groups : array-like of shape (n_sequences,), default=None
            All sequences of a group are in the training part, or all are in the
            held-out part. None groups equal sequences, and pairs that share a text.

        Returns
        -------
        estimator instance
            The trained estimator.

        Notes
        -----
        A keyboard interrupt ends training as early stopping does: with the best weights
        so far. If `fit` fails, the estimator remains as it was before.
        """
        from .._training._device import resolve_device
        from ._batches import count_batches
        from ._skorch_net import explained_memory_errors, make_net, train

        # The training data: sources, targets, and the weight of each row.
        X, y, weights, groups = self._read_rows(X, y, sample_weight, groups)
        self._read_sources(X)
        self._target = self._make_target(y, weights)
        if self._target.kind == "classes":
            warn_of_rare_classes(y)
        if self._target.classes is not None:
            self.classes_ = self._target.classes
        codes = self._target.encode(y)
        weights = self._target.loss_weights(codes, weights, self.class_weight)
        data = X, codes, weights
        # Afterwards a tagger's target also knows the tags that only y_val has, which
        # the held-out score needs.
        held_out = self._read_held_out(X_val, y_val)

        # The settings: device, data sets, batch size, number of epochs.
        device = resolve_device(self.device)
        random = check_random_state(self.random_state)
        train_options = self._options("train_options")
        with explained_memory_errors(self):
            train_set, valid_set = self._data_sets(
                data, held_out, groups, device, random
            )
            batch_size = self._choose_batch_size(len(train_set))
            n_batches = count_batches(len(train_set), batch_size)
            n_epochs = self._choose_n_epochs(n_batches, valid_set)
            seed = random.randint(np.iinfo(np.int32).max)

            # A linear model is fitted first: it is added to the outputs of the network,
            # and the weight decay of the network depends on how much it explains of y.
            with fit_task(self, X, y, n_epochs) as context:
                self._linear_model, self.linear_share_, weight_decay = (
                    self._fit_linear_model(*data, train_set.rows)
                )
                modules, network, criterion = self._torch_modules()
                net = make_net(
                    modules,
                    network,
                    criterion,
                    device,
                    seed=seed,
                    callbacks=self.callbacks,
                    lr=self.lr,
                    batch_size=batch_size,
                    mix_penalty=self._options("network_options")["mix_penalty"],
                    autocast=train_options["dtype"] == "bfloat16",
                    optimizer__weight_decay=weight_decay,
                    verbose=self.verbose,
                )
                score = monitor = None
                if valid_set is not None:
                    score, monitor = self._held_out_score(valid_set), "valid_loss"
                    if train_options["monitor"] == "score" and score is not None:
                        monitor = score.name
                train(
                    net,
                    train_set,
                    valid_set,
                    n_epochs=n_epochs,
                    seed=seed,
                    context=context,
                    task={"estimator": self, "X": X, "y": y},
                    score=score,
                    monitor=monitor,
                    n_steps=n_epochs * n_batches,
                    train_options=train_options,
                )
                self.net_, self.history_ = net, net.history
                self.n_iter_ = len(self.history_)
        return self

    def _validate_params(self):
        """Validate the parameters, the sizes of layers, and the options."""
        if isinstance(self.attention, list | tuple) or hasattr(self.attention, "fit"):
            raise InvalidParameterError(
                f"attention={short_repr(self.attention)} is not a str. Sources are not "
                "a parameter: they are the blocks of X, as an EmbeddingUnion before "
                "this step returns them."
            )
        super()._validate_params()
        check_sizes(
            self.hidden_dims, "hidden_dims", "sizes of layers", may_be_empty=True
        )
        check_sizes(self.encoder_dim, "encoder_dim", "sizes of layers")
        self._check_options("train_options")
        self._check_options("network_options")
        widths = self._options("network_options")["conv_widths"]
        check_sizes(widths, "conv_widths", "numbers of tokens")

    def _read_rows(self, X, y, sample_weight, groups):
        """Return sequences, targets, weights and groups, without rows of weight 0."""
        X = read_fit_input(X)
        y = self._read_target(y, X)
        if len(X) == 0:
            raise ValueError(
                "Found array with 0 sample(s): at least one sequence is needed to "
                "learn from."
            )
        weights = check_sample_weight(sample_weight, X)
        groups = check_groups(groups, len(X))
        rows = np.flatnonzero(weights)
        if self._target_kind == "classes" and y.ndim == 1:
            check_two_classes(np.unique(y[rows]), len(rows), len(X) - len(rows))
        if len(rows) == len(X):
            return X, y, weights, groups
        groups = None if groups is None else groups[rows]
        return X[rows], y[rows], weights[rows], groups

    def _read_sources(self, X):
        """Set the attributes of the sources, which are blocks of X or trainable."""
        tokens, blocks = tokens_and_blocks(X)
        self._reads_pairs = isinstance(X, SequencePairs)
        self._trainable_sources = PreparedSources(trainable_pairs(self, X), tokens)
        self.dims_in_ = {block.name: block.dim for block in blocks}
        layer_norm = self._options("network_options")["layer_norm"]
        sources = self._trainable_sources
        check_dims(self.dims_in_, sources, self.projection_dim, layer_norm)

    def _data_sets(self, data, held_out, groups, device, random):
        """Return the data set to train on, and the held-out one or None.

        `data` and `held_out` are tuples of sequences, encoded targets and weights;
        `held_out` and `groups` may be None.
        """
        train_set, valid_set = self._data_set(*data, device), None
        if held_out is not None:
            valid_set = self._data_set(*held_out, device)
        elif self.early_stopping:
            labels = self._target.strata(data[1])
            if groups is None:
                groups = equal_rows(data[0])
                if groups is not None and (groups == groups[0]).all():
                    groups = None  # vectors of equal sequences can differ
            fraction = self._options("train_options")["validation_fraction"]
            parts = split_rows(train_set.rows, labels, groups, fraction, random)
            if parts is not None:
                train_set, valid_set = [replace(train_set, rows=part) for part in parts]
        train_set = self._with_mean_weight(train_set, "training")
        if valid_set is not None:
            valid_set = self._with_mean_weight(valid_set, "held-out")
        return train_set, valid_set

    def _with_mean_weight(self, part, name):
        """Return a data set with its mean weight per row."""
        has_loss = self._target.has_loss(part.target[part.rows])
        total = np.sum(part.weights[part.rows] * has_loss, dtype=np.float64)
        if total == 0:
            raise ValueError(
                f"All weights of the {name} part are 0, so it has no loss: its labels "
                "have the class_weight 0, or y_val has only labels that are not in y. "
                "Pass other held-out data, a larger validation_fraction, or "
                "early_stopping=False."
            )
        return replace(part, mean_weight=total / len(part))

    def _data_set(self, X, codes, weights, device):
        """Return the `SequenceDataset` of the rows whose weight is not 0.

        If tokens have weights, it has all rows.
        """
        from ._batches import SequenceData, SequenceDataset

        per_token = self._target.per_token
        data = SequenceData(X, device, self._trainable_sources, per_token)
        rows = np.arange(len(X)) if per_token else np.flatnonzero(weights)
        return SequenceDataset(data, rows, codes, weights)

    def _choose_batch_size(self, n_rows):
        """Return the number of sequences per step of training.

        Large batches take less time per sequence, because they look up and project each
        distinct word once, but few sequences need many steps. The networks of trainable
        sources may need much memory per sequence.
        """
        if self.batch_size != "auto":
            return self.batch_size
        if not all(self._trainable_sources.are_tables):
            return MIN_BATCH_SIZE
        size = MIN_BATCH_SIZE * math.sqrt(n_rows / ROWS_OF_SMALL_BATCHES)
        return round(min(max(size, MIN_BATCH_SIZE), MAX_BATCH_SIZE))

    def _choose_n_epochs(self, n_batches, valid_set):
        """Return the number of epochs, or the maximum with a held-out part.

        Few rows give few batches per epoch, and a class among many is in few batches.
        """
        if self.max_epochs != "auto":
            return self.max_epochs
        if valid_set is not None:
            return MAX_EPOCHS
        n_steps = max(self._n_steps, STEPS_PER_OUTPUT * self._target.n_outputs)
        return max(self._min_epochs, math.ceil(n_steps / n_batches))

    def _fit_linear_model(self, X, codes, weights, rows):
        """Return the linear model or None, its share, and the weight decay."""
        from ._linear_model import LinearModel, weight_decay_alone

        options = self._options("train_options")
        share, decay = options.get("linear_share", 0.0), options["weight_decay"]
        # A linear model cannot read the input of trainable networks, whose weights must
        # not decay, and explains little of pairs.
        has_networks = not all(self._trainable_sources.are_tables)
        if has_networks or self._reads_pairs:
            if share not in (0, "auto"):
                raise ValueError(
                    f"linear_share={share!r} in train_options needs single sequences "
                    "and no trainable sources but TrainableTokens and "
                    "TrainablePositions. Leave it at 'auto' or 0."
                )
            return None, 0.0, 0.0 if decay == "auto" else decay
        data = X, codes, weights, rows, self._target
        if share == 0:
            return None, 0.0, weight_decay_alone(*data) if decay == "auto" else decay
        model = LinearModel(*data)
        share = model.share(self._target) if share == "auto" else share
        decay = model.weight_decay(self._target) if decay == "auto" else decay
        return model, share, decay

    def _torch_modules(self):
        """Return the classes of network and loss, and the parameters of each."""
        from ._network import DynamicMetaNet, WeightedLoss

        options = self._options("train_options")
        criterion = {"kind": self._target.loss}
        if "label_smoothing" in options:
            criterion["label_smoothing"] = options["label_smoothing"]
        network = {**self._network_parameters(), "pairs": self._reads_pairs}
        return (DynamicMetaNet, WeightedLoss), network, criterion

    def _network_parameters(self):
        """Return the parameters that all networks have."""
        options, trainable = self._options("network_options"), self._trainable_sources
        names = "projection_dim", "attention", "encoder", "embedding_dropout"
        of_mixer = "gate", "activation", "layer_norm", "mixer", "encoder_dropout"
        return {
            "sources": trainable,
            "dims": [*self.dims_in_.values(), *trainable.dims.values()],
            "n_outputs": self._target.n_outputs,
            "encoder_dims": tuple(np.atleast_1d(self.encoder_dim).tolist()),
            "conv_widths": tuple(options["conv_widths"]),
            "hidden_dims": tuple(self.hidden_dims),
            **{name: getattr(self, name) for name in (*names, "head_dropout")},
            **{name: options[name] for name in of_mixer},
        }

    def _held_out_score(self, valid_set):
        """Return the `HeldOutScore` of the held-out part, or None without a score."""
        from ._network import accuracy, count_right
        from ._skorch_net import HeldOutScore

        if self._target.score is None:
            return None
        return HeldOutScore(self._target.score, count_right, accuracy)

    def _options(self, name):
        """Return "network_options" or "train_options" with all defaults."""
        return {**getattr(self, f"_{name}"), **(getattr(self, name) or {})}

    def _check_options(self, name):
        """Raise unless the keys and values of these options are valid."""
        defaults, options = getattr(self, f"_{name}"), self._options(name)
        unknown = [key for key in options if key not in defaults]
        if unknown:
            raise ValueError(
                f"{name} has the unknown key {unknown[0]!r}. Allowed keys are "
                f"{sorted(defaults)}."
            )
        constraints = dict(_OPTION_CONSTRAINTS)
        if defaults.get("weight_decay") == "auto":
            constraints["weight_decay"] = [*constraints["weight_decay"], _AUTO]
        shown = dict(options)
        for key, value in options.items():
            if isinstance(value, bool) and key != "layer_norm":
                shown[key] = repr(value)  # a bool is a number in Python
        owner = f"{type(self).__name__}'s {name}"
        validate_parameter_constraints(constraints, shown, owner)

    def _read_held_out(self, X_val, y_val):
        """Return valid held-out sequences, targets and weights, or None."""
        if (X_val is None) != (y_val is None):
            missing = "X_val" if X_val is None else "y_val"
            raise ValueError(
                f"{missing} is missing. X_val and y_val, held-out sequences and their "
                "targets, must be passed together."
            )
        if X_val is None:
            return None
        with prefix_input_errors("X_val"):
            X_val = self._read_fitted(X_val)
        if len(X_val) == 0:
            raise ValueError("X_val holds no sequences. Leave it out.")
        with prefix_input_errors("y_val"):
            y_val = self._read_target(y_val, X_val)
            codes = self._target.encode_held_out(y_val)
            ones = np.ones(len(X_val))
            weights = self._target.loss_weights(codes, ones, self.class_weight)
        return X_val, codes, weights

    def _read_target(self, y, X):
        """Return y, validated, with one row per row of X."""
        return check_target(y, len(X), self._target_kind)

    def _make_target(self, y, weights):
        return make_target(y, self._target_kind, weights)

    def _read_fitted(self, X):
        """Return X as sequences that agree with the X of `fit`."""
        return read_fitted_input(X, self.dims_in_, self._reads_pairs)

    def _net_input(self, X, *, joins_pairs=True):
        """Return X as `SequenceData` on the device of the net.

        Rows are sequences. If X holds pairs, rows are the pairs with `joins_pairs`, and
        otherwise the first sides followed by the second sides.
        """
        check_is_fitted(self, "net_")
        import torch

        from ._batches import SequenceData

        X = self._read_fitted(X)
        if not joins_pairs and isinstance(X, SequencePairs):
            X = X.sequences
        device = torch.device(self.net_.device)
        return SequenceData(X, device, self._trainable_sources, self._target.per_token)

    def _decide(self, X):
        """Return decision values, (n_rows, n_outputs), in float32 for labels."""
        from ._predict import predict_rows

        check_is_fitted(self, "net_")
        X = self._read_fitted(X)
        data, net = self._net_input(X), self.net_
        outputs = predict_rows(net, data, net.module_, self._target.n_outputs)
        if self._linear_model is not None:
            linear = self._linear_model.outputs(X)
            share = self.linear_share_
            outputs = ((1 - share) * outputs + share * linear).astype(np.float32)
        return outputs * self._target.scale

    def attention_weights(self, X: Input) -> pd.DataFrame:
        """Return the weight of each source at each token.

        The network mixes sources with these weights. They show how much a source
        contributes to the outputs of the network, not how much it helps. Predictors
        add the outputs of a linear model with the share `linear_share_`. With
        ``attention="context"`` the weights of a word differ between sequences. With the
        default `mixer` they are means over the dimensions.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        pandas.DataFrame
            One row per token: ``sequence``, ``position``, ``token``, and one column per
            source with its weight, trainable sources last. With the softmax gate, the
            weights of a row sum to 1, or to 0 if no source knows the token. With
            ``attention="uniform"`` every known source has weight 1. If all sources are
            at sequence level there is one row per sequence, without ``position`` and
            ``token``. For pairs, ``sequence`` is the number of the pair, and a column
            ``side`` is "first" or "second".
        """
        from ._predict import attention_frame

        data = self._net_input(X, joins_pairs=False)
        names = self._source_names()
        return attention_frame(self.net_, data, names, pairs=self._reads_pairs)

    def _source_names(self):
        """Return the names of all sources, blocks of X first."""
        return [*self.dims_in_, *self._trainable_sources.dims]

    @property
    def trained_(self) -> dict[str, Any]:
        """The networks of the trainable sources by name, as torch modules.

        Empty without trainable sources. The network of a transformer has a method
        ``save(folder)``.
        """
        names = self._trainable_sources.names
        return dict(zip(names, self.net_.module_.trained, strict=True))

    @property
    def layer_weights_(self) -> dict[str, float]:
        """The scalar mix: the weight of each layer or source by name.

        Only with ``attention="task"``.
        """
        weights, _ = self._scalar_mix()
        return dict(zip(self._source_names(), weights, strict=True))

    @property
    def gamma_(self) -> float:
        """The factor of the scalar mix. Only with ``attention="task"``."""
        return self._scalar_mix()[1]

    def _scalar_mix(self):
        check_is_fitted(self, "net_")
        return self.net_.module_.mixer.scalar_mix()

    def _net_parts(self):
        """Return the net as plain values and tensors, for a saved file."""
        from ._skorch_net import net_parts

        return net_parts(self.net_)

    def _set_net(self, plain, tensors):
        """Restore the net from the output of `_net_parts`."""
        from ._skorch_net import restored_net

        modules, *_ = self._torch_modules()
        self.net_ = restored_net(modules, plain, tensors)
        self.history_ = self.net_.history

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")

    def _sk_visual_block_(self):
        """Return the HTML block, with the trainable sources side by side."""
        pairs = self.trainable
        if pairs is None:
            name, details = type(self).__name__, str(self)
            return VisualBlock("single", self, names=name, name_details=details)
        if not isinstance(pairs, list | tuple):
            pairs = [(f"trainable: {type(pairs).__name__}", pairs)]
        names, sources = zip(*pairs, strict=True)
        return VisualBlock("parallel", sources, names=names)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # A trainable source can read texts, without a source before the estimator.
        fitted_on_tokens = not getattr(self, "dims_in_", True)
        tags.input_tags.string = bool(self.trainable) or fitted_on_tokens
        return tags


def check_sizes(sizes, name, kind, *, may_be_empty=False):
    """Raise a ValueError unless sizes are positive integers, which `kind` describes."""
    sizes = sizes if isinstance(sizes, tuple | list) else [sizes]
    wrong = [s for s in sizes if not (is_integer(s) and s >= 1)]
    if wrong or not (sizes or may_be_empty):
        shown = repr(wrong[0]) if wrong else "no number"
        raise ValueError(f"{name} must be {kind}, integers of 1 or more; got {shown}.")


def split_rows(rows, labels, units, fraction, random):
    """Return the rows to train on and the held-out ones, or None if there are too few.

    Labels, (n_data,) or None, are kept in proportion if each part has room for every
    label. The only row of a label is in the training part. Rows of one unit, (n_data,)
    or None, are in one part.
    """
    every, alone = rows, rows[:0]
    if units is not None:  # divide the first rows of units, which the others follow
        rows = rows[np.sort(np.unique(units[rows], return_index=True)[1])]
    if labels is not None:
        labels = labels[rows]
        _, label, counts = np.unique(labels, return_inverse=True, return_counts=True)
        is_alone = counts[label] == 1
        if is_alone.all():
            labels = None
        else:
            alone, rows, labels = rows[is_alone], rows[~is_alone], labels[~is_alone]
    n_rows = len(rows)
    if n_rows < 2:
        return None
    size = min(max(1, round(fraction * n_rows)), n_rows - 1)
    if labels is not None and min(size, n_rows - size) < len(np.unique(labels)):
        labels = None
    from sklearn.model_selection import train_test_split  # slow to import

    train, held_out = train_test_split(
        rows, test_size=size, stratify=labels, random_state=random
    )
    parts = np.concatenate([train, alone]), held_out
    if units is None:
        return parts
    return [every[np.isin(units[every], units[part])] for part in parts]
