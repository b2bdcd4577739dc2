"""What an ElmoLanguageModel does: fit, perplexities, files."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..sequences._callbacks import check_callbacks
from ..sequences._estimator import SequencesInputMixin
from ._corpus import RowsCorpus, read_corpus
from ._options import options_of
from ._saved import read_language_model, write_language_model
from ._vocabulary import Vocabulary, check_count, count_words, make_vocabulary

_WHOSE = "ElmoLanguageModel"
# What may differ between a fit that was interrupted and the one that goes on.
_FREE = ("device", "verbose", "checkpoint", "checkpoint_every", "callbacks")


class BaseLanguageModel(SequencesInputMixin, CallbackSupportMixin, BaseEstimator):
    """The methods of `ElmoLanguageModel`, which has the parameters."""

    @_fit_context(prefer_skip_nested_validation=True)
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

        See Also
        --------
        partial_fit : One epoch at a time.
        TrainingCurveDisplay.from_estimator : Draws the perplexities of the epochs.

        Notes
        -----
        An interrupt from the keyboard ends training: with the best weights so far, or
        where nothing is held out with those of the moment.

        Examples
        --------
        >>> from sk_metaembed import ElmoLanguageModel
        >>> model = ElmoLanguageModel(projection_dim=4, filters=((1, 4),), max_epochs=1)
        >>> model.fit(["the cat sat", "the dog sat"], X_val=["the cat"]).vocabulary_[3:]
        ['sat', 'the', 'cat', 'dog']
        """
        check_callbacks(self.callbacks, whose=_WHOSE)
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

    @_fit_context(prefer_skip_nested_validation=True)
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

        See Also
        --------
        fit : Trains for many epochs, on what can be gone through again.

        Examples
        --------
        >>> from sk_metaembed import ElmoLanguageModel
        >>> model = ElmoLanguageModel(projection_dim=4, filters=((1, 4),), max_epochs=1)
        >>> model.partial_fit(["the cat sat"]).partial_fit(["a bird sat"]).n_iter_
        2
        """
        check_callbacks(self.callbacks, whose=_WHOSE)
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

        See Also
        --------
        score : The same with its sign turned, for searches.
        score_samples : Row by row.

        Examples
        --------
        >>> from sk_metaembed import ElmoLanguageModel
        >>> model = ElmoLanguageModel(projection_dim=4, filters=((1, 4),), max_epochs=1)
        >>> _ = model.fit(["the cat sat", "the dog sat"])
        >>> 4 < model.perplexity(["the dog sat"]) < 16
        True
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

        See Also
        --------
        perplexity : One number for all rows.

        Examples
        --------
        >>> from sk_metaembed import ElmoLanguageModel
        >>> model = ElmoLanguageModel(projection_dim=4, filters=((1, 4),), max_epochs=1)
        >>> _ = model.fit(["the cat sat", "the dog sat"])
        >>> scores = model.score_samples(["the", "the dog sat"])
        >>> bool(scores[0] > scores[1])
        True
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

        See Also
        --------
        perplexity : The figure as it is published.

        Examples
        --------
        >>> from sk_metaembed import ElmoLanguageModel
        >>> model = ElmoLanguageModel(projection_dim=4, filters=((1, 4),), max_epochs=1)
        >>> _ = model.fit(["the cat sat", "the dog sat"])
        >>> model.score(["the cat"]) == -model.perplexity(["the cat"])
        True
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

        See Also
        --------
        load : Reads what this wrote.
        ElmoEmbedding : Embeds with it.

        Notes
        -----
        AllenNLP takes models with skip connections and 50 characters a word alone;
        bilm-tf those whose cells and filters are more than `projection_dim`.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import ElmoLanguageModel
        >>> model = ElmoLanguageModel(projection_dim=4, filters=((1, 4),), max_epochs=1)
        >>> _ = model.fit(["the cat sat", "the dog sat"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [file.name for file in model.save(folder)]
        ['options.json', 'weights.hdf5']
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

        See Also
        --------
        save : Writes the folder.
        ElmoEmbedding : Embeds with the same files.

        Examples
        --------
        >>> import tempfile
        >>> from sk_metaembed import ElmoLanguageModel
        >>> model = ElmoLanguageModel(projection_dim=4, filters=((1, 4),), max_epochs=1)
        >>> _ = model.fit(["the cat sat", "the dog sat"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = model.save(folder)
        ...     again = ElmoLanguageModel.load(folder)
        >>> again.vocabulary_ == model.vocabulary_
        True
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
        options = options_of(self, whose=_WHOSE) if saved is None else saved.options
        if saved is None or saved.words is None:
            kept = make_vocabulary(
                count, self.min_count, self.max_vocabulary, whose=_WHOSE
            )
        else:
            kept = Vocabulary.of(saved.words)
        self.options_, self._vocabulary, self.vocabulary_ = options, kept, kept.words

    def _new_net(self, saved):
        from ._training import new_net

        return new_net(self, self._seed(), saved)

    def _seed(self):
        return int(self._random.randint(np.iinfo(np.int32).max))

    def _go_on(self, net, given, corpora, counts, checkpoint, epochs, schedule):
        """Train a net, and tell of it."""
        from ..sequences._fit_tasks import FitTasks
        from ._training import train

        X, y = given
        if isinstance(corpora[0], RowsCorpus):
            X = corpora[0].tokens  # what was given may be at its end
        # ScoringMonitor asks for no score where y is None.
        task = {"estimator": self, "X": X, "y": () if y is None else y}
        context = self._init_callback_context(max_subtasks=epochs)
        context.call_on_fit_task_begin(**task)
        tasks = FitTasks(context=context, **task)
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
        from ._training import row_losses

        check_is_fitted(self, "net_")
        return row_losses(self, read_corpus(X, whose=_WHOSE), self.batch_size)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")


def _read(X, X_val, least=2):
    """Return the corpora and what they count, the second None where there is none."""
    corpora = [None if x is None else read_corpus(x, whose=_WHOSE) for x in (X_val,)]
    corpora.insert(0, read_corpus(X, whose=_WHOSE))
    counts = [corpus and count_words(corpus) for corpus in corpora]
    check_count(counts[0], whose=_WHOSE, least=least)
    if counts[1] is not None and not counts[1].n_rows:
        raise ValueError(f"{_WHOSE}: X_val holds no rows. Leave it out.")
    return corpora, counts
