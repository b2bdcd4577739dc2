"""ContextualEmbedding: base class of sources that read whole sentences."""

import os
from contextlib import contextmanager
from numbers import Integral

from ..._core._sklearn import Interval, StrOptions
from .._base import BaseEmbedding
from ..cache._sentence_blocks import sentence_blocks
from ..cache._sentence_cache import open_cache
from ._sentences import token_bar


class ContextualEmbedding(BaseEmbedding):
    """Compute vectors of tokens in their context, each distinct sentence once.

    A subclass sets `_model`, a `NetworkModel`, and `fingerprint_`, the key of the
    cache, in `fit`. It has the parameters of `_common_constraints`.
    """

    _common_constraints = {
        **BaseEmbedding._common_constraints,
        "device": [str],
        "batch_tokens": [Interval(Integral, 1, None, closed="left"), None],
        "cache": [str, os.PathLike, None],
        "cache_dtype": [StrOptions({"float32", "float16"})],
        "memory_limit": [Interval(Integral, 0, None, closed="left"), None],
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
        self._model.network  # noqa: B018

    @contextmanager
    def _opened(self, tokens, reader):
        """Open the cache and a progress bar; yield `sentence_blocks` and the bar.

        `reader` returns the distinct sentences of tokens.
        """
        opened = open_cache(self.cache, self.fingerprint_, self.cache_dtype)
        with opened as cache, token_bar(self, tokens, reader) as bar:

            def blocks(tokens, layers, compute, **options):
                return sentence_blocks(cache, tokens, layers, compute, **options)

            yield blocks, bar
