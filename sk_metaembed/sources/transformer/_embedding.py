"""TransformerEmbedding: BERT and its kin as a source, static and layer by layer."""

import os
import warnings
from copy import copy
from functools import partial
from numbers import Integral

from sklearn.utils._param_validation import HasMethods, Hidden, Interval, StrOptions

from ...sequences import Block
from ...sequences._mixins import MISSING_CONSTRAINT
from .._base import PREPROCESS_CONSTRAINT, BaseEmbedding
from .._fingerprint import fingerprint_of
from .._original_text import distinct_texts
from ..cache._compute import (
    Layer,
    distinct_sentences,
    sentence_blocks,
    token_bar,
)
from ..cache._sentence_cache import open_cache
from ._forward import SUBWORD_MODES, ContextualPass, Wanted
from ._model import PortablePair, static_vectors
from ._network import network_shape
from ._options import (
    Shared,
    chosen_layers,
    chosen_outputs,
    is_pair,
    opened_model,
)
from ._tokenizer_checks import types_read
from ._windows import pieces_beyond

# Part of every cache key: raised when the same options come to give other vectors.
_VERSION = 1
_BATCH_TOKENS = {"cpu": 512}
_ON_GPU = 16_384
_NAMES = {"words": "layer", "cls": "cls", "mean": "mean"}
_LEVELS = {"words": "token", "cls": "sequence", "mean": "sequence"}


