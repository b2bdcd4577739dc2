"""An ELMo model, loaded once per process."""

import os
from typing import NamedTuple

from ..._io._download import cached_path, local_file
from ..._io._fork_safe_lock import fork_safe_lock
from ..._io._handle_cache import HandleCache
from .._fingerprint import file_digest, fingerprint_of, reopen_model
from ._options import read_options
from ._weight_files import check_weights, read_weights

_NAMES = ("options.json", "weights.hdf5")
_handles = HandleCache(maxsize=2)


class ElmoSpec(NamedTuple):
    """Identity of a loaded model."""

    options: str
    weights: str
    device: str = "cpu"
    dtype: str = "float32"


class ElmoModel:
    """A model loaded from files, shared by all sources of a process that use it.

    A pickle contains the paths and the fingerprint; weights are loaded on first use.

    Parameters
    ----------
    spec : ElmoSpec
    files : tuple of Path
        The options and weights files.

    Attributes
    ----------
    options : ElmoOptions
    fingerprint : str
        Digest of weights, options and precision.
    lock : RLock
    """

    _saved_kind = "elmo"  # in files that `save` writes

    def __init__(self, spec, files):
        self.spec = spec
        self._paths, self._weights_file = files, files[1]
        self.options = read_options(files[0])
        check_weights(files[1], self.options)
        self.fingerprint = fingerprint_of(
            {
                "options": self.options._asdict(),
                "weights": file_digest(files[1]),
                "dtype": spec.dtype,
            }
        )
        self.lock = fork_safe_lock()
        self._network = None

    @property
    def network(self):
        """The BiLanguageModel, loaded on first use."""
        from ._network import BiLanguageModel

        with self.lock:
            if self._network is None:
                weights = read_weights(self._weights_file, self.options)
                self._network = BiLanguageModel(
                    weights, self.options, self.spec.device, self.spec.dtype
                )
            return self._network

    @property
    def device_type(self):
        """Type of the device, "cpu" or "cuda"; does not load the model."""
        return self.spec.device.partition(":")[0]

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return reopen_model, (shared_elmo, self.spec, self.fingerprint)

    def _reference(self):
        """Return what a saved file stores about the model."""
        return {**self.spec._asdict(), "fingerprint": self.fingerprint}

    def _files(self, where):
        """Return the files that a saved file may include, by name."""
        return dict(zip(_NAMES, self._paths, strict=True))


def shared_elmo(spec):
    """Return this process's model of an `ElmoSpec`, new if its files changed."""
    files = tuple(local_file(path) for path in spec[:2])
    spec = spec._replace(options=_absolute(spec.options))
    spec = spec._replace(weights=_absolute(spec.weights))
    key = spec, tuple(map(_signature, files))
    return _handles.get(key, lambda: ElmoModel(spec, files))


def _absolute(path):
    """Return a path that is valid in any working directory, or a URL as it is."""
    if "://" in path:
        return path
    return os.path.abspath(os.path.expanduser(path))


def _signature(file):
    try:
        stat = os.stat(file)
    except OSError:  # reported when the file is read
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def from_reference(kind, content):
    """Return the model that a saved file refers to, without downloading anything."""
    spec = ElmoSpec(*(content[name] for name in ElmoSpec._fields))
    for path in spec[:2]:
        if not cached_path(path).is_file():
            raise FileNotFoundError(f"ElmoEmbedding: {path} is not on this machine.")
    return reopen_model(shared_elmo, spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the model that is included in a saved file."""
    paths = {
        field: os.path.join(folder, name)
        for field, name in zip(ElmoSpec._fields, _NAMES, strict=False)
    }
    return from_reference(kind, {**content, **paths})
