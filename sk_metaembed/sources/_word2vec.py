"""Word2VecEmbedding: word2vec trained on the training data."""

from ._gensim_base import BaseGensimEmbedding


class Word2VecEmbedding(BaseGensimEmbedding):
    """Train word2vec vectors on the training data with gensim.

    Use it for domains without published vectors, and for tokens that are not words:
    logs, item ids, amino acids. In cross-validation, each fold trains its own vectors,
    so nothing leaks from the test fold.

    Parameters
    ----------
    vector_size : int, default=100
        Dimension of the vectors.
    window : int, default=5
        Maximum distance between a word and the word it predicts.
    min_count : int, default=5
        Words with fewer occurrences in the training data are unknown.
    epochs : int, default=5
        Number of passes over the training data.
    sg : bool, default=False
        Use skip-gram if True, else continuous bag of words (CBOW).
    hs : bool, default=False
        Train with hierarchical softmax.
    negative : int, default=5
        Number of noise words per target word, 0 for no negative sampling.
    ns_exponent : float, default=0.75
        Exponent of the word frequencies that noise words are sampled by.
    cbow_mean : bool, default=True
        Average the context vectors instead of adding them (CBOW only).
    alpha, min_alpha : float, default=0.025, 0.0001
        Initial and final learning rate.
    sample : float, default=0.001
        Frequency above which words are randomly downsampled, 0 for no downsampling.
    max_vocab_size : int, default=None
        Maximum number of words in memory while counting; rarer words are pruned.
    max_final_vocab : int, default=None
        Maximum size of the vocabulary; `min_count` is raised to reach it.
    shrink_windows : bool, default=True
        Sample the size of each window uniformly from 1 to `window`.
    batch_words : int, default=10000
        Number of words passed to a worker thread at a time.
    oov : {"zero", "mean", "random", "error"}, default="zero"
        Vector of a word without a trained vector: zeros, the mean of the vocabulary, a
        random vector seeded by the word's hash, or an error that names the word. A word
        with zeros is unknown and later steps skip it; a mean or random vector is used
        like a trained one.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        Preprocessing of the vectors, learned from the 100,000 most frequent words.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or treat them as
        empty sequences. A TokenSequences is used as it is.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial vectors, of downsampling and of noise words.
    n_jobs : int, default=None
        Number of training threads. Results are reproducible with one only.
    verbose : int, default=0
        Show a progress bar over the epochs.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Row of each word in `vectors_`, the most frequent word first.
    vectors_ : ndarray of float32, shape (n_words, vector_size)
        Trained vectors before `preprocess`. The training state (output weights, counts)
        is discarded.
    coverage_ : dict
        Share of the training data's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by block name.
    n_missing_ : int
        Number of missing rows in the data passed to `fit`.

    Raises
    ------
    ValueError
        If no word occurs `min_count` times.

    See Also
    --------
    FastTextEmbedding : Also embeds words that are not in the training data.
    sk_metaembed.scale.TextStream : A corpus larger than memory to train on.

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

    def _make_model(self, **options):
        from gensim.models import Word2Vec

        return Word2Vec(**options)
