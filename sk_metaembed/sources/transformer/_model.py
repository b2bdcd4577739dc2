"""A transformer and its tokenizer, loaded once per process.

A fitted source holds a handle of one of two classes:

- `TransformerModel`: a model from files. All sources with the same `ModelSpec` share
  it. Weights are loaded on first use, and a pickle contains only the name or folder,
  the revision and the fingerprint.
- `LoadedModel` (`_loaded_model.py`): a (model, tokenizer) pair from the user. A pickle
  contains the weights.
"""

import json
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ..._io._handle import file_states
from .._contextual import NetworkModel
from .._encoder_modules import EncoderSettings, read_settings
from .._fingerprint import file_digest, fingerprint_of
from ._alignment import Aligner
from ._model_files import (
    SETTINGS,
    backbone_of,
    check_size,
    find_encoder,
    find_root,
    load_config,
    load_network,
    load_tokenizer,
    model_files,
    read_encoder,
    refuse_unsafe,
)
from ._network import Network, sentence_limit, subword_limit


class ModelSpec(NamedTuple):
    """The options with which a model is loaded from files."""

    model: str
    revision: str | None = None
    trust_remote_code: bool = False
    trusted: bool = False
    device: str = "cpu"
    dtype: str = "float32"
    task: str | None = None


class Transformer(NetworkModel):
    """A transformer with its tokenizer, from files or loaded by the user.

    Its fingerprint is a digest of weights, modules, configuration, tokenizer and
    precision.
    """

    has_modules = False  # whether it is a sentence encoder
    settings = EncoderSettings()  # set for a sentence encoder

    def __init__(self, spec, tokenizer, config):
        super().__init__(spec)
        self.tokenizer, self.config = tokenizer, config
        self._aligners = {}
        check_size(tokenizer, config)

    def check_unchanged(self):
        """Do nothing: weights from files are read once and do not change."""

    @property
    def limit(self):
        """Maximum number of subwords per input, None for no limit."""
        return subword_limit(self.config, self.tokenizer)

    @property
    def padding_id(self):
        """Id that pads shorter rows of a batch; some models count positions from it."""
        for holder in (self.config, self.tokenizer):
            pad = getattr(holder, "pad_token_id", None)
            if isinstance(pad, int) and pad >= 0:
                return pad
        return 0

    def aligner(self, prompt):
        """Return the Aligner with this prompt, created once."""
        with self.lock:
            if prompt not in self._aligners:
                self._aligners[prompt] = Aligner(self.tokenizer, prompt)
            return self._aligners[prompt]

    @cached_property
    def head(self):
        """The SentenceHead on the network's device."""
        from .._encoder_head import SentenceHead

        return SentenceHead(self.modules, self.network.device)

    def sentence_limit(self, max_length):
        """Return how many subwords a sentence encoder reads, None for no limit.

        The limit is at most `max_length`, or the maximum in the files if that is None.
        """
        max_length = max_length or self.modules.max_length
        return sentence_limit(self.config, self.tokenizer, max_length)


class TransformerModel(Transformer, keep=2):
    """A transformer from files, shared by all sources with the same options.

    `encoder` is the result of `find_encoder`, and `paths` is the result of
    `model_files`.
    """

    _kind, _Spec = "transformer", ModelSpec

    def __init__(self, spec, root, encoder, paths):
        self._root, self._encoder = root, encoder
        self._folder, self.dtype = backbone_of(root, encoder), spec.dtype
        self.has_modules = encoder is not None
        self.settings = read_settings(root)
        config = load_config(self._folder, spec)
        super().__init__(spec, load_tokenizer(self._folder, spec), config)
        self._by_name = {path.relative_to(root).as_posix(): path for path in paths}
        # Settings of the transformer are part of the options.
        digests = {
            name: file_digest(path)
            for name, path in self._by_name.items()
            if path.suffix not in SETTINGS or path.parent not in (root, self._folder)
        }
        self.fingerprint = fingerprint_of(
            {**options_of(self.config, self.tokenizer), "files": digests}
            | {"dtype": spec.dtype, "modules": encoder}
        )

    @classmethod
    def _find(cls, spec, local):
        spec, root = find_root(spec, local=local)
        encoder = find_encoder(root, spec.task)
        paths = model_files(root, encoder, spec)
        return spec, file_states(paths), root, encoder, paths

    @cached_property
    def modules(self):
        """The SentenceModules; raises ValueError if one is not known."""
        return read_encoder(self._root, self._encoder, self.settings)

    def _new_network(self):
        module = load_network(self._folder, self._spec)
        return Network(module, self.config, self.padding_id, private=True)

    def private_module(self):
        """Return a torch module that is not shared: frozen, float32, on the CPU."""
        spec = self._spec._replace(device="cpu", dtype="float32")
        return load_network(self._folder, spec)

    def _files(self):
        """Return the files that a saved file may include, by name."""
        trusted = self._spec.trusted or self._spec.trust_remote_code
        refuse_unsafe(self._by_name.values(), trusted=trusted)
        return self._by_name

    @classmethod
    def _unpacked(cls, spec, folder):
        refuse_unsafe(Path(folder).rglob("*"))
        return spec._replace(model=str(folder), revision=None)


def options_of(config, tokenizer):
    """Return everything but the weights that vectors depend on, as JSON values."""
    ignored = {"transformers_version", "_name_or_path", "dtype", "torch_dtype"}
    options = {k: value for k, value in config.to_dict().items() if k not in ignored}
    return {
        "config": json.loads(json.dumps(options, default=str)),
        "tokenizer": _tokenizer_state(tokenizer),
    }


def _tokenizer_state(tokenizer):
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        return {k: v for k, v in state.items() if k not in ("truncation", "padding")}
    settings = json.dumps(tokenizer.init_kwargs, default=str)
    return [type(tokenizer).__name__, tokenizer.get_vocab(), settings]
