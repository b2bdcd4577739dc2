"""ContextualEmbedding: base class of sources that read whole sentences."""

import os
from contextlib import contextmanager

from ..._core._optional import progress_bar
from ..._core._sklearn import COUNT, NATURAL, StrOptions
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
