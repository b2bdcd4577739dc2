"""ElmoLanguageModel: train or fine-tune ELMo's bidirectional language model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ...._core._estimators import fit_context
from ...._core._sklearn import (
    COUNT,
    POSITIVE,
    SHARE,
    CallbackSupportMixin,
    StrOptions,
    with_callbacks,
)
from ...._core._typing import RandomState, StrPath, Texts
from ....sequences import SequencesInputMixin
from .._options import checked_options
from ._corpus import (
    make_vocabulary,
    read_corpus,
    read_counted_corpus,
    read_training_corpus,
)
from ._model_files import read_language_model, write_language_model

Corpus: TypeAlias = Texts | os.PathLike[str]
# A folder, or (options, weights) with or without the vocabulary.
Initial: TypeAlias = StrPath | Sequence[StrPath]


class ElmoLanguageModel(SequencesInputMixin, CallbackSupportMixin, BaseEstimator):
    """Train ELMo's bidirectional language model on a corpus, or fine-tune one.

    Use it when the published weights do not cover your language or domain. The files
    that `save` writes are loaded by `ElmoEmbedding`, and by AllenNLP, like published
    ones. With `initial`, training starts from such files, which lowers the perplexity
    on a new domain within a few epochs.

    Parameters
    ----------
    initial : str, path-like or tuple, default=None
        Model to start from: a folder written by `save`, or the files of any ELMo,
        (options, weights) or (options, weights, vocabulary), as paths or as the URLs
        that `ElmoEmbedding` takes. Its shapes replace `architecture`;
        its vocabulary and softmax are used if it has them. None starts from random
        weights.
    architecture : dict, default=None
        Shapes of the network; keys that are missing have their defaults.

        - ``projection_dim`` : int, default=128. Dimension of the output of each
          direction; a layer has twice as many.
        - ``cell_dim`` : int, default=512. Dimension of the LSTM cells.
        - ``n_layers`` : int, default=2. Number of LSTM layers per direction.
        - ``filters`` : sequence of (width, number), default=((1, 32), (2, 32), (3, 64),
          (4, 128)). Convolution filters over characters.
        - ``char_dim`` : int, default=16. Dimension of the character embeddings.
        - ``n_highway`` : int, default=1. Number of highway layers after the
          convolutions.
        - ``activation`` : {"relu", "tanh"}, default="relu". Activation of
          the convolutions.
        - ``skip_connections`` : bool, default=True. Whether layers after the first add
          their input to their output.
        - ``cell_clip``, ``proj_clip`` : float or None, default=3.0. Maximum absolute
          value of the cell state and of the hidden state; None for no limit.
        - ``max_characters`` : int, default=50. Maximum number of bytes read per word,
          including its two marks.
    min_count : int, default=1
        Minimum frequency of a word in the vocabulary of the softmax. Any word can be
        read.
    softmax : {"auto", "full", "adaptive"}, default="auto"
        Softmax over the vocabulary: "full", or "adaptive", which uses fewer dimensions
        for rare words [2]_. "auto" is "full" up to 4,000 words.
    dropout : float, default=0.1
        Dropout of the input of each LSTM layer, and of the output of the last.
    lr : float, default=2e-3
        Maximum learning rate of Adam, which warms up and then decays over all epochs.
        The norm of the gradient is clipped to 1.
    batch_size : int, default=64
        Number of rows read in parallel.
    n_steps : int, default=20
        Number of words per row and batch: gradients are truncated at this length.
    max_epochs : int, default=10
        Number of passes over the corpus.
    device : str, default="auto"
        "cpu", "cuda" or another torch device; "auto" uses a GPU if available.
    dtype : {"float32", "bfloat16"}, default="float32"
        Precision of matrix products in training. Weights, and losses of held-out text,
        are always float32.
    callbacks : list of skorch callbacks, default=None
        Callbacks, or (name, callback) pairs, called per batch and epoch. scikit-learn's
        own callbacks are set by ``set_callbacks``: each epoch is a task, and a scoring
        callback, such as ``ScoringMonitor(scoring={"score": score_of})`` with
        ``score_of(model, X, y)``, reads the corpus once more per epoch.
    random_state : int, RandomState instance or None, default=None
        Controls initial weights, dropout and the order of rows.
    verbose : int, default=0
        If positive, print a line per epoch.

    Attributes
    ----------
    vocabulary_ : list of str
        The words of the softmax: three marks, then words from most to least frequent.
    coverage_ : float
        Share of the words of the corpus that are in the vocabulary.
    n_words_ : int
        Number of words of the corpus.
    options_ : ElmoOptions
        Shapes of the network.
    net_ : skorch.NeuralNet
        The trained net.
    history_ : skorch.history.History
        One entry per epoch: ``train_perplexity``, ``train_forward`` and
        ``train_backward``, measured during training with dropout; the same with
        ``valid_`` if `X_val` was passed; ``lr``, the learning rate at the end of the
        epoch.
    n_iter_ : int
        Number of epochs trained.

    Raises
    ------
    FileNotFoundError
        If a file or folder does not exist.
    ValueError
        If the corpus has fewer than two different words, or a file is not UTF-8 (the
        message gives file and line).
    FloatingPointError
        If training diverges.

    Warns
    -----
    UserWarning
        Once per process, if words are longer than the model reads.

    See Also
    --------
    ElmoEmbedding : Embeds with the files that `save` writes.

    Notes
    -----
    The forward model predicts each word of a row and its end from the words before it;
    the backward model predicts each word and the beginning from the words after it.
    Perplexity is the exponential of the mean loss per word, of one direction or of
    both: ``exp((forward loss + backward loss) / 2)``. Words outside the vocabulary
    count as ``<UNK>``, so perplexities are comparable only for equal vocabularies.

    Rows are batched without padding; a row longer than `n_steps` continues in the next
    batch with its state, through which no gradient flows. Each row starts from a zero
    state, as in `ElmoEmbedding`. (bilm-tf carries the state over from the preceding
    row, which is unrelated once rows are shuffled.)

    Files are read line by line; only their distinct words are kept in memory. Rows of
    files are shuffled within a buffer of ten thousand.

    References
    ----------
    .. [1] Peters, Neumann, Iyyer, Gardner, Clark, Lee and Zettlemoyer (2018). Deep
       contextualized word representations. NAACL.
    .. [2] Grave, Joulin, Cisse, Grangier and Jegou (2017). Efficient softmax
       approximation for GPUs. ICML.

    Examples
    --------
    >>> import tempfile
    >>> from sk_metaembed import ElmoEmbedding, ElmoLanguageModel
    >>> texts = ["the cat sat on the mat", "the dog sat on the rug"] * 20
    >>> small = {"projection_dim": 8, "cell_dim": 16, "char_dim": 4}
    >>> model = ElmoLanguageModel(
    ...     architecture={**small, "filters": ((1, 8), (2, 8))},
    ...     batch_size=4, max_epochs=10, lr=0.05, random_state=0,
    ... )
    >>> _ = model.fit(texts)
    >>> bool(model.perplexity(texts) < 2 < model.perplexity(["mat the on sat cat the"]))
    True

    Log-likelihoods per row show unusual rows:

    >>> scores = model.score_samples(["the cat sat on the rug", "rug the on sat the"])
    >>> bool(scores[0] > scores[1])
    True

    Embed with the files of the model, or load it to score other text:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = model.save(folder)
    ...     block = ElmoEmbedding(*files).fit_transform(["the cat"]).blocks[-1]
    ...     loaded = ElmoLanguageModel.load(folder)
    >>> block.name, block.values.shape
    ('layer2', (2, 16))
    >>> bool(loaded.score(texts) == model.score(texts))
    True
    """

    _parameter_constraints: dict = {
        "initial": [str, os.PathLike, tuple, list, None],
        "architecture": [dict, None],
        "min_count": [COUNT],
        "softmax": [StrOptions({"auto", "full", "adaptive"})],
        "dropout": [SHARE],
        "lr": [POSITIVE],
        "batch_size": [COUNT],
        "n_steps": [COUNT],
        "max_epochs": [COUNT],
        "device": [str],
        "dtype": [StrOptions({"float32", "bfloat16"})],
        "callbacks": [list, tuple, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        initial: Initial | None = None,
        *,
        architecture: dict[str, Any] | None = None,
        min_count: int = 1,
        softmax: Literal["auto", "full", "adaptive"] = "auto",
        dropout: float = 0.1,
        lr: float = 2e-3,
        batch_size: int = 64,
        n_steps: int = 20,
        max_epochs: int = 10,
        device: str = "auto",
        dtype: Literal["float32", "bfloat16"] = "float32",
        callbacks: Sequence[Any] | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.initial = initial
        self.architecture = architecture
        self.min_count = min_count
        self.softmax = softmax
        self.dropout = dropout
        self.lr = lr
        self.batch_size = batch_size
        self.n_steps = n_steps
        self.max_epochs = max_epochs
        self.device = device
        self.dtype = dtype
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @fit_context
    @with_callbacks
    def fit(self, X: Corpus, y: object = None, *, X_val: Corpus | None = None) -> Self:
        """Train on a corpus.

        Reads the corpus once for its vocabulary, then once per epoch. A keyboard
        interrupt stops training and keeps the best weights so far, or the current ones
        without `X_val`.

        Parameters
        ----------
        X : path-like, TokenSequences, texts, token lists, or an iterable of them
            A path is a UTF-8 file with one row per line, or a folder of ``*.txt``;
            empty lines are skipped. An iterable that can be iterated over repeatedly
            is streamed; an iterator is kept in memory. Texts and lines are split at
            whitespace.
        y : ignored
            Not used.
        X_val : same type as X, default=None
            Held-out rows. Their perplexity is recorded per epoch, and the weights of
            the best epoch are kept.

        Returns
        -------
        ElmoLanguageModel
            The trained model.
        """
        from ...._training._nets import cloned_callbacks
        from ._training import train

        cloned_callbacks(self.callbacks)
        corpus, held_out = read_training_corpus(X), None
        if X_val is not None:
            held_out = read_counted_corpus(X_val)
            if not held_out.count.n_rows:
                raise ValueError(
                    "X_val has 0 rows. Pass at least one row, or no X_val."
                )
        train(self, self._new_net(corpus), (X, y), (corpus, held_out))
        return self

    def perplexity(
        self,
        X: Corpus,
        direction: Literal["both", "forward", "backward"] = "both",
    ) -> float:
        """Return the perplexity of text, `exp` of the mean loss per word.

        The perplexity is 1 if every word is predicted with certainty. See Notes of the
        class for when perplexities are comparable.

        Parameters
        ----------
        X : as for `fit`
            Rows of held-out text. The end of a row counts as a word.
        direction : {"both", "forward", "backward"}, default="both"
            Whether words are predicted from the words before or after them; "both"
            takes the mean of the two losses.

        Returns
        -------
        float
            The perplexity, at least 1.
        """
        from ._net import perplexities

        names = {"both": "perplexity", "forward": "forward", "backward": "backward"}
        if direction not in names:
            raise ValueError(
                f"direction must be one of {list(names)}; got {direction!r}."
            )
        losses, n_words = self._losses(X)
        if not len(n_words):
            raise ValueError("X has 0 rows; perplexity needs at least one sequence.")
        forward, backward = losses.sum(axis=1)
        return perplexities(forward, backward, n_words.sum())[names[direction]]

    def score_samples(self, X: Corpus) -> NDArray[np.float64]:
        """Return the log-likelihood of each row, the mean of both directions.

        Low values show rows that differ from the training corpus: another language,
        markup, generated text. Divide by the number of words to compare rows of
        different lengths.

        Parameters
        ----------
        X : as for `fit`
            Rows.

        Returns
        -------
        float64 ndarray of shape (n_rows,)
            Sums over the words and the end of each row.
        """
        return -self._losses(X)[0].mean(axis=0)

    def score(self, X: Corpus, y: object = None) -> float:
        """Return the negative perplexity, so that higher is better.

        Used by grid searches and learning curves.

        Parameters
        ----------
        X : as for `fit`
            Rows.
        y : ignored
            Not used.

        Returns
        -------
        float
            ``-perplexity(X)``.
        """
        return -self.perplexity(X)

    def save(self, folder: StrPath) -> tuple[Path, Path]:
        """Write the model to files for `ElmoEmbedding`, AllenNLP and `load`.

        Parameters
        ----------
        folder : str or path-like
            Created if missing. Receives options.json and weights.hdf5, in AllenNLP's
            layout, and vocab.txt; the softmax is stored in the HDF5 file.

        Returns
        -------
        tuple of Path
            The files options.json and weights.hdf5, the arguments of `ElmoEmbedding`.

        Notes
        -----
        AllenNLP reads only models with skip connections and 50 characters per word;
        bilm-tf only models with more cells and filters than `projection_dim`.
        """
        check_is_fitted(self, "net_")
        return write_language_model(
            folder, self.options_, self.net_.module_, self.vocabulary_
        )

    @classmethod
    def load(cls, folder: Initial, **params: Any) -> Self:
        """Return the model in a folder, for perplexities.

        To continue training, pass the folder as `initial`. To embed with such files,
        pass them to `ElmoEmbedding`, which needs no vocabulary.

        Parameters
        ----------
        folder : str, path-like or (options, weights, vocabulary)
            A folder written by `save`, or the files, as paths or URLs.
        **params : dict
            Further parameters of the model.

        Returns
        -------
        ElmoLanguageModel
            A fitted model. Its `initial` is `folder`, so `fit` also starts from it.
        """
        model = cls(folder, **params)
        model._validate_params()
        model.net_ = model._new_net()
        model.history_, model.n_iter_ = model.net_.history, 0
        return model

    def _new_net(self, corpus=None):
        """Return an untrained net, with the weights of the initial model if any.

        Options and vocabulary come from the initial model if it has them. Without a
        corpus, it must have them.
        """
        from ._training import new_net

        saved = None if self.initial is None else read_language_model(self.initial)
        architecture = self.architecture or {}
        self.options_ = saved.options if saved else checked_options(architecture)
        if saved and saved.words:
            self.vocabulary_ = saved.words
        elif corpus is not None:
            self.vocabulary_ = make_vocabulary(corpus.count, self.min_count)
        else:
            raise ValueError(
                f"{self.initial} has no vocabulary with a softmax, so the model "
                "cannot predict words. Call fit with initial= to train one."
            )
        self._random = check_random_state(self.random_state)
        return new_net(self, saved)

    def _losses(self, X):
        from ._training import row_losses

        check_is_fitted(self, "net_")
        return row_losses(self, read_corpus(X), self.batch_size)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")

    def _net_parts(self):
        """Return the net as plain values and tensors."""
        from ._training import net_parts

        return net_parts(self)

    def _set_net(self, plain, tensors):
        """Restore the net from the output of `_net_parts`."""
        from ._training import net_of

        self.net_ = net_of(self, plain, tensors)
        self.history_ = self.net_.history
