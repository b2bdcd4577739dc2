"""ElmoEmbedding: ELMo as a source, with one block per layer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np

from ..._core._estimators import fit_context
from ..._core._inherited_docs import inherit_docs
from ..._core._sklearn import StrOptions
from ..._core._typing import StrPath, Texts
from ..._io._handle import shared_handle
from ..._training._device import resolve_device
from ...sequences import Block, check_tokens
from ...sequences._api import (
    block_of_table,
    count_missing,
    tokens_from_unchecked,
)
from .._base import Preprocess, SourceDocs, shares_known, used_types
from .._contextual import ContextualEmbedding, sentence_blocks
from .._fingerprint import fingerprint_of
from .._sentences import SentenceRows, VectorKind, distinct_sentences
from ._forward import ElmoForward, check_layers
from ._model import ElmoModel, ElmoSpec
from ._texts import TextSplitter, align_words, split_at_spaces, texts_with_words

# Part of every cache key; increase it when the same options give other vectors.
_VERSION = 2


@inherit_docs(SourceDocs, ContextualEmbedding)
class ElmoEmbedding(ContextualEmbedding):
    """Embed with ELMo's bidirectional language model, from published weights.

    Reads the files of AllenNLP and bilm-tf and returns the same vectors without either
    library. Words are read character by character, so every word is known;
    context-independent vectors are computed once per distinct word. Equal sentences are
    computed once, in batches without padding. With `cache`, results are shared by all
    folds, candidates, processes and runs.

    Parameters
    ----------
    options : str or path-like
        Path or URL of options.json, or of a folder or zip archive that contains both
        files, such as those of the NLPL repository. An archive is unpacked once into
        the cache.
    weights : str or path-like, default=None
        Path or URL of the HDF5 file, None if `options` is a folder or zip archive. A
        URL is downloaded once; append ``#sha256=`` and the checksum to reject any other
        file.
    layers : tuple of int, default=None
        The layers to return, one block each: 0 for the words without context, "layer0",
        and 1 to `n_layers_` for the LSTM layers. None returns all layers, to be
        averaged by `AverageMetaEmbedding` or mixed by `DynamicMetaEmbedding`.
    dtype : {"float32", "float16", "bfloat16"}, default="float32"
        Precision of matrix products. Vectors are always float32.
    batch_tokens : int, default=None
        Tokens per batch. None uses 8192 on a CPU and 65536 elsewhere.

    Attributes
    ----------
    n_layers_ : int
        Number of LSTM layers of the model.
    projection_dim_ : int
        Dimension of each direction. Blocks have twice that dimension.
    n_truncated_words_ : int
        Number of distinct training words, as ELMo splits them, that are longer than the
        model reads.
    fingerprint_ : str
        Fingerprint of weights and options; the key of the cache.
    coverage_ : dict
        Shares of ``"types"`` and ``"tokens"`` that are known: 1, unless a callable
        `tokenizer` created tokens that are not in the text.

    Raises
    ------
    FileNotFoundError
        If a file does not exist or cannot be downloaded.
    ValueError
        If a file is corrupt, options and weights do not match, or the model lacks one
        of the `layers`; the message names the file and the key.
    ImportError
        If h5py is not installed.

    Warns
    -----
    UserWarning
        Once per process, if words are longer than the model reads.

    See Also
    --------
    ElmoLanguageModel : Trains or fine-tunes such a model.
    TransformerEmbedding : BERT and similar models.
    DynamicMetaEmbedding : Learns ELMo's scalar mix with ``attention="task"``.
    contextual_to_static : Mean vectors of a contextual source over a corpus.

    Notes
    -----
    Texts are split at whitespace, as in the original module; case is kept. A
    `TokenSequences` with original texts, from a `Tokenizer` or in an `EmbeddingUnion`,
    is read as ELMo was trained: the original text with its case, and each punctuation
    mark as a word. A token gets the mean of the words that overlap its characters,
    usually one, and "layer0" is then at the token level. Token lists are read as they
    are: for a model that was trained on other tokens, pass ``tokens.to_list()``.

    "layer0" is the word vector concatenated with itself, because both directions begin
    with it.

    AllenNLP and bilm-tf carry LSTM states from one batch to the next, so a sentence has
    different vectors the second time, and only one order of batches reproduces
    published vectors. Here each sentence starts without state.

    Words are read in NFC and truncated to 48 bytes of UTF-8, as in training. Lone
    surrogates, which UTF-8 cannot encode, are omitted.

    References
    ----------
    .. [1] Peters, Neumann, Iyyer, Gardner, Clark, Lee and Zettlemoyer (2018). Deep
       contextualized word representations. NAACL.

    Examples
    --------
    A very small model:

    >>> import tempfile
    >>> from sk_metaembed import ElmoEmbedding, ElmoLanguageModel
    >>> small = {"projection_dim": 4, "cell_dim": 6, "filters": ((1, 3), (2, 5))}
    >>> model = ElmoLanguageModel(architecture=small, max_epochs=1, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> files = model.fit(["the bank of the river", "a bank"]).save(folder.name)
    >>> source = ElmoEmbedding(*files)
    >>> embedded = source.fit_transform(["the bank of the river", "a bank"])
    >>> [(block.name, block.level, block.values.shape) for block in embedded.blocks]
    [('layer0', 'type', (5, 8)), ('layer1', 'token', (7, 8)),
     ('layer2', 'token', (7, 8))]
    >>> source.set_params(layers=(2,)).fit_transform(["the bank"]).blocks
    (Block('layer2', level='token', shape=(2, 8), known=100.0%),)
    >>> folder.cleanup()
    """

    _parameter_constraints: dict = {
        "options": [str, os.PathLike],
        "weights": [str, os.PathLike, None],
        "layers": [tuple, list, None],
        "dtype": [StrOptions({"float32", "float16", "bfloat16"})],
    }
    _CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 8192, 65_536

    def __init__(
        self,
        options: StrPath,
        weights: StrPath | None = None,
        *,
        layers: Sequence[int] | None = None,
        device: str = "auto",
        dtype: Literal["float32", "float16", "bfloat16"] = "float32",
        batch_tokens: int | None = None,
        cache: StrPath | None = None,
        cache_dtype: Literal["float32", "float16"] = "float32",
        memory_limit: int | None = None,
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
        verbose: int = 0,
    ) -> None:
        self.options = options
        self.weights = weights
        self.layers = layers
        self.device = device
        self.dtype = dtype
        self.batch_tokens = batch_tokens
        self.cache = cache
        self.cache_dtype = cache_dtype
        self.memory_limit = memory_limit
        self.preprocess = preprocess
        self.missing = missing
        self.verbose = verbose

    @fit_context
    def fit(self, X: Texts, y: object = None) -> Self:
        """Open the model; without `preprocess`, no vectors are computed.

        The model itself is not trained; `ElmoLanguageModel` does that. A process reads
        the same files once, for all candidates of a search.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split at whitespace.
        y : ignored
            Nothing is learned from labels.

        Returns
        -------
        ElmoEmbedding
            The fitted source.
        """
        tokens = self._read(X)
        if self.preprocess is None:
            aligned = align_words(tokens, TextSplitter())
            self._fit_model(aligned.words)
            self._preprocessings = {}
            self.coverage_ = shares_known(tokens, aligned.rows >= 0)
            names = [f"layer{k}" for k in self._layers]
            self.dims_ = dict.fromkeys(names, 2 * self.projection_dim_)
        else:
            self._learn(tokens, y)
        self.n_missing_ = count_missing(tokens)
        return self

    def _read(self, X):
        tokens = check_tokens(X, split=split_at_spaces, missing=self.missing)
        return used_types(tokens)

    def _fit_vectors(self, tokens, y):
        self._fit_model(align_words(tokens, TextSplitter()).words)

    def _fit_model(self, words):
        """Open the model and resolve the options; `words` are the words of the data."""
        weights = None if self.weights is None else os.fspath(self.weights)
        device = str(resolve_device(self.device))
        spec = ElmoSpec(os.fspath(self.options), weights, device, self.dtype)
        model = self._model = shared_handle(ElmoModel, spec)
        options = model.options
        self.n_layers_, self.projection_dim_ = options.n_layers, options.projection_dim
        self.n_truncated_words_ = model.count_truncated(words)
        self._layers = check_layers(self.layers, self.n_layers_)
        self.fingerprint_ = fingerprint_of(
            {"version": _VERSION, "model": model.fingerprint}
        )

    def _embed(self, tokens):
        model, split = self._model, TextSplitter()
        budget, dim = self._budget(model.device_type), 2 * self.projection_dim_
        in_context = [k for k in self._layers if k]
        kinds = [VectorKind(f"layer{k}", dim) for k in in_context]
        if tokens.texts is None:
            found = distinct_sentences(tokens)
        else:
            found = texts_with_words(tokens, split)
        rows = SentenceRows(tokens, *found, kinds, memory_limit=self.memory_limit)
        blocks = []
        with self._opened(rows) as (cache, bar):
            most_rows = 128 if model.device_type == "cpu" else 512
            compute = ElmoForward(
                model, in_context, split, budget, most_rows, bar.update
            )
            if 0 in self._layers:
                blocks.append(self._words(cache, tokens, compute, split))
            if kinds:
                blocks += sentence_blocks(cache, rows, compute, slice_tokens=2 * budget)
        return blocks

    def _words(self, cache, tokens, compute, split):
        """Return the block of words, cached as sentences of one word."""
        aligned = align_words(tokens, split)
        ends = np.arange(len(aligned.words) + 1)
        codes = ends[:-1].astype(np.int32)
        single_words = tokens_from_unchecked(aligned.words, codes, ends)
        kinds = [VectorKind("word", self.projection_dim_)]
        rows = SentenceRows(single_words, *distinct_sentences(single_words), kinds)
        (block,) = sentence_blocks(cache, rows, compute.words, slice_tokens=8192)
        table = np.tile(block.values, (1, 2))  # both directions begin with the words
        if tokens.texts is None:
            return Block("layer0", table, "type", block.known, copy=False)
        means = [table[list(group)].mean(axis=0) for group in aligned.groups]
        # A table must not be empty, so a row of zeros serves texts without words.
        table = np.vstack([table, *means, np.zeros(table.shape[1], np.float32)])
        known = aligned.rows >= 0
        return block_of_table("layer0", table, "token", known, aligned.rows)
