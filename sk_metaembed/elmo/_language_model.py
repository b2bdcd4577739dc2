"""ElmoLanguageModel: trains ELMo's bidirectional language model, or fine-tunes it.

What an ElmoLanguageModel does: fit, perplexities, files.
"""

import os
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._core._decorators import fit_context
from .._training._parameters import check_callbacks
from ..sequences._mixins import SequencesInputMixin
from ._corpus import (
    RowsCorpus,
    Vocabulary,
    check_count,
    count_words,
    make_vocabulary,
    read_corpus,
)
from ._model_files import read_language_model, write_language_model
from ._options import options_of

_WHOSE = "ElmoLanguageModel"
# What may differ between a fit that was interrupted and the one that goes on.
_FREE = ("device", "verbose", "checkpoint", "checkpoint_every", "callbacks")


class BaseLanguageModel(SequencesInputMixin, CallbackSupportMixin, BaseEstimator):
    """The methods of `ElmoLanguageModel`, which has the parameters."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, X_val=None):
        """Train on a corpus.

        The corpus is gone through once for its vocabulary, then once an epoch. With
        `initial` training begins from that model's weights; with `checkpoint` it goes
        on where a killed one ended.

        Parameters
        ----------
        X : path-like, TokenSequences, texts, token lists, or an iterable of them
            The path of a file of UTF-8, a line a row, or of a folder of ``*.txt``,
            empty lines left out; a collection; an iterable that can be gone through
            again, which is streamed; or one that cannot, which is kept. Texts and
            lines are split where there is space.
        y : ignored
            Nothing is learned from labels.
        X_val : as X, default=None
            Held-out rows: their perplexity is recorded each epoch, and the weights of
            the best epoch are kept.

        Returns
        -------
        ElmoLanguageModel
            The trained model.

        Notes
        -----
        An interrupt from the keyboard ends training: with the best weights so far, or
        where nothing is held out with those of the moment.
        """
        check_callbacks(self.callbacks, caller=_WHOSE)
        corpora, counts = _read(X, X_val)
        saved = None if self.initial is None else read_language_model(self.initial)
        self.__dict__.pop("net_", None)
        self._random = check_random_state(self.random_state)
        self._begin(counts[0], saved)
        checkpoint = None
        if self.checkpoint is not None:
            checkpoint = self.checkpoint, self._told(counts, saved)
        net, given = self._new_net(saved), (X, y)
        return self._go_on(
            net, given, corpora, counts, checkpoint, self.max_epochs, self.schedule
        )

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Train for one more epoch, at a learning rate that stays.

        For text that comes in parts. Words that the first part lacks are read, by their
        characters, but not predicted; `initial` brings a vocabulary of its own.

        Parameters
        ----------
        X : path-like, TokenSequences, texts, token lists, or an iterable of them
            As for `fit`. The first call decides on the vocabulary.
        y : ignored
            Nothing is learned from labels.

        Returns
        -------
        ElmoLanguageModel
            The trained model.
        """
        check_callbacks(self.callbacks, caller=_WHOSE)
        is_new = not hasattr(self, "net_")
        corpora, counts = _read(X, None, least=2 if is_new else 1)
        if is_new:
            saved = None if self.initial is None else read_language_model(self.initial)
            self._random = check_random_state(self.random_state)
            self._begin(counts[0], saved)
            self.net_ = self._new_net(saved)
        return self._go_on(self.net_, (X, y), corpora, counts, None, 1, "constant")

    def perplexity(self, X, direction="both"):
        """Return how many words the model hesitates between, on average.

        The usual figure of how well a model knows a kind of text, for text that it was
        not trained on. It compares only between models of the same vocabulary.

        Parameters
        ----------
        X : as for `fit`
            Rows, of which the ends count as words.
        direction : {"both", "forward", "backward"}, default="both"
            Whether words are predicted from those before or behind; "both" takes the
            mean of the losses.

        Returns
        -------
        float
            1 where every word is foreseen; see Notes of the class.
        """
        rows = {"both": [0, 1], "forward": [0], "backward": [1]}
        if direction not in rows:
            raise ValueError(
                f"{_WHOSE}: direction must be one of {list(rows)}, got {direction!r}."
            )
        losses, n_words = self._losses(X)
        if not len(n_words):
            raise ValueError(
                f"{_WHOSE}: perplexity of nothing: X has 0 rows. Give at least one."
            )
        return float(np.exp(losses[rows[direction]].mean(axis=0).sum() / n_words.sum()))

    def score_samples(self, X):
        """Return each row's log-likelihood, the mean of both directions.

        It shows which rows of a corpus are unlike the rest: another language, markup,
        text by machine. Divide by the number of words to compare rows of different
        length.

        Parameters
        ----------
        X : as for `fit`
            Rows.

        Returns
        -------
        float64 ndarray of shape (n_rows,)
            Summed over words and the row's end, so that longer rows have less.
        """
        return -self._losses(X)[0].mean(axis=0)

    def score(self, X, y=None):
        """Return the negative perplexity, so that more is better.

        Searches and learning curves compare candidates by it; no labels are needed.

        Parameters
        ----------
        X : as for `fit`
            Rows.
        y : ignored
            There are no labels.

        Returns
        -------
        float
            Minus `perplexity`.
        """
        return -self.perplexity(X)

    def save(self, folder):
        """Write the model where `ElmoEmbedding`, AllenNLP and `load` can read it.

        These files are the model as others know it. What only training needs, such as
        the optimiser's state, is not among them: pickle the estimator to go on as
        before.

        Parameters
        ----------
        folder : str or path-like
            Made if it is not there. It gets options.json and weights.hdf5, in
            AllenNLP's layout, and vocab.txt; the softmax goes along in the HDF5 file.

        Returns
        -------
        tuple of Path
            What `ElmoEmbedding` takes.

        Notes
        -----
        AllenNLP takes models with skip connections and 50 characters a word alone;
        bilm-tf those whose cells and filters are more than `projection_dim`.
        """
        check_is_fitted(self, "net_")
        return write_language_model(
            folder, self.options_, self.net_.module_, self.vocabulary_
        )

    @classmethod
    def load(cls, folder, **params):
        """Return the model in a folder, ready to be asked for perplexities.

        For models that were trained elsewhere or before. To embed with such files, give
        them to `ElmoEmbedding` instead, which needs no vocabulary.

        Parameters
        ----------
        folder : str, path-like or (options, weights, vocabulary)
            That `save` wrote, with its vocabulary; or the files, as paths or URLs.
        **params : dict
            Further parameters of the model, for `partial_fit`.

        Returns
        -------
        ElmoLanguageModel
            Fitted. Its `initial` is the folder: `fit` begins from it, too.
        """
        model = cls(folder, **params)
        model._validate_params()
        saved = read_language_model(folder)
        if saved.words is None:
            raise ValueError(
                f"{_WHOSE}: {folder} has no vocabulary with a softmax, so it predicts "
                "nothing yet. Fit with initial= to learn one on a corpus."
            )
        model._random = check_random_state(model.random_state)
        model._begin(None, saved)
        model.net_ = model._new_net(saved)
        model.history_, model.n_iter_ = model.net_.history, 0
        return model

    def _begin(self, count, saved):
        """Decide on shapes and vocabulary."""
        options = options_of(self, caller=_WHOSE) if saved is None else saved.options
        if saved is None or saved.words is None:
            kept = make_vocabulary(
                count, self.min_count, self.max_vocabulary, caller=_WHOSE
            )
        else:
            kept = Vocabulary.of(saved.words)
        self.options_, self._vocabulary, self.vocabulary_ = options, kept, kept.words

    def _new_net(self, saved):
        from ._lm_training import new_net

        return new_net(self, self._seed(), saved)

    def _seed(self):
        return int(self._random.randint(np.iinfo(np.int32).max))

    def _go_on(self, net, given, corpora, counts, checkpoint, epochs, schedule):
        """Train a net, and tell of it."""
        from .._training._callbacks import FitTaskReporter
        from ._lm_training import train

        X, y = given
        if isinstance(corpora[0], RowsCorpus):
            X = corpora[0].tokens  # what was given may be at its end
        # ScoringMonitor asks for no score where y is None.
        task = {"estimator": self, "X": X, "y": () if y is None else y}
        context = self._init_callback_context(max_subtasks=epochs)
        context.call_on_fit_task_begin(**task)
        tasks = FitTaskReporter(context=context, **task)
        seed = self._seed()
        try:
            train(self, net, corpora, counts, seed, epochs, checkpoint, schedule, tasks)
        except FloatingPointError:
            self.__dict__.pop("net_", None)  # what it holds is no number any more
            raise
        known = self._vocabulary.numbers
        words = counts[0].words
        self.n_words_ = counts[0].n_words
        self.coverage_ = sum(n for w, n in words.items() if w in known) / self.n_words_
        self.net_, self.history_, self.n_iter_ = net, net.history, len(net.history)
        context.call_on_fit_task_end(**task, reconstruction_attributes=dict)
        return self

    def _told(self, counts, saved):
        """Return what tells this fit from another, for its checkpoint."""
        params = {k: v for k, v in self.get_params().items() if k not in _FREE}
        if not isinstance(self.random_state, Integral):
            del params["random_state"]
        told = {name: repr(value) for name, value in params.items()}
        told["corpus"] = str([count and count.checksum for count in counts])
        if saved is not None:
            told["initial model"] = str(saved.checksum)
        return told

    def _losses(self, X):
        from ._lm_training import row_losses

        check_is_fitted(self, "net_")
        return row_losses(self, read_corpus(X, caller=_WHOSE), self.batch_size)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")