class TransformerEmbedding(BaseEmbedding):
    """Embed with a transformer from Hugging Face: word by word, one block a layer.

    Any encoder, decoder or encoder of a pair: pieces of the tokenizer are pooled to
    the words that came, so that its layers stand on the same tokens as every other
    source and combine with them. The model reads texts as they were written, with case
    and punctuation, however they were split into tokens. Equal sentences are computed
    once, in batches of like length; with `cache` once for all folds, candidates,
    processes and runs.

    Parameters
    ----------
    model : str, path-like or (model, tokenizer)
        A folder, a name on the Hugging Face hub, or both parts loaded. What is named
        is read at fit, once a process, and stays out of pickles. What is loaded is
        used where and as it is, and travels in pickles whole.
    layers : int, sequence of int or "all", default=(-1,)
        Hidden states: 0 is the input to the first layer, -1 the output of the last.
        Empty for none, with ``static=True``.
    static : bool, default=False
        Add the input table of pieces, pooled, as a block "static" at the type level:
        one vector per distinct token, whatever its context. It is looked up by the
        token, not by the original text: for a model that knows case, use
        ``Tokenizer(lowercase=False)``.
    subword : {"first", "last", "mean", "max"}, default="mean"
        How the pieces of a word become its vector.
    output : {"words", "cls", "mean"} or sequence of them, default="words"
        "words" gives blocks at the token level. At the sequence level "cls" gives the
        classification token's vectors and "mean" the mean over all pieces, special
        tokens included, as sentence encoders do.
    special_tokens : bool, default=True
        Put the tokenizer's special tokens around sentences.
    prefix : str, default=""
        Text before each sentence, such as "query: ", that takes no row. Original texts
        follow it directly, token lists after a space.
    separator : str, default=None
        A token that stands between the two texts of a pair. In its place goes what the
        tokenizer puts between two texts, and what follows gets the types of a second.
    max_length : int, default=None
        Pieces a window, special tokens and prefix included. None for what the model
        takes.
    truncate : bool, default=False
        Cut longer sequences, with a warning that counts them, instead of using
        several windows. Words that were cut off are not known.
    revision : str, default=None
        Branch, tag or commit on the hub.
    trust_remote_code : bool, default=False
        Run the Python code that the model brings.
    trusted : bool, default=False
        Read weights that are torch's pickles (``pytorch_model.bin``) too, where there
        is no model.safetensors: a pickle can run any code.
    device : str, default="auto"
        "cpu", "cuda" or another name of torch's; "auto" for a GPU if there is one.
    dtype : {"float32", "float16", "bfloat16"}, default="float32"
        Precision of the network. Vectors come out as float32. bfloat16 is faster on
        GPUs and on processors that have instructions for it, and slower on others.
    attn_implementation : str, default=None
        Such as "sdpa" or "eager". None for transformers' choice, "sdpa" where a model
        has it.
    compile : bool, default=False
        Compile the network by `torch.compile`: a slow start, for long runs.
    batch_tokens : int, default=None
        Pieces a batch, padding included. None for 512 on a CPU and 16384 elsewhere.
    cache : path-like, default=None
        Folder that keeps vectors for other folds, candidates, processes and runs.
        See `cache_info` and `limit_cache`.
    cache_layers : {"all", "selected"}, default="all"
        What is kept of a sentence that was computed: every hidden state, so that a grid
        over `layers` costs one pass, or those that `layers` names, in less space.
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
        Show a progress bar, and tell of sequences that are too long for one window.

    Attributes
    ----------
    layers_ : tuple of int
        The hidden states taken, counted from 0.
    n_hidden_states_ : int
        How many the model has.
    max_length_ : int or None
        Pieces a window.
    n_long_ : int
        Sequences of the training fold that are longer: in windows, or cut.
    fingerprint_ : str
        Of weights, tokenizer and options; the cache's key.
    coverage_ : dict
        Share of the training fold's ``"types"`` and ``"tokens"`` of which the tokenizer
        knows a piece: words of nothing but the unknown piece do not count.
    dims_ : dict of str to int
        Dimension of each block, by its name: "layer6", "cls6", "mean6", "static".
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    FileNotFoundError
        If the model or its tokenizer is not there; the message names files to bring.
    ValueError
        If it has no such layer, returns no hidden states, options disagree, or the
        tokenizer is far smaller than the model's vocabulary.
    ImportError
        If transformers is not installed.

    See Also
    --------
    contextual_to_static : A contextual source's mean vectors over a corpus.
    cache_info : What a cache holds.

    Notes
    -----
    Where X knows its texts (``TokenSequences.texts``), these go to the tokenizer
    unchanged, and a token's vector pools the pieces that overlap its characters. A
    piece may belong to several tokens, or to none: it then counts as context, and in
    "mean". A piece that is only a space belongs to the token behind it. Vectors at the
    sequence level are those of the text, whatever its tokens; a text without tokens,
    such as "?!", has one too. With ``output="mean"``, ``preprocess="unit"`` and, for
    long texts, ``truncate=True`` and `max_length` set to the encoder's
    ``max_seq_length``, they are those of sentence-transformers for models that pool by
    the mean. Token lists have no texts: their tokens are joined by spaces. So are the
    tokens of texts, for "words", if the tokenizer cannot tell which characters a piece
    is of, as tokenizers written in Python cannot.

    A token without a piece is not known: its rows are zero. That happens to tokens
    that a callable `tokenizer` made up, and to those cut off by `truncate`;
    `coverage_` counts them. A word of nothing but the unknown piece has a vector of its
    context, yet `coverage_` counts it as unknown, and in the block "static" it is not
    known. `fit` warns if most tokens of the training fold are such words.

    A sequence longer than `max_length` goes through the network in windows that share
    half of their pieces; each word is taken from the window where the shorter of its
    two contexts is longest. A word that is longer than a window is pooled over
    several. "cls" is then the mean over the windows that words are taken from, and
    "mean" counts each piece once.

    A network is tried once on a few pieces, alone and beside others. If padding changes
    its vectors, as in ConvBERT and MobileBERT, batches have sentences of one length; if
    any other sentence does, as with int8 by the range of a batch, one sentence each.

    What a process has read from `cache`, or put there, it keeps at hand, up to 512 MiB;
    ``SK_METAEMBED_SENTENCE_MEMORY`` in the environment sets another number of MiB.

    References
    ----------
    .. [1] Devlin, Chang, Lee and Toutanova (2019). BERT: Pre-training of deep
       bidirectional transformers for language understanding. NAACL.

    Examples
    --------
    A BERT with random weights, as small as can be:

    >>> import pathlib, tempfile
    >>> from transformers import BertConfig, BertModel, BertTokenizer
    >>> from sk_metaembed import TransformerEmbedding
    >>> words = "[PAD] [UNK] [CLS] [SEP] [MASK] king queen ##s rock".split()
    >>> tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})
    >>> size = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    >>> model = BertModel(BertConfig(vocab_size=len(words), **size))
    >>> source = TransformerEmbedding((model, tokenizer), layers="all", static=True)
    >>> embedded = source.fit_transform([["rock", "queens"], ["kings"]])
    >>> [(block.name, block.level, block.values.shape) for block in embedded.blocks]
    [('layer0', 'token', (3, 8)), ('layer1', 'token', (3, 8)),
     ('layer2', 'token', (3, 8)), ('static', 'type', (3, 8))]
    """

    _parameter_constraints: dict = {
        "model": [
            str,
            os.PathLike,
            tuple,
            list,
            Hidden(HasMethods("state_dict")),  # refused in fit, with what is missing
        ],
        "layers": [Integral, "array-like", StrOptions({"all"})],
        "static": ["boolean"],
        "subword": [StrOptions(set(SUBWORD_MODES))],
        "output": [str, "array-like"],
        "special_tokens": ["boolean"],
        "prefix": [str],
        "separator": [str, None],
        "max_length": [Interval(Integral, 1, None, closed="left"), None],
        "truncate": ["boolean"],
        "revision": [str, None],
        "trust_remote_code": ["boolean"],
        "trusted": ["boolean"],
        "device": [str],
        "dtype": [StrOptions({"float32", "float16", "bfloat16"})],
        "attn_implementation": [str, None],
        "compile": ["boolean"],
        "batch_tokens": [Interval(Integral, 1, None, closed="left"), None],
        "cache": [str, os.PathLike, None],
        "cache_layers": [StrOptions({"all", "selected"})],
        "cache_dtype": [StrOptions({"float32", "float16"})],
        "memory_limit": [Interval(Integral, 0, None, closed="left"), None],
        "preprocess": PREPROCESS_CONSTRAINT,
        "missing": MISSING_CONSTRAINT,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        model,
        layers=(-1,),
        *,
        static=False,
        subword="mean",
        output="words",
        special_tokens=True,
        prefix="",
        separator=None,
        max_length=None,
        truncate=False,
        revision=None,
        trust_remote_code=False,
        trusted=False,
        device="auto",
        dtype="float32",
        attn_implementation=None,
        compile=False,
        batch_tokens=None,
        cache=None,
        cache_layers="all",
        cache_dtype="float32",
        memory_limit=None,
        preprocess=None,
        missing="raise",
        verbose=0,
    ):
        self.model = model
        self.layers = layers
        self.static = static
        self.subword = subword
        self.output = output
        self.special_tokens = special_tokens
        self.prefix = prefix
        self.separator = separator
        self.max_length = max_length
        self.truncate = truncate
        self.revision = revision
        self.trust_remote_code = trust_remote_code
        self.trusted = trusted
        self.device = device
        self.dtype = dtype
        self.attn_implementation = attn_implementation
        self.compile = compile
        self.batch_tokens = batch_tokens
        self.cache = cache
        self.cache_layers = cache_layers
        self.cache_dtype = cache_dtype
        self.memory_limit = memory_limit
        self.preprocess = preprocess
        self.missing = missing
        self.verbose = verbose

    def __sklearn_clone__(self):
        # scikit-learn copies parameters deeply; a loaded model is shared instead.
        if isinstance(self.model, str | os.PathLike):
            return super().__sklearn_clone__()
        light = copy(self)
        light.model = Shared(self.model)
        new = super(TransformerEmbedding, light).__sklearn_clone__()
        new.model = self.model
        return new

    def __getstate__(self):
        state = super().__getstate__()
        if is_pair(self.model):
            # That of the fitted model, if it is the same: a pickle has it once.
            portable = getattr(getattr(self, "_model", None), "portable", None)
            if portable is None or portable.pair != tuple(self.model):
                portable = PortablePair(*self.model)
            state = {**state, "model": portable}
        return state

    def __setstate__(self, state):
        if isinstance(state["model"], PortablePair):
            state = {**state, "model": state["model"].pair}
        super().__setstate__(state)

    def _fit_vectors(self, tokens, y):
        model = self._model = opened_model(self)
        self._text = self.prefix, self.separator, self.special_tokens
        frame = model.aligner(*self._text).frame
        states, dim = network_shape(model.config, lambda: model.call)
        self.n_hidden_states_ = states
        self.layers_ = chosen_layers(self.layers, states, self.static)
        outputs = chosen_outputs(self.output, frame)
        self._wanted = Wanted(self.layers_, outputs, self.subword, dim)
        self._static, self._truncate = self.static, self.truncate
        limits = [n for n in (self.max_length, model.limit) if n is not None]
        self.max_length_ = min(limits) if limits else None
        self.fingerprint_ = fingerprint_of(
            {
                "version": _VERSION,
                "model": model.fingerprint,
                "text": self._text,
                "subword": self.subword,
                "window": [self.max_length_, self.truncate],
            }
        )
        self.n_long_ = int((self._beyond(tokens) > 0).sum()) if self.layers_ else 0

    def _readable_types(self, tokens):
        return types_read(tokens, self._model, self._model.aligner(*self._text))

    def _embed(self, tokens):
        self._model.check_unchanged()
        blocks = []
        if self.layers_:
            self._tell_of_long(tokens)
            blocks += self._contextual(tokens)
        if self._static:
            values, known = static_vectors(
                self._model,
                self._model.aligner(*self._text),
                tokens.types.tolist(),
                self._wanted.subword,
            )
            blocks.append(Block("static", values, "type", known))
        return blocks

    def _contextual(self, tokens):
        model, wanted = self._model, self._wanted
        budget = self._budget(model.device_type)
        others = ()
        if self.cache is not None and self.cache_layers == "all":
            every = range(self.n_hidden_states_)
            others = tuple(layer for layer in every if layer not in wanted.layers)
        reader = self._reader(tokens)
        opened = open_cache(self.cache, self.fingerprint_, self.cache_dtype)
        bar = token_bar(
            type(self).__name__,
            tokens,
            verbose=self.verbose,
            cached=self.cache is not None,
            reader=reader,
        )
        with opened as handle, bar:
            compute = ContextualPass(
                model,
                model.aligner(*self._text),
                wanted._replace(layers=wanted.layers + others),
                self.max_length_,
                self._truncate,
                budget,
                bar.update,
            )
            return sentence_blocks(
                handle,
                tokens,
                self._kinds(wanted.layers),
                compute,
                extra_layers=self._kinds(others),
                slice_tokens=max(8192, 4 * budget),
                memory_limit=self.memory_limit,
                reader=reader,
            )

    def _reader(self, tokens, *, places=True):
        """Return the function from tokens to the distinct sentences that are read.

        Texts as they were written, where they are known and pieces find their tokens;
        without `places`, texts alone.
        """
        words = "words" in self._wanted.outputs
        has_offsets = self._model.aligner(*self._text).has_offsets
        if tokens.texts is None or (words and not has_offsets):
            return distinct_sentences
        return partial(
            distinct_texts,
            per_token=words and places,
            per_text=self._wanted.outputs != ("words",),
            separator=self._text[1],
        )

    def _kinds(self, layers):
        """Return a Layer for each layer and output, in the order of the blocks."""
        return [
            Layer(f"{_NAMES[output]}{layer}", self._wanted.dim, _LEVELS[output])
            for layer in layers
            for output in self._wanted.outputs
        ]

    def _budget(self, device_type):
        """Return how many pieces a batch may have."""
        return self.batch_tokens or _BATCH_TOKENS.get(device_type, _ON_GPU)

    def _beyond(self, tokens):
        aligner = self._model.aligner(*self._text)
        read = self._reader(tokens, places=False)
        with self._model.lock:
            return pieces_beyond(tokens, aligner, self.max_length_, read)

    def _tell_of_long(self, tokens):
        if not (self._truncate or self.verbose):
            return
        beyond = self._beyond(tokens)
        n_long, n_pieces = int((beyond > 0).sum()), int(beyond.sum())
        if not n_long:
            return
        told = (
            f"TransformerEmbedding: {n_long} of {len(tokens)} sequences are longer "
            f"than {self.max_length_} pieces"
        )
        if self._truncate:
            warnings.warn(
                f"{told}: {n_pieces} pieces at their ends are cut off, and the words "
                "there are not known. truncate=False uses windows.",
                UserWarning,
                stacklevel=2,
            )
        else:
            print(f"{told}; they are embedded in overlapping windows.")  # noqa: T201
