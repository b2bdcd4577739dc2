"""An ELMo model, loaded once per process."""

import os
from typing import NamedTuple

from ..._io._handle import file_states
from .._contextual import NetworkModel
from .._fingerprint import file_digest, fingerprint_of
from ._character_ids import count_truncated
from ._model_files import NAMES, absolute, check_weights, find_files, read_weights
from ._options import read_options


class ElmoSpec(NamedTuple):
    """Identity of a loaded model; without `weights`, `options` contains both files."""

    options: str
    weights: str | None
    device: str = "cpu"
    dtype: str = "float32"


class ElmoModel(NetworkModel, keep=2):
    """A model from files, shared by all sources of a process that use it.

    Its fingerprint is a digest of weights, options and precision.
    """

    _kind, _Spec = "ELMo model", ElmoSpec

    def __init__(self, spec, paths):
        super().__init__(spec)
        self._paths, self.options = paths, read_options(paths[0])
        check_weights(paths[1], self.options)
        self.fingerprint = fingerprint_of(
            {
                "options": self.options._asdict(),
                "weights": file_digest(paths[1]),
                "dtype": spec.dtype,
            }
        )

    def count_truncated(self, words):
        """Return how many words are too long for the model, with a warning."""
        limit, remedy = self.options.max_characters, "Split them before this step"
        return count_truncated("ElmoEmbedding", words, limit, remedy)

    @classmethod
    def _find(cls, spec, local):
        paths = find_files(spec.options, spec.weights, local=local)
        options, weights = map(absolute, spec[:2])
        spec = spec._replace(options=options, weights=weights)
        return spec, file_states(paths), paths

    def _new_network(self):
        from ._network import BiLanguageModel

        spec, weights = self._spec, read_weights(self._paths[1], self.options)
        return BiLanguageModel(weights, self.options, spec.device, spec.dtype)

    def _files(self):
        """Return the files that a saved file may include, by name."""
        return dict(zip(NAMES, self._paths, strict=True))

    @classmethod
    def _unpacked(cls, spec, folder):
        options, weights = (os.path.join(folder, name) for name in NAMES)
        return spec._replace(options=options, weights=weights)
