"""ElmoModel: a bidirectional language model from files, loaded once a process."""

import os
import threading
from typing import NamedTuple

from ..elmo._options import read_options
from ..elmo._weights import check_weights, read_weights
from ..sequences._handles import Handles
from ..vectors._fetch import kept_at, local_file
from ._fingerprint import file_digest, fingerprint_of
from ._reopening import reopened

_WHOSE = "ElmoEmbedding"
_NAMES = ("options.json", "weights.hdf5")
_handles = Handles(keep=2)


class ElmoSpec(NamedTuple):
    """What tells one loaded model from another."""

    options: str
    weights: str
    device: str = "cpu"
    dtype: str = "float32"


class ElmoModel:
    """A model from files, shared by all that asked for the same.

    A pickle of it is the files' places and its fingerprint; the weights are read where
    they are first needed.

    Parameters
    ----------
    spec : ElmoSpec
    files : tuple of Path
        Of options and weights.

    Attributes
    ----------
    options : ElmoOptions
    fingerprint : str
        Of weights, options and precision.
    lock : RLock
    """

    _kept_as = "elmo"  # in files that `save` writes

    def __init__(self, spec, files):
        self.spec = spec
        self._places, self._weights = files, files[1]
        self.options = read_options(files[0])
        check_weights(files[1], self.options)
        self.fingerprint = fingerprint_of(
            {
                "options": self.options._asdict(),
                "weights": file_digest(files[1]),
                "dtype": spec.dtype,
            }
        )
        self.lock = threading.RLock()
        self._network = None

    @property
    def network(self):
        """The BiLanguageModel, loaded when it is first asked for."""
        from ..elmo._network import BiLanguageModel

        with self.lock:
            if self._network is None:
                weights = read_weights(self._weights, self.options)
                self._network = BiLanguageModel(
                    weights, self.options, self.spec.device, self.spec.dtype
                )
            return self._network

    @property
    def device_type(self):
        """Where it computes, "cpu" or "cuda", without loading anything."""
        return self.spec.device.partition(":")[0]

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _reopen, (self.spec, self.fingerprint)

    def _reference(self):
        """Return what a saved file tells of the model."""
        return {**self.spec._asdict(), "fingerprint": self.fingerprint}

    def _files(self, where):
        """Return the files that a saved file takes in, by name."""
        return dict(zip(_NAMES, self._places, strict=True))


def shared_elmo(spec):
    """Return the process's handle on a model, made if it is new or its files changed.

    Parameters
    ----------
    spec : ElmoSpec

    Returns
    -------
    ElmoModel
    """
    files = tuple(local_file(place, whose=_WHOSE) for place in spec[:2])
    spec = spec._replace(options=_absolute(spec.options))
    spec = spec._replace(weights=_absolute(spec.weights))
    key = spec, tuple(map(_signature, files))
    return _handles.get(key, lambda: ElmoModel(spec, files))


def _absolute(place):
    """Return a path as one that means the same in another working directory."""
    if "://" in place:
        return place
    return os.path.abspath(os.path.expanduser(place))


def _signature(file):
    try:
        found = os.stat(file)
    except OSError:  # reading it will say what is wrong
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _reopen(spec, fingerprint):
    return reopened(
        shared_elmo,
        spec,
        fingerprint,
        what="ELMo",
        where=f"{spec.options} and {spec.weights}",
        parts="options or weights",
    )


def from_reference(kind, content):
    """Return the handle on a model that a saved file refers to; nothing is fetched.

    Raises
    ------
    FileNotFoundError
        If a file is not here.
    ValueError
        If it holds something else by now.
    """
    spec = ElmoSpec(*(content[name] for name in ElmoSpec._fields))
    for place in spec[:2]:
        if not kept_at(place).is_file():
            raise FileNotFoundError(f"{_WHOSE}: {place} is not on this machine.")
    return _reopen(spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the handle on a model that came in a saved file."""
    places = {
        n: os.path.join(folder, f)
        for n, f in zip(ElmoSpec._fields, _NAMES, strict=False)
    }
    content = {**content, **places}
    return from_reference(kind, content)
