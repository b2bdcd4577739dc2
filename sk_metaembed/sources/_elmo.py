"""ElmoEmbedding: ELMo as a source, layer by layer or mixed.

What ElmoEmbedding's `output` means for a given model.
"""

import os
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._core._decorators import fit_context, rollback_on_error
from .._training._parameters import resolve_device
from ..elmo._characters import n_cut
from ..elmo._scalar_mix import layer_shares
from ..sequences import Block, TokenSequences, check_tokens
from ..sequences._mixins import MISSING_CONSTRAINT
from ..sequences._validation import count_missing
from ._base import (
    PREPROCESS_CONSTRAINT,
    BaseEmbedding,
    shares_known,
    used_types,
)
from ._elmo_model import (
    ElmoForward,
    ElmoOutputSpec,
    ElmoSpec,
    read_texts,
    shared_elmo,
    spelled_tokens,
)
from ._fingerprint import fingerprint_of
from .cache._compute import (
    Layer,
    SentenceRows,
    distinct_sentences,
    sentence_blocks,
    token_bar,
)
from .cache._sentence_cache import open_cache

_FIXED = {"word_emb": "word", "elmo": "mix", "default": "mean"}


class ElmoBlock(NamedTuple):
    """A block that is asked for.

    Parameters
    ----------
    name : str
    kind : {"word", "twice", "layer", "mix", "mean"}
        The word's vector, once or twice; an LSTM layer's; the mix; its mean.
    layer : int, default=0
        The LSTM layer, from 1.
    """

    name: str
    kind: str
    layer: int = 0


def chosen_outputs(output, n_layers):
    """Return the blocks that `output` asks for.

    Parameters
    ----------
    output : str or sequence of str
    n_layers : int
        LSTM layers of the model.

    Returns
    -------
    list of ElmoBlock

    Raises
    ------
    ValueError
        If there is no such output, or one is named twice.

    Examples
    --------
    >>> [block.name for block in chosen_outputs(("layers", "default"), 2)]
    ['layer0', 'layer1', 'layer2', 'default']
    """
    names = [output] if isinstance(output, str) else list(output)
    lstms = {f"lstm_outputs{k}": k for k in range(1, n_layers + 1)}
    allowed = ["layers", "word_emb", *lstms, "elmo", "default"]
    wrong = [name for name in names if name not in allowed]
    if wrong or not names or len(set(names)) < len(names):
        raise ValueError(
            f"ElmoEmbedding: output must be one or more of {allowed}, each once; got "
            f"{output!r}. The model has {n_layers} LSTM layers."
        )
    found = []
    for name in names:
        if name == "layers":
            found.append(ElmoBlock("layer0", "twice"))
            found += [ElmoBlock(f"layer{k}", "layer", k) for k in lstms.values()]
        elif name in lstms:
            found.append(ElmoBlock(name, "layer", lstms[name]))
        else:
            found.append(ElmoBlock(name, _FIXED[name]))
    return found


def wanted_of(outputs, mix_weights, gamma, layer_norm, n_layers):
    """Return what the network must give for these outputs.

    Parameters
    ----------
    outputs : list of ElmoBlock
    mix_weights, gamma, layer_norm
        As `ElmoEmbedding` takes them.
    n_layers : int
        LSTM layers of the model.

    Returns
    -------
    ElmoOutputSpec

    Raises
    ------
    ValueError
        If the weights are not one finite number a layer.
    """
    kinds = [output.kind for output in outputs]
    return ElmoOutputSpec(
        tuple(sorted({o.layer for o in outputs if o.kind == "layer"})),
        "mix" in kinds,
        "mean" in kinds,
        tuple(_shares(mix_weights, n_layers + 1).tolist()),
        float(gamma),
        bool(layer_norm),
    )


