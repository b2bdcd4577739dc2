"""BytePairEmbedding: words from vectors of subword pieces, trained on the texts."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import clone

from ..._core._sklearn import HasMethods, Interval
from ...sequences import Block, TokenSequences
from .._base import BaseEmbedding, Preprocess, no_tokens_error
from ._byte_pairs import BytePairs
from ._word2vec import Word2VecEmbedding


class BytePairEmbedding(BaseEmbedding):
    r"""Embed words as the mean of the vectors of their byte pairs.

    Byte-pair encoding learns frequent pieces of the training data's words: whole words
    if they are frequent, else stems, endings, syllables, characters. A word2vec model
    is trained on the texts as sequences of these pieces, so unseen words get a vector
    from their pieces. Words stay the tokens, so the source combines with any other.

    Parameters
    ----------
    source : source of word vectors, default=None
        Trained on, or looked up for, the pieces. It is cloned before fitting. None is
        `Word2VecEmbedding` with its default parameters.
    vocab_size : int, default=4000
        Maximum number of pieces. There are fewer if no further pair of pieces occurs
        twice, and more if there are more distinct characters.
    preprocess : {"unit", "center", "unit-center-unit", "all-but-the-top"}, default=None
        Preprocessing of the word vectors, learned from the words of the training data.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or treat them as
        empty sequences. A TokenSequences is used as it is.

    Attributes
    ----------
    byte_pairs_ : BytePairs
        The pieces; ``byte_pairs_.split(words)`` returns the pieces of each word.
    source_ : source of word vectors
        The fitted clone, with the vectors of the pieces.
    coverage_ : dict
        Share of the training data's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by block name.
    n_missing_ : int
        Number of missing rows in the data passed to `fit`.

    Raises
    ------
    TypeError
        If `source` does not return one block with a vector per distinct token.
    ValueError
        If no piece is frequent enough to be trained.
    ImportError
        If tokenizers is not installed.

    See Also
    --------
    FastTextEmbedding : Composes words from all character n-grams, hashed.
    TrainableCharacters : Learns vectors of characters or byte pairs on labels.

    Notes
    -----
    With the pieces :math:`p_1, \ldots, p_n` of a word that have a vector, the vector of
    the word is :math:`\frac{1}{n} \sum_i v(p_i)`. Other pieces are omitted: characters
    that are not in the training data, and pieces with fewer than `min_count`
    occurrences for the default source. A word without any is zero and unknown.

    The pieces are learned as in [1]_: from characters on, the most frequent pair of
    neighboring pieces within words is merged, again and again, weighted by the words'
    frequencies. A mark, "▁", distinguishes pieces at the start of a word. It is not a
    piece by itself. Published vectors of this kind are BPEmb [2]_, trained on
    Wikipedia; [3]_ combines them with vectors of words and characters.

    A token may be a whole sequence without separators, such as a protein or a sentence
    in a language without spaces: its pieces are then frequent motifs or words.

    References
    ----------
    .. [1] R. Sennrich, B. Haddow, A. Birch, "Neural machine translation of rare words
       with subword units", ACL 2016.
    .. [2] B. Heinzerling, M. Strube, "BPEmb: Tokenization-free pre-trained subword
       embeddings in 275 languages", LREC 2018.
    .. [3] G. I. Winata, Z. Lin, J. Shin, Z. Liu, P. Fung, "Hierarchical meta-embeddings
       for code-switching named entity recognition", EMNLP 2019.

    Examples
    --------
    >>> from sk_metaembed import BytePairEmbedding, Word2VecEmbedding
    >>> texts = ["walking and talking", "walked and talked"] * 3
    >>> pieces = Word2VecEmbedding(4, min_count=1, random_state=0)
    >>> source = BytePairEmbedding(pieces, vocab_size=22).fit(texts)
    >>> source.byte_pairs_.split(["walking", "talks"]).to_list()
    [['▁walk', 'ing'], ['▁talk']]
    >>> source.transform(["hm talks"]).block("bytepair").known
    array([False,  True])
    """

    _parameter_constraints: dict = {
        "source": [HasMethods(["fit", "transform"]), None],
        "vocab_size": [Interval(Integral, 1, None, closed="left")],
    }

    byte_pairs_: BytePairs

    def __init__(
        self,
        source: Any = None,
        *,
        vocab_size: int = 4000,
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
    ) -> None:
        self.source = source
        self.vocab_size = vocab_size
        self.preprocess = preprocess
        self.missing = missing

    def _fit_vectors(self, tokens, y):
        if not tokens.n_tokens:
            raise no_tokens_error(len(tokens), tokens.texts)
        counts = tokens.type_counts()
        self.byte_pairs_ = BytePairs.learn(tokens.types, counts, self.vocab_size)
        source = Word2VecEmbedding() if self.source is None else clone(self.source)
        by_token = self.byte_pairs_.split(tokens.types)[tokens.codes]
        pieces = TokenSequences._trusted(
            by_token.types, by_token.codes, by_token.offsets[tokens.offsets]
        )
        try:
            self.source_ = source.fit(pieces)
        except ValueError as error:
            error.add_note("The words of this source are byte pairs of the words in X.")
            raise

    def _embed(self, tokens):
        embedded = self.source_.transform(self.byte_pairs_.split(tokens.types))
        if [block.level for block in embedded.blocks] != ["type"]:
            raise TypeError(
                "source must return one block with a vector "
                f"per distinct token, such as Word2VecEmbedding; got {embedded!r}."
            )
        values, known = mean_of_known(embedded.tokens, *embedded.blocks)
        return Block._adopt(self.block_name, values, "type", known)


def mean_of_known(tokens, block):
    """Return the mean vector of the known tokens of each sequence, and if it has any.

    Parameters
    ----------
    tokens : TokenSequences
    block : Block
        At level "type", with zeros for unknown types.

    Returns
    -------
    values : ndarray of float32, shape (n_sequences, dim)
    known : ndarray of bool, shape (n_sequences,)
    """
    weights = block.known[tokens.codes].astype(np.float32)
    shape = len(tokens), tokens.n_types
    rows = csr_matrix((weights, tokens.codes, tokens.offsets), shape=shape)
    n_known = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
    sums = rows @ block.values.astype(np.float32, copy=False)
    return sums / np.maximum(n_known, 1), n_known[:, 0] > 0
