"""Base classes of sources that read whole sentences, and of their models."""

import os
from contextlib import contextmanager

from ..._core._optional import progress_bar
from ..._core._sklearn import COUNT, NATURAL, StrOptions
from ..._io._handle import Handle, fork_safe_lock
from .._base import BaseEmbedding
from ..cache._sentence_cache import open_cache


class ContextualEmbedding(BaseEmbedding):
    """Compute vectors of tokens in their context, each distinct sentence once.

    A subclass sets `_model`, a `NetworkModel`, and `fingerprint_`, the key of the
    cache, in `fit`. It has the parameters of `_common_constraints`.
    """

    _common_constraints = {
        **BaseEmbedding._common_constraints,
        "device": [str],
        "batch_tokens": [COUNT, None],
        "cache": [str, os.PathLike, None],
        "cache_dtype": [StrOptions({"float32", "float16"})],
        "memory_limit": [NATURAL, None],
        "verbose": ["verbose"],
    }
    _CPU_BATCH_TOKENS: int
    _GPU_BATCH_TOKENS: int

    def _budget(self, device_type):
        """Return the number of tokens or pieces per batch."""
        on_cpu = device_type == "cpu"
        default = self._CPU_BATCH_TOKENS if on_cpu else self._GPU_BATCH_TOKENS
        return self.batch_tokens or default

    def _load_network(self):
        """Load the network of a fitted source before its first use."""
        if self.cache is None and hasattr(self, "_model"):
            self._prepare_network()

    def _prepare_network(self):
        self._model.load()

    @contextmanager
    def _opened(self, rows):
        """Open the cache and a progress bar over the tokens of a `SentenceRows`.

        With a cache the bar has no total, because some sentences may be cached.
        """
        total = int(rows.sizes.sum()) if self.cache is None else None
        shown = {"desc": type(self).__name__, "unit": " tokens"}
        with (
            open_cache(self.cache, self.fingerprint_, self.cache_dtype) as cache,
            progress_bar(total=total, disable=not self.verbose, **shown) as bar,
        ):
            yield cache, bar


class NetworkModel(Handle):
    """A model that computes with torch.

    Attributes
    ----------
    lock : RLock
        Held while tokenizer or network run: neither is thread-safe.
    """

    def __init__(self, spec):
        self._spec, self.lock = spec, fork_safe_lock()
        self._network = None

    def _new_network(self):
        """Return the network, read from the files of the model."""
        raise NotImplementedError

    def load(self):
        """Load the network, unless it is loaded."""
        with self.lock:
            if self._network is None:
                self._network = self._new_network()

    @property
    def network(self):
        """The network, loaded on first use."""
        self.load()
        return self._network

    @property
    def device_type(self):
        """Type of the device, "cpu" or "cuda"; does not load the network."""
        return self._spec.device.partition(":")[0]

    @classmethod
    def _reopen(cls, spec, fingerprint, *, local=False):
        """Return the handle of a pickle or a saved file; without a GPU, on the CPU."""
        if spec.device.startswith("cuda"):
            import torch

            if not torch.cuda.is_available():
                spec = spec._replace(device="cpu")
        return super()._reopen(spec, fingerprint, local=local)