def _read(X, X_val, least=2):
    """Return the corpora and what they count, the second None where there is none."""
    corpora = [None if x is None else read_corpus(x, caller=_WHOSE) for x in (X_val,)]
    corpora.insert(0, read_corpus(X, caller=_WHOSE))
    counts = [corpus and count_words(corpus) for corpus in corpora]
    check_count(counts[0], caller=_WHOSE, least=least)
    if counts[1] is not None and not counts[1].n_rows:
        raise ValueError(f"{_WHOSE}: X_val holds no rows. Leave it out.")
    return corpora, counts


_COUNT = Interval(Integral, 1, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")


class ElmoLanguageModel(BaseLanguageModel):
    """Train ELMo's bidirectional language model on a corpus, or fine-tune one.

    Take it where the published weights do not know the language or the domain at hand:
    logs, another tongue, a special field. What `save` writes is loaded by
    `ElmoEmbedding`, and by AllenNLP, as if it had been downloaded. With `initial` it
    begins from such files, and its perplexity on the new domain falls within few
    epochs.

    Parameters
    ----------
    initial : str, path-like or tuple, default=None
        A folder that `save` wrote, to begin from; or the files of any ELMo, (options,
        weights) or (options, weights, vocabulary), as paths, or as URLs such as
        `ElmoEmbedding` takes. Shapes are then its own, whatever the parameters from
        `projection_dim` to `max_characters` say, and so are vocabulary and softmax if
        they are there. None for random weights.
    projection_dim : int, default=128
        Of a direction's vectors; a layer has twice that.
    cell_dim : int, default=512
        Of the LSTMs' cells.
    n_layers : int, default=2
        LSTM layers of each direction.
    filters : sequence of (width, number), default=((1, 32), (2, 32), (3, 64), (4, 128))
        Of the convolutions over characters.
    char_dim : int, default=16
        Of a character's vector.
    n_highway : int, default=1
        Highway layers behind the convolutions.
    activation : {"relu", "tanh"}, default="relu"
        Of the convolutions.
    skip_connections : bool, default=True
        Whether layers after the first add their input to their output.
    cell_clip : float, default=3.0
        Largest absolute value of a cell; None for any.
    proj_clip : float, default=3.0
        Largest absolute value of a hidden state; None for any.
    max_characters : int, default=50
        Bytes of a word that are read, its two marks included.
    min_count : int, default=1
        How often a word must occur to be one that is predicted. Any word is read.
    max_vocabulary : int, default=None
        How many words are predicted at most, the most frequent ones.
    softmax : {"auto", "full", "adaptive", "sampled"}, default="auto"
        Over the vocabulary. "full" is exact; "adaptive" is a probability too, and has
        fewer dimensions for rarer words; "sampled" learns from `n_samples` words and
        is "full" otherwise. "auto" is "full" for few words and "adaptive" for many.
    n_samples : int, default=8192
        For "sampled": words a batch.
    dropout : float, default=0.1
        Of what goes into each LSTM layer, and of what comes out of the last.
    lr : float, default=2e-3
        Learning rate of Adam, at its highest.
    schedule : {"cosine", "constant"}, default="cosine"
        Whether the rate falls over the epochs; it then also rises at first.
    gradient_clip : float, default=1.0
        Largest norm of the gradient; None for any.
    batch_size : int, default=64
        Rows that are read side by side.
    n_steps : int, default=20
        Words of each row a batch: gradients go back so far.
    max_epochs : int, default=10
        How often the corpus is gone through.
    patience : int, default=None
        Epochs after the best one, by `X_val`, after which training ends. None for
        all epochs.
    device : str, default="auto"
        "cpu", "cuda" or another name of torch's; "auto" for a GPU if there is one.
    dtype : {"float32", "bfloat16"}, default="float32"
        Precision of matrix products while learning. Weights stay float32, and so
        does all that is told of held-out text.
    checkpoint : str or path-like, default=None
        File that training is written to, and taken up from where it is there: the
        same `fit` again then goes on where the process was killed, to the same result.
    checkpoint_every : int, default=500
        Batches between two writings.
    callbacks : list of skorch callbacks, default=None
        Told of each batch and epoch; or (name, callback) pairs. scikit-learn's own
        are set by ``set_callbacks``: each epoch is a task, and what scores it, such
        as ``ScoringMonitor(scoring={"score": score_of})`` with ``score_of(model, X,
        y)``, goes through the corpus once more.
    random_state : int, RandomState instance or None, default=None
        Of weights, dropout and the order of rows.
    verbose : int, default=0
        Print a line an epoch.

    Attributes
    ----------
    vocabulary_ : list of str
        The words that are predicted: three marks, then the most frequent first.
    coverage_ : float
        Share of the corpus' words that are in it.
    n_words_ : int
        Words of the corpus.
    options_ : ElmoOptions
        Shapes of the network.
    net_ : skorch.NeuralNet
        The trained net.
    history_ : skorch.history.History
        An entry an epoch: ``train_perplexity``, ``train_forward`` and
        ``train_backward``, with dropout and while it learned; ``valid_...`` where there
        was `X_val`; ``lr``, the learning rate at its end.
    n_iter_ : int
        Epochs trained.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.
    ValueError
        If the corpus has no two different words, a file is not UTF-8 (the message
        names file and line), or the checkpoint is of another fit.
    FloatingPointError
        If training diverges.

    See Also
    --------
    ElmoEmbedding : Embeds with what `save` wrote.

    Notes
    -----
    Forward, a row's words and its end are predicted from what stands before them;
    backward, its words and its beginning from what stands behind. Perplexity is the
    exponential of the mean loss a word, of one direction, or of both: ``exp((forward
    loss + backward loss) / 2)``. A word beyond the vocabulary counts as ``<UNK>``, so
    figures compare at equal vocabularies only. With ``softmax="sampled"`` the losses of
    training are among the sample; only those of held-out text are perplexities.

    Rows go side by side into batches without padding; a row longer than `n_steps` goes
    on in the next batch with its state, through which no gradient flows. Every row
    begins from zeros, as `ElmoEmbedding` has it. (bilm-tf lets a row go on from the
    row before it, which has nothing to do with it once rows are shuffled.)

    A file is read line by line, and no more than its distinct words are kept; rows are
    then shuffled within a buffer of ten thousand.

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
    >>> model = ElmoLanguageModel(
    ...     projection_dim=8, cell_dim=16, filters=((1, 8), (2, 8)), char_dim=4,
    ...     batch_size=4, max_epochs=10, lr=0.05, random_state=0,
    ... )
    >>> _ = model.fit(texts)
    >>> bool(model.perplexity(texts) < 2 < model.perplexity(["mat the on sat cat the"]))
    True
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = model.save(folder)
    ...     block = ElmoEmbedding(*files).fit_transform(["the cat"]).blocks[-1]
    >>> block.name, block.values.shape
    ('layer2', (2, 16))
    """

    _parameter_constraints: dict = {
        "initial": [str, os.PathLike, tuple, list, None],
        "projection_dim": [_COUNT],
        "cell_dim": [_COUNT],
        "n_layers": [_COUNT],
        "filters": ["array-like"],
        "char_dim": [_COUNT],
        "n_highway": [Interval(Integral, 0, None, closed="left")],
        "activation": [StrOptions({"relu", "tanh"})],
        "skip_connections": ["boolean"],
        "cell_clip": [_POSITIVE, None],
        "proj_clip": [_POSITIVE, None],
        "max_characters": [Interval(Integral, 3, None, closed="left")],
        "min_count": [_COUNT],
        "max_vocabulary": [_COUNT, None],
        "softmax": [StrOptions({"auto", "full", "adaptive", "sampled"})],
        "n_samples": [_COUNT],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "lr": [_POSITIVE],
        "schedule": [StrOptions({"cosine", "constant"})],
        "gradient_clip": [_POSITIVE, None],
        "batch_size": [_COUNT],
        "n_steps": [_COUNT],
        "max_epochs": [_COUNT],
        "patience": [_COUNT, None],
        "device": [str],
        "dtype": [StrOptions({"float32", "bfloat16"})],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_every": [_COUNT],
        "callbacks": [list, tuple, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        initial=None,
        *,
        projection_dim=128,
        cell_dim=512,
        n_layers=2,
        filters=((1, 32), (2, 32), (3, 64), (4, 128)),
        char_dim=16,
        n_highway=1,
        activation="relu",
        skip_connections=True,
        cell_clip=3.0,
        proj_clip=3.0,
        max_characters=50,
        min_count=1,
        max_vocabulary=None,
        softmax="auto",
        n_samples=8192,
        dropout=0.1,
        lr=2e-3,
        schedule="cosine",
        gradient_clip=1.0,
        batch_size=64,
        n_steps=20,
        max_epochs=10,
        patience=None,
        device="auto",
        dtype="float32",
        checkpoint=None,
        checkpoint_every=500,
        callbacks=None,
        random_state=None,
        verbose=0,
    ):
        self.initial = initial
        self.projection_dim = projection_dim
        self.cell_dim = cell_dim
        self.n_layers = n_layers
        self.filters = filters
        self.char_dim = char_dim
        self.n_highway = n_highway
        self.activation = activation
        self.skip_connections = skip_connections
        self.cell_clip = cell_clip
        self.proj_clip = proj_clip
        self.max_characters = max_characters
        self.min_count = min_count
        self.max_vocabulary = max_vocabulary
        self.softmax = softmax
        self.n_samples = n_samples
        self.dropout = dropout
        self.lr = lr
        self.schedule = schedule
        self.gradient_clip = gradient_clip
        self.batch_size = batch_size
        self.n_steps = n_steps
        self.max_epochs = max_epochs
        self.patience = patience
        self.device = device
        self.dtype = dtype
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    def _net_parts(self):
        """Return the net as plain values and tensors."""
        from ._lm_training import net_parts

        return net_parts(self)

    def _set_net(self, plain, tensors):
        """Have the net that `_net_parts` told of."""
        from ._lm_training import net_of

        self.net_ = net_of(self, plain, tensors)
        self.history_ = self.net_.history
