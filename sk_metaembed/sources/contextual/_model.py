"""NetworkModel: a handle on a model whose network is loaded on first use."""

from ..._io._fork_safe_lock import fork_safe_lock
from ..._io._handle import Handle


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
