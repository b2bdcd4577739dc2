"""Word2VecEmbedding: word2vec, trained on the training fold."""

from ._gensim_base import BaseGensimEmbedding


class Word2VecEmbedding(BaseGensimEmbedding):
    """Train word2vec vectors on the training fold with gensim.

    For domains that no published vectors cover, and for tokens that are not words:
    logs, item ids, amino acids. In a cross-validation every fold trains its own, so
    that nothing leaks from the held-out part.

    Parameters
    ----------
    vector_size : int, default=100
        Dimension of the vectors.
    window : int, default=5
        Largest distance between a word and a word it predicts.
    min_count : int, default=5
        Words that occur less often in the training fold are unknown.
    epochs : int, default=5
        Passes over the training fold.
    sg : bool, default=False
        Skip-gram if true, else continuous bag of words.
    hs : bool, default=False
        Train with a hierarchical softmax.
    negative : int, default=5
        Number of noise words a target, 0 for no negative sampling.
    ns_exponent : float, default=0.75
        Exponent of the frequencies that noise words are drawn by.
    cbow_mean : bool, default=True
        Average context vectors rather than add them (bag of words only).
    alpha, min_alpha : float, default=0.025, 0.0001
        Learning rate at the beginning and at the end.
    sample : float, default=0.001
        Frequency above which words are randomly left out, 0 for never.
    max_vocab_size : int, default=None
        Prune rare words while counting, so that no more are held in memory.
    max_final_vocab : int, default=None
        Raise `min_count` until at most so many words are left.
    shrink_windows : bool, default=True
        Draw each window's size uniformly from 1 to `window`.
    batch_words : int, default=10000
        Words handed to a worker at a time.
    oov : {"zero", "mean", "random", "error"}, default="zero"
        Vector of a word that was not trained: zeros, the mean of the vocabulary, a
        random vector by the word's hash, or an error that names it. A word that gets
        zeros is unknown, and later steps leave it out; a mean or random vector is used
        like any other.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        What is done to the vectors, learned from the 100,000 most frequent words.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or take them as
        empty sequences. A TokenSequences is taken as it is.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vectors, of sampling and of noise words.
    n_jobs : int, default=None
        Threads to train with. Results are reproducible with one only.
    verbose : int, default=0
        Show a progress bar over the epochs.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Row of each word in `vectors_`, the most frequent word first.
    vectors_ : ndarray of float32, shape (n_words, vector_size)
        As trained, before `preprocess`. The training state (output weights, counts)
        is not kept.
    coverage_ : dict
        Share of the training fold's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by its name.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    ValueError
        If no word occurs `min_count` times.

    See Also
    --------
    FastTextEmbedding : Also embeds words that the training fold lacks.

    References
    ----------
    Mikolov, Sutskever, Chen, Corrado and Dean (2013). Distributed representations of
    words and phrases and their compositionality. NeurIPS.

    Examples
    --------
    >>> from sk_metaembed import Word2VecEmbedding
    >>> logs = [["login", "view", "buy"], ["login", "view", "logout"]] * 5
    >>> source = Word2VecEmbedding(vector_size=4, random_state=0).fit(logs)
    >>> source.transform([["login", "unseen"]])
    EmbeddedSequences(1 sequences, 2 tokens, 2 types; word2vec: type 4d)
    >>> sorted(source.vocabulary_)
    ['buy', 'login', 'logout', 'view']
    """

    def __init__(
        self,
        vector_size=100,
        *,
        window=5,
        min_count=5,
        epochs=5,
        sg=False,
        hs=False,
        negative=5,
        ns_exponent=0.75,
        cbow_mean=True,
        alpha=0.025,
        min_alpha=0.0001,
        sample=1e-3,
        max_vocab_size=None,
        max_final_vocab=None,
        shrink_windows=True,
        batch_words=10_000,
        oov="zero",
        preprocess=None,
        missing="raise",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.vector_size = vector_size
        self.window = window
        self.min_count = min_count
        self.epochs = epochs
        self.sg = sg
        self.hs = hs
        self.negative = negative
        self.ns_exponent = ns_exponent
        self.cbow_mean = cbow_mean
        self.alpha = alpha
        self.min_alpha = min_alpha
        self.sample = sample
        self.max_vocab_size = max_vocab_size
        self.max_final_vocab = max_final_vocab
        self.shrink_windows = shrink_windows
        self.batch_words = batch_words
        self.oov = oov
        self.preprocess = preprocess
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_model(self, **options):
        from gensim.models import Word2Vec

        return Word2Vec(**options)
