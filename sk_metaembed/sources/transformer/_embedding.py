"""TransformerEmbedding: vectors of texts or words from a transformer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np

from ..._core._estimators import is_integer
from ..._core._inherited_docs import inherit_docs
from ..._core._sklearn import COUNT, HasMethods, StrOptions
from ..._core._typing import StrPath
from ..._io._handle import shared_handle
from ..._training._device import resolve_device
from ...sequences import Block
from .._base import Preprocess, SourceDocs, coverage, is_first
from .._contextual import ContextualEmbedding, sentence_blocks
from .._fingerprint import fingerprint_of
from .._loaded_encoder import ModelParameterMixin
from .._sentences import SentenceRows, distinct_sentences, distinct_texts
from ._alignment import readable_types
from ._forward import SUBWORD_MODES, ForwardPass, OutputSpec, subwords_beyond
from ._loaded_model import LoadedModel, LoadedPair, check_pair, portable_pair
from ._model import ModelSpec, TransformerModel
from ._network import network_shape, static_vectors

# Part of every cache key: increased when the same options give other vectors.
_VERSION = 1
_OUTPUTS = ("auto", "sentence", "words", "cls", "mean")
# The minimum number of tokens that are computed and stored at once, regardless of
# `batch_tokens`: a slice costs a call of the tokenizer and a transaction of the cache.
_LEAST_SLICE_TOKENS = 8192


@inherit_docs(SourceDocs, ContextualEmbedding)
class TransformerEmbedding(ModelParameterMixin, ContextualEmbedding):
    """Embed texts or their words with a transformer from Hugging Face.

    Works with any encoder, decoder or encoder-decoder model. A sentence encoder returns
    one vector per text, as `SentenceTransformer.encode` does. For any other model, and
    with ``output="words"``, each layer has one vector per token, pooled from the
    subwords of the word, so it can be combined with other sources of words. The model
    reads the original texts, regardless of the tokenizer of the pipeline.

    Parameters
    ----------
    model : str, path-like, (model, tokenizer) or SentenceTransformer
        A folder or a name on the Hugging Face hub, loaded once per process at fit time
        and not pickled; or a loaded model, used as is on its current device, which
        pickles contain.
    layers : int, sequence of int or "all", default=(-1,)
        Hidden states to return: 0 is the input to the first layer, -1 the output of the
        last layer. Can be empty with ``static=True``.
    static : bool, default=False
        Add the pooled rows of the input table as a block "static" at the type level.
        It is looked up by the token, not by the original text: for a cased model, use
        ``Tokenizer(lowercase=False)``.
    subword : {"first", "last", "mean", "max"}, default="mean"
        How the subwords of a word are pooled.
    output : {"auto", "sentence", "words", "cls", "mean"}, default="auto"
        "words" returns one vector per token. The others return one per text: "sentence"
        as the files of a sentence encoder specify, "cls" the hidden state of the
        classification token, and "mean" the mean over all subwords, including special
        tokens. "auto" is "sentence" for a folder with modules.json, unless `layers`,
        `static` or `subword` is set, and "words" otherwise.
    prompt : str, default=None
        Text to prepend to each text, such as "query: "; it gets no row in the output.
        None for the prompt called `prompt_name`, or with "sentence" for the default
        prompt in the encoder's files, if there is one.
    prompt_name : str, default=None
        Name of a prompt in a sentence encoder's files, such as "query".
    task : str, default=None
        Kind of the texts, such as "query" or "document": selects the modules of a
        Router in the model's files, and with "sentence" the prompt of that name, as
        `encode_query` and `encode_document` of sentence-transformers do. None for the
        default route and the default prompt.
    truncate_dim : int, default=None
        Number of dimensions of sentence vectors to keep, for models that were trained
        for it. None for the number in the encoder's files, usually all.
    max_length : int, default=None
        Maximum number of subwords, including special tokens and prompt; longer
        sequences are processed in windows that overlap by half. None for the model's
        limit, or with "sentence" for the limit in the encoder's files.
    truncate : bool, default=None
        Whether to truncate longer sequences instead, with a warning that counts them;
        truncated words are not known. None truncates for "sentence" only, with one
        warning per process.
    revision : str, default=None
        Branch, tag or commit on the hub.
    trust_remote_code : bool, default=False
        Whether to run Python code that belongs to the model.
    trusted : bool, default=False
        Whether to read weights from pickles of torch (``pytorch_model.bin``) if there
        is no model.safetensors. Pickles can execute arbitrary code.
    dtype : {"float32", "float16", "bfloat16"}, default="float32"
        Precision of the network. Returned vectors are float32. bfloat16 is faster on
        GPUs and on processors with instructions for it, and slower on others.
    batch_tokens : int, default=None
        Number of subwords per batch, including padding. None for 512 on a CPU and 16384
        on other devices.

    Attributes
    ----------
    output_ : str
        The selected output.
    prompt_ : str
        The prompt that is used.
    layers_ : tuple of int
        Indices of the returned hidden states, counted from 0.
    n_hidden_states_ : int
        Number of hidden states of the model.
    dtype_ : str
        The precision of the network.
    max_length_ : int or None
        Maximum number of subwords per window.
    n_long_ : int
        Number of sequences of the training fold that exceed one window.
    fingerprint_ : str
        Digest of weights, tokenizer and options; part of the keys of the cache.
    coverage_ : dict
        Fraction of the ``"types"`` and ``"tokens"`` of the training fold that have at
        least one known subword.
    dims_ : dict of str to int
        Dimension of each block by its name: "sentence", "layer6", "cls6", "mean6",
        "static".

    Raises
    ------
    FileNotFoundError
        If the model or its tokenizer is missing; the message names the expected files.
    ValueError
        If the model has no such layer or returns no hidden states, if options
        contradict each other, or if the tokenizer is far smaller than the model's
        vocabulary.
    ImportError
        If transformers is not installed.

    See Also
    --------
    contextual_to_static : Mean vectors of a contextual source over a corpus.
    ContrastiveEmbedding : Trains a sentence encoder on few labels.
    TrainableTransformer : Trains the transformer with a network that predicts.
    EmbeddingCache : Content and size of a cache.

    Notes
    -----
    The vector of a token pools the subwords that overlap its characters in the original
    text (``TokenSequences.texts``). Token lists have no texts, so their tokens are
    joined by spaces. Vectors of whole texts do not depend on the tokens; a text without
    tokens, such as "?!", has a vector too.

    A token without a subword, such as one that a callable `tokenizer` created, is not
    known, and its rows are zero. A word of the unknown subword only has a contextual
    vector, but is not known in the block "static" and not counted in `coverage_`; `fit`
    issues a warning if most tokens of the training fold are such words.

    The page "Transformers" of the user guide describes windows, and networks whose
    vectors depend on the batch.

    References
    ----------
    .. [1] Devlin, Chang, Lee and Toutanova (2019). BERT: Pre-training of deep
       bidirectional transformers for language understanding. NAACL.

    Examples
    --------
    A tiny BERT with random weights:

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
            LoadedPair,
            HasMethods("state_dict"),  # fit raises an error without a tokenizer
        ],
        "layers": [Integral, "array-like", StrOptions({"all"})],
        "static": ["boolean"],
        "subword": [StrOptions(set(SUBWORD_MODES))],
        "output": [StrOptions(set(_OUTPUTS))],
        "prompt": [str, None],
        "prompt_name": [str, None],
        "task": [str, None],
        "truncate_dim": [COUNT, None],
        "max_length": [COUNT, None],
        "truncate": ["boolean", None],
        "revision": [str, None],
        "trust_remote_code": ["boolean"],
        "trusted": ["boolean"],
        "dtype": [StrOptions({"float32", "float16", "bfloat16"})],
    }
    _CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 512, 16_384

    def __init__(
        self,
        model: StrPath | tuple[Any, Any] | Any,
        layers: int | Sequence[int] | Literal["all"] = (-1,),
        *,
        static: bool = False,
        subword: Literal["first", "last", "mean", "max"] = "mean",
        output: Literal["auto", "sentence", "words", "cls", "mean"] = "auto",
        prompt: str | None = None,
        prompt_name: str | None = None,
        task: str | None = None,
        truncate_dim: int | None = None,
        max_length: int | None = None,
        truncate: bool | None = None,
        revision: str | None = None,
        trust_remote_code: bool = False,
        trusted: bool = False,
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
        self.model = model
        self.layers = layers
        self.static = static
        self.subword = subword
        self.output = output
        self.prompt = prompt
        self.prompt_name = prompt_name
        self.task = task
        self.truncate_dim = truncate_dim
        self.max_length = max_length
        self.truncate = truncate
        self.revision = revision
        self.trust_remote_code = trust_remote_code
        self.trusted = trusted
        self.device = device
        self.dtype = dtype
        self.batch_tokens = batch_tokens
        self.cache = cache
        self.cache_dtype = cache_dtype
        self.memory_limit = memory_limit
        self.preprocess = preprocess
        self.missing = missing
        self.verbose = verbose

    def _fit_vectors(self, tokens, y):
        model = self._model = self._open_model()
        self.dtype_ = model.dtype
        with model.lock:
            states, dim = network_shape(model.config, lambda: model.network)
        self.n_hidden_states_ = states
        self.layers_ = _resolve_layers(self.layers, states, self.static)
        self.output_ = self._resolve_output()
        if self.output_ == "sentence":
            options = self._set_sentence_options(dim)
            limit = model.sentence_limit(self.max_length)
        else:
            options = self._set_hidden_state_options(dim)
            limit = model.limit
        limits = [n for n in (self.max_length, limit) if n is not None]
        self.max_length_ = min(limits, default=None)
        window = [self.max_length_, self._truncate]
        options |= {"version": _VERSION, "model": model.fingerprint, "window": window}
        self.fingerprint_ = fingerprint_of(options)
        self.n_long_ = 0
        if self.layers_:
            self.n_long_, _ = self._count_long(*self._find_sentences(tokens))

    def _open_model(self):
        """Return the process's handle on the model."""
        try:
            import transformers  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "transformers is not installed: "
                "pip install 'sk_metaembed[transformers]'."
            ) from error
        if not isinstance(self.model, str | os.PathLike):
            return self._open_loaded()
        spec = ModelSpec(
            os.path.expanduser(os.fspath(self.model)),
            self.revision,
            self.trust_remote_code,
            self.trusted,
            str(resolve_device(self.device)),
            self.dtype,
            self.task,
        )
        return shared_handle(TransformerModel, spec)

    def _open_loaded(self):
        """Return the handle on a model that the user has loaded."""
        check_pair(self.model)
        defaults = {"revision": None, "device": "auto", "dtype": "float32"}
        changed = [
            name for name, value in defaults.items() if getattr(self, name) != value
        ]
        if changed:
            raise ValueError(
                f"a loaded model is used as is, on its current device, so {changed} "
                "must have their default values. Prepare the model itself, for example "
                "with model.to('cuda'), or pass its folder or name."
            )
        return LoadedModel.of(portable_pair(self.model, self.task))

    def _portable_model(self):
        """Return the LoadedPair of a loaded model, the fitted one if it is the same."""
        portable = portable_pair(self.model, self.task)
        fitted = getattr(getattr(self, "_model", None), "portable", None)
        same = portable is not None and fitted is not None and fitted.is_same(portable)
        return fitted if same else portable

    def _resolve_output(self):
        """Return the output that "auto" selects, or the one that is set."""
        if self.output == "auto":
            is_sentence = self._model.has_modules and not self._changed_options()
            return "sentence" if is_sentence else "words"
        if self.output == "sentence" and not self._model.has_modules:
            raise ValueError(
                "output='sentence' reads modules.json of a sentence encoder, which "
                "this model does not have. Use output='mean' or 'cls', or pass the "
                "folder that sentence-transformers saved."
            )
        return self.output

    def _changed_options(self):
        """Return the names of hidden-state options that differ from their defaults."""
        is_changed = {
            "layers": self.layers_ != (self.n_hidden_states_ - 1,),
            "static": self.static,
            "subword": self.subword != "mean",
        }
        return [name for name, value in is_changed.items() if value]

    def _resolve_prompt(self, *, use_default):
        """Return `prompt`, the prompt `prompt_name`, or the prompt of the task."""
        settings, task = self._model.settings, self.task
        return settings.prompt(
            self.prompt, self.prompt_name, task, use_default=use_default
        )

    def _set_hidden_state_options(self, dim):
        """Set the resolved options, and return those that the fingerprint contains.

        `layers` is left out: the cache stores each layer under its own name.
        """
        if self.truncate_dim is not None:
            raise ValueError(
                "truncate_dim applies to output='sentence', but "
                f"output={self.output!r} returns hidden states."
            )
        self.prompt_ = self._resolve_prompt(use_default=False)
        if self.output_ == "cls" and self._aligner.special.cls is None:
            raise ValueError(
                "output='cls' requires a classification token, but this tokenizer adds "
                "none to a text. Use output='mean'."
            )
        self._spec = OutputSpec(self.layers_, self.output_, self.subword, dim)
        self._static, self._truncate = self.static, bool(self.truncate)
        return {"text": self.prompt_, "subword": self.subword}

    def _set_sentence_options(self, dim):
        """Set the resolved options, and return those that the fingerprint contains."""
        if changed := self._changed_options():
            name = changed[0]
            raise ValueError(
                f"{name}={getattr(self, name)!r} applies to hidden states, but "
                "output='sentence' is computed by the encoder's modules. Remove it, or "
                "use output='words', 'cls' or 'mean'."
            )
        modules = self._model.modules
        self.prompt_ = self._resolve_prompt(use_default=True)
        kept = self.truncate_dim or self._model.settings.truncate_dim
        dim = min(n for n in (modules.dim(dim), kept) if n is not None)
        self._spec = OutputSpec(self.layers_, "sentence", self.subword, dim)
        self._static, self._truncate = False, self.truncate in (None, True)
        return {"sentence": True, "prompt": self.prompt_, "dim": dim}

    def _learn(self, tokens, y):
        blocks = super()._learn(tokens, y)
        self.coverage_ = coverage(tokens, blocks, self._readable_types(tokens))
        # Not in `_fit_vectors`, which sources that train the transformer call too.
        self._warn_if_output_differs()
        return blocks

    def _prepare_network(self):
        super()._prepare_network()
        if self.layers_:
            with self._model.lock:
                self._model.network.pack()

    @property
    def _aligner(self):
        return self._model.aligner(self.prompt_)

    def _readable_types(self, tokens):
        """Return which types can be known at all, (n_types,) bool."""
        with self._model.lock:
            return readable_types(tokens, self._aligner)

    def _embed(self, tokens):
        self._model.check_unchanged()
        blocks = []
        if self.layers_:
            blocks += self._contextual(tokens)
        if self._static:
            words = tokens.types.tolist()
            values, known = static_vectors(
                self._model, self._aligner, words, self._spec.subword
            )
            blocks.append(Block("static", values, "type", known, copy=False))
        return blocks

    def _contextual(self, tokens):
        groups, sentences = self._find_sentences(tokens)
        if self._truncate:
            self._warn_if_truncated(groups, sentences, len(tokens))
        kinds, limit = self._spec.kinds, self.memory_limit
        rows = SentenceRows(tokens, groups, sentences, kinds, memory_limit=limit)
        budget = self._budget(self._model.device_type)
        with self._opened(rows) as (cache, bar):
            compute = ForwardPass(
                self._model,
                self._aligner,
                self._spec,
                limit=self.max_length_,
                truncate=self._truncate,
                budget=budget,
                progress=bar.update,
            )
            size = max(_LEAST_SLICE_TOKENS, 4 * budget)
            return sentence_blocks(cache, rows, compute, slice_tokens=size)

    def _find_sentences(self, tokens, *, merge_equal=True):
        """Return the sequences of each distinct sentence, and the sentences.

        These are original texts if they are known and, for vectors of words, if the
        tokenizer returns the offsets by which subwords are assigned to words.
        """
        words = self._spec.output == "words"
        if tokens.texts is None or (words and not self._aligner.has_offsets):
            return distinct_sentences(tokens, merge_equal=merge_equal)
        return distinct_texts(
            tokens, per_token=words, per_text=not words, merge_equal=merge_equal
        )

    def _count_long(self, groups, sentences):
        """Return how many sequences exceed a window, and by how many subwords."""
        as_text, limit = self._spec.output != "words", self.max_length_
        with self._model.lock:
            beyond = subwords_beyond(sentences, self._aligner, limit, as_text=as_text)
        sizes = np.array([len(sequences) for sequences in groups], dtype=np.int64)
        return int(sizes[beyond > 0].sum()), int(sizes @ beyond)

    def _warn_if_truncated(self, groups, sentences, n_sequences):
        """Warn if texts exceed the first window, with ``truncate=None`` only once."""
        n_long, n_subwords = self._count_long(groups, sentences)
        if not n_long:
            return
        if self.truncate is None and not is_first((self.fingerprint_, "long")):
            return
        result = "and the words there are not known"
        if self.output_ == "sentence":
            result = "as sentence-transformers does"
        warnings.warn(
            f"TransformerEmbedding: {n_long} of {n_sequences} sequences are longer "
            f"than {self.max_length_} subwords: {n_subwords} subwords at their ends "
            f"are cut off, {result}. Use truncate=False for windows.",
            stacklevel=2,
        )

    def _warn_if_output_differs(self):
        """Warn once if "mean" or "cls" differs from the output in the files."""
        model = self._model
        if self.output_ not in ("mean", "cls") or not model.has_modules:
            return
        try:
            modules = model.modules
        except ValueError:  # an unknown module; output="sentence" raises
            return
        reason = modules.differs_from(self.output_)
        default = model.settings.prompt(None, None, self.task)
        if reason is None and default and not self.prompt_:
            reason = f"the prompt {default!r}"
        if reason is None or not is_first((model.fingerprint, self.output_)):
            return
        warnings.warn(
            f"TransformerEmbedding: output={self.output_!r}, but the files of this "
            f"sentence encoder say {reason}. Use output='sentence' for the vectors "
            "that its authors trained.",
            stacklevel=2,
        )


def _resolve_layers(layers, n_states, static):
    """Return the indices of hidden states, counted from 0.

    >>> _resolve_layers((-1, 0), 7, static=False)
    (6, 0)
    >>> _resolve_layers("all", 3, static=False)
    (0, 1, 2)
    """
    if isinstance(layers, str):
        return tuple(range(n_states))
    layers = [layers] if is_integer(layers) else list(layers)
    for layer in layers:
        if not is_integer(layer) or not -n_states <= layer < n_states:
            raise ValueError(
                f"layers={layers!r} contains {layer!r}, but the model has {n_states} "
                "hidden states: use 0 (the input to the first layer) to "
                f"{n_states - 1}, or {-n_states} to -1 (the last output)."
            )
    resolved = tuple(int(layer) % n_states for layer in layers)
    if len(set(resolved)) < len(resolved):
        raise ValueError(
            f"layers={layers!r} contains a layer twice; counted from 0 they are "
            f"{resolved}."
        )
    if not resolved and not static:
        raise ValueError(
            "layers is empty and static=False, so there is nothing to return. Pass a "
            "layer, or use static=True."
        )
    return resolved