def _shares(weights, n_layers):
    if weights is not None:
        try:
            array = np.asarray(weights, dtype=float)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if array.shape != (n_layers,) or not np.isfinite(array).all():
            raise ValueError(
                f"ElmoEmbedding: mix_weights must be {n_layers} finite numbers, one "
                f"for the words and one a layer; got {weights!r}. They go through a "
                "softmax: use np.log(shares) for given shares."
            )
    return layer_shares(weights, n_layers)


# Part of every cache key: raised when the same options come to give other vectors.
_VERSION = 1
_BATCH_TOKENS = {"cpu": 8192}
_ON_GPU = 65_536
_MOST_ROWS = {"cpu": 128}
_MOST_ON_GPU = 512


class ElmoEmbedding(BaseEmbedding):
    """Embed with ELMo's bidirectional language model, from its published weights.

    Reads the files of AllenNLP and bilm-tf as they are, and gives the same vectors
    without either. Words are read character by character, so that every word is known;
    what that gives is computed once for each distinct word. Equal sentences are
    computed once, in batches without padding; with `cache` once for all folds,
    candidates, processes and runs.

    Parameters
    ----------
    options : str or path-like
        The file options.json, or its URL.
    weights : str or path-like
        The HDF5 file, or its URL. What a URL names is fetched once and kept; put
        ``#sha256=`` and the file's checksum behind it to refuse any other file.
    output : str or sequence of str, default="layers"
        "layers" for a block a layer, to be combined or mixed by
        `DynamicMetaEmbedding`: "layer0", the words alone, and those of the LSTMs. Or
        what the module on TensorFlow Hub gives, by its names: "word_emb", the words
        alone; "lstm_outputs1" and "lstm_outputs2"; "elmo", the mix of all layers;
        "default", its mean over the sequence.
    mix_weights : array-like of shape (n_layers + 1,), default=None
        For "elmo" and "default": weights of the layers, before a softmax. None for
        equal shares; ``np.log(shares)`` for given ones.
    gamma : float, default=1.0
        What the mix is multiplied by.
    layer_norm : bool, default=False
        Bring each token's vector to mean 0 and variance 1 in each layer before the
        mix.
    stateful : bool, default=False
        Let row i go on from where row i of the call before ended, as the originals do
        with their batches. Vectors then depend on what came before; see Notes.
    device : str, default="auto"
        "cpu", "cuda" or another name of torch's; "auto" for a GPU if there is one.
    dtype : {"float32", "float16", "bfloat16"}, default="float32"
        Precision of the matrix products. Vectors come out as float32.
    batch_tokens : int, default=None
        Tokens a batch. None for 8192 on a CPU and 65536 elsewhere.
    cache : path-like, default=None
        Folder that keeps vectors for other folds, candidates, processes and runs.
        See `cache_info` and `limit_cache`.
    cache_dtype : {"float32", "float16"}, default="float32"
        How they are kept. float16 halves the size and rounds the vectors.
    memory_limit : int, default=None
        Number of bytes of token-level vectors of one call beyond which they are kept in
        temporary files, mapped into memory, which go with them. None for no limit.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        What is done to the vectors, learned from the known rows of the training fold.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or take them as
        empty sequences. A TokenSequences is taken as it is.
    verbose : int, default=0
        Show a progress bar.

    Attributes
    ----------
    n_layers_ : int
        LSTM layers of the model.
    projection_dim_ : int
        Dimension of each direction: blocks have twice that, "word_emb" has once.
    n_cut_words_ : int
        Distinct words of the training fold, as ELMo reads them, that are longer than
        the model reads.
    layer_weights_ : dict of str to float
        Weight of each layer in "elmo" and "default"; they sum to 1.
    fingerprint_ : str
        Of weights and options; the cache's key.
    coverage_ : dict
        Shares of ``"types"`` and ``"tokens"`` that are known: 1, unless a callable
        `tokenizer` made tokens up that are not in the text.
    dims_ : dict of str to int
        Dimension of each block, by its name.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    FileNotFoundError
        If a file is not there, or a URL cannot be fetched.
    ValueError
        If a file is damaged, options and weights disagree, or there is no such output;
        the message names the file and the key.
    ImportError
        If h5py is not installed.

    See Also
    --------
    ElmoLanguageModel : Trains such a model, or fine-tunes one.
    TransformerEmbedding : BERT and its kin.
    DynamicMetaEmbedding : With ``attention="task"`` it learns ELMo's scalar mix.
    contextual_to_static : A contextual source's mean vectors over a corpus.

    Notes
    -----
    Given texts, ELMo splits them where there is space, as the original module does;
    case is kept. A `TokenSequences` that knows its texts, from a `Tokenizer` or in an
    `EmbeddingUnion`, is read as ELMo was trained: the original text in its own case,
    each punctuation mark a word. A token gets the mean of the words that overlap its
    characters, mostly one; "default" is the mean over all words of the text.
    "layer0" and "word_emb" are then at the token level. Token lists are read as they
    are: for a model that was trained on tokens of another kind, pass
    ``tokens.to_list()``.

    The mix is ``gamma * sum_k softmax(mix_weights)_k h_k`` over the layers ``h_k``, of
    which ``h_0`` is the word's vector twice.

    AllenNLP and bilm-tf carry the state of their LSTMs from one batch to the next. So
    the same sentence gets other vectors the second time, and the published ones come
    out in one order of batches only. Here nothing is carried, unless ``stateful=True``:
    then each call of `transform` is a batch, the number of rows that are carried is
    that of the longest batch so far, and `reset_states` forgets them, as `fit` does.

    A word longer than 48 bytes of UTF-8 is cut there, as it was in training. What UTF-8
    cannot spell, a lone half of a surrogate pair, is left out.

    References
    ----------
    .. [1] Peters, Neumann, Iyyer, Gardner, Clark, Lee and Zettlemoyer (2018). Deep
       contextualized word representations. NAACL.

    Examples
    --------
    A model with random weights, as small as can be:

    >>> import tempfile
    >>> import numpy as np
    >>> from sk_metaembed import ElmoEmbedding
    >>> from sk_metaembed.elmo._options import ElmoOptions
    >>> from sk_metaembed.elmo._weight_files import weight_shapes
    >>> from sk_metaembed.elmo._model_files import write_model
    >>> options = ElmoOptions(
    ...     projection_dim=4, cell_dim=6, n_layers=2, cell_clip=3, proj_clip=3,
    ...     skip_connections=True, char_dim=2, max_characters=50,
    ...     filters=((1, 3), (2, 5)), n_highway=1, activation="relu",
    ... )
    >>> shapes, rng = weight_shapes(options).items(), np.random.default_rng(0)
    >>> weights = {name: rng.normal(size=shape) for name, shape in shapes}
    >>> folder = tempfile.TemporaryDirectory()
    >>> source = ElmoEmbedding(*write_model(folder.name, options, weights))
    >>> embedded = source.fit_transform(["the bank of the river", "a bank"])
    >>> [(block.name, block.level, block.values.shape) for block in embedded.blocks]
    [('layer0', 'type', (5, 8)), ('layer1', 'token', (7, 8)),
     ('layer2', 'token', (7, 8))]
    >>> source.set_params(output="default").fit_transform(["the bank"]).blocks
    (Block('default', level='sequence', shape=(1, 8), known=100.0%),)
    >>> folder.cleanup()
    """

    _parameter_constraints: dict = {
        "options": [str, os.PathLike],
        "weights": [str, os.PathLike],
        "output": [str, "array-like"],
        "mix_weights": ["array-like", None],
        "gamma": [Interval(Real, None, None, closed="neither")],
        "layer_norm": ["boolean"],
        "stateful": ["boolean"],
        "device": [str],
        "dtype": [StrOptions({"float32", "float16", "bfloat16"})],
        "batch_tokens": [Interval(Integral, 1, None, closed="left"), None],
        "cache": [str, os.PathLike, None],
        "cache_dtype": [StrOptions({"float32", "float16"})],
        "memory_limit": [Interval(Integral, 0, None, closed="left"), None],
        "preprocess": PREPROCESS_CONSTRAINT,
        "missing": MISSING_CONSTRAINT,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        options,
        weights,
        *,
        output="layers",
        mix_weights=None,
        gamma=1.0,
        layer_norm=False,
        stateful=False,
        device="auto",
        dtype="float32",
        batch_tokens=None,
        cache=None,
        cache_dtype="float32",
        memory_limit=None,
        preprocess=None,
        missing="raise",
        verbose=0,
    ):
        self.options = options
        self.weights = weights
        self.output = output
        self.mix_weights = mix_weights
        self.gamma = gamma
        self.layer_norm = layer_norm
        self.stateful = stateful
        self.device = device
        self.dtype = dtype
        self.batch_tokens = batch_tokens
        self.cache = cache
        self.cache_dtype = cache_dtype
        self.memory_limit = memory_limit
        self.preprocess = preprocess
        self.missing = missing
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit(self, X, y=None):
        """Read the model; without `preprocess`, nothing is computed.

        The model stays as it was published; `ElmoLanguageModel` trains one on texts of
        your own. One process reads the same files once, however many candidates of a
        search name them.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split where there is space.
        y : ignored
            Nothing is learned from labels.

        Returns
        -------
        ElmoEmbedding
            The fitted source.
        """
        tokens = self._read(X)
        if self.preprocess is None:
            self._fit_vectors(tokens, y)
            self._preprocessings = {}
            self.coverage_ = shares_known(tokens, _known_tokens(tokens))
            dim = self.projection_dim_
            once = {o.name: o.kind == "word" for o in self._outputs}
            self.dims_ = {name: dim * (2 - one) for name, one in once.items()}
        else:
            self._learn(tokens, y)
        self.reset_states()
        self.n_missing_ = count_missing(tokens)
        return self

    def reset_states(self):
        """Forget what ``stateful=True`` carries: the next call begins anew.

        For another corpus, or to get the vectors of the first call again. Without
        ``stateful=True`` nothing is carried, and this changes nothing.

        Returns
        -------
        ElmoEmbedding
            The source itself.
        """
        check_is_fitted(self)
        self._states = None
        return self

    def _read(self, X):
        caller = type(self).__name__
        tokens = check_tokens(X, caller=caller, split=_at_spaces, missing=self.missing)
        return used_types(tokens)

    def _fit_vectors(self, tokens, y):
        if self.stateful and self.cache is not None:
            raise ValueError(
                "ElmoEmbedding: with stateful=True a sentence's vectors depend on what "
                "came before it, so no cache can keep them. Use cache=None."
            )
        places = map(os.fspath, (self.options, self.weights))
        device = str(resolve_device(self.device, caller=type(self).__name__))
        model = self._model = shared_elmo(ElmoSpec(*places, device, self.dtype))
        options = model.options
        self.n_layers_, self.projection_dim_ = options.n_layers, options.projection_dim
        words = tokens.types if tokens.texts is None else spelled_tokens(tokens).words
        self.n_cut_words_ = n_cut(words, options.max_characters)
        self._outputs = chosen_outputs(self.output, self.n_layers_)
        self._wanted = wanted_of(
            self._outputs, self.mix_weights, self.gamma, self.layer_norm, self.n_layers_
        )
        names = (f"layer{k}" for k in range(self.n_layers_ + 1))
        self.layer_weights_ = dict(zip(names, self._wanted.shares, strict=True))
        self.fingerprint_ = fingerprint_of(
            {"version": _VERSION, "model": model.fingerprint}
        )
        self._states = None

    def _embed(self, tokens):
        model, wanted = self._model, self._wanted
        budget = self.batch_tokens or _BATCH_TOKENS.get(model.device_type, _ON_GPU)
        most_rows = _MOST_ROWS.get(model.device_type, _MOST_ON_GPU)
        layers = wanted.layers_of(2 * self.projection_dim_)
        found = {}
        reader = _reader(tokens, layers.values())
        opened = open_cache(self.cache, self.fingerprint_, self.cache_dtype)
        bar = token_bar(
            type(self).__name__,
            tokens,
            verbose=self.verbose,
            cached=self.cache is not None,
            reader=reader,
        )
        with opened as handle, bar:
            compute = ElmoForward(model, wanted, budget, most_rows, bar.update)
            if any(output.kind in ("word", "twice") for output in self._outputs):
                found["word", 0] = self._words(handle, tokens, compute)
            named = list(layers.values())
            if named and self.stateful:
                blocks = self._carried(tokens, named, compute, reader)
            elif named:
                blocks = sentence_blocks(
                    handle,
                    tokens,
                    named,
                    compute,
                    slice_tokens=2 * budget,
                    memory_limit=self.memory_limit,
                    reader=reader,
                )
            else:
                blocks = ()
            found.update(zip(layers, blocks, strict=True))
        return [_block(output, found) for output in self._outputs]

    def _words(self, handle, tokens, compute):
        """Return the block of words, kept as those of sentences of one word."""
        spelled = None if tokens.texts is None else spelled_tokens(tokens)
        types = tokens.types if spelled is None else spelled.words
        ends = np.arange(len(types) + 1)
        alone = TokenSequences._trusted(types, ends[:-1].astype(np.int32), ends)
        layers = [Layer("word", self.projection_dim_)]
        (block,) = sentence_blocks(handle, alone, layers, compute.words)
        if spelled is None:
            return block.take(slice(None), level="type")
        table = block.values
        means = [table[list(group)].mean(axis=0) for group in spelled.groups]
        # The row of zeros is for texts without a word: a table is never empty.
        table = np.vstack([table, *means, np.zeros(table.shape[1], np.float32)])
        return Block._of_table("word", table, spelled.rows, "token")

    def _carried(self, tokens, layers, compute, reader):
        """Return the blocks row by row, each going on from where it ended."""
        from ..elmo._network import States

        held = 0 if self._states is None else self._states.hidden.shape[2]
        if len(tokens) > held:
            new = States.zeros(self._model.options, len(tokens))
            if held:
                new.put(np.arange(held), self._states)
            self._states = new
        found = SentenceRows(
            tokens,
            layers,
            merge_equal=False,
            memory_limit=self.memory_limit,
            reader=reader,
        )
        rows = np.array([first for first, *_ in found.groups], dtype=np.int64)
        states = self._states.take(rows)
        for i, entry in enumerate(compute(found.sentences, states)):
            found.scatter(i, entry)
        self._states.put(rows, states)
        return [
            Block(layer.name, values, layer.level, known)
            for layer, (values, known) in zip(layers, found.results, strict=True)
        ]


def _at_spaces(texts):
    return TokenSequences.from_lists([text.split() for text in texts])


def _reader(tokens, layers):
    """Return the function from tokens to the distinct sentences that are read."""
    if tokens.texts is None:
        return distinct_sentences
    levels = {layer.level for layer in layers}
    return partial(read_texts, words="token" in levels, whole="sequence" in levels)


def _known_tokens(tokens):
    if tokens.texts is None:
        return np.ones(tokens.n_tokens, dtype=bool)
    return spelled_tokens(tokens).rows >= 0


def _block(output, found):
    """Return the block of an output."""
    if output.kind == "twice":
        word = found["word", 0]
        if word.level == "token":
            table, rows = word._source
            table = np.concatenate([table, table], axis=1)
            return Block._of_table(output.name, table, rows, "token")
        values = np.concatenate([word.values, word.values], axis=1)
        return Block(output.name, values, "type", word.known)
    return found[output.kind, output.layer].rename(output.name)
