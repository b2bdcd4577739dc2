"""Files of a language model: options, weights and softmax, vocabulary.

Options and weights are in the format of AllenNLP and bilm-tf.
"""

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...._io._atomic import atomic_path
from ...._io._download import local_file
from .._model_files import (
    array_types,
    import_h5py,
    open_hdf5,
    read_array,
    read_weights,
)
from .._options import ElmoOptions, options_to_dict, read_options
from ._corpus import SPECIAL

VOCABULARY = "vocab.txt"


def write_model(folder, options, weights, words=None):
    """Write and return options.json and weights.hdf5; write vocab.txt if `words`.

    The folder is created if missing. All files are written under temporary names first,
    so that a full disk does not destroy an earlier model.
    """
    h5py = import_h5py()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "options.json", folder / "weights.hdf5"]
    files += [] if words is None else [folder / VOCABULARY]
    with ExitStack() as stack:
        parts = [stack.enter_context(atomic_path(file)) for file in files]
        parts[0].write_text(json.dumps(options_to_dict(options), indent=2), "utf-8")
        with h5py.File(parts[1], "w") as h5:
            for name, array in weights.items():
                h5[name] = np.asarray(array, dtype=np.float32)
        if words is not None:
            text = "".join(f"{word}\n" for word in words)
            parts[2].write_bytes(text.encode("utf-8", "surrogatepass"))
    return files[0], files[1]


_FULL = {"weight": "softmax/W", "bias": "softmax/b"}
_ADAPTIVE = "softmax/adaptive/"


class SavedModel(NamedTuple):
    """A model read from files."""

    options: ElmoOptions
    weights: dict  # arrays of the network
    words: list | None  # the vocabulary; None without a vocabulary or a softmax
    softmax: dict  # arrays by their parameter names in the module; may be empty
    file: Path  # the weight file

    @property
    def softmax_kind(self):
        """The kind of the softmax, None if there is none."""
        if self.words is None:
            return None
        return "full" if self.softmax.keys() <= _FULL.keys() else "adaptive"

    def load_into(self, module):
        """Copy the weights into a LanguageModule."""
        import torch

        weights = module.bilm.weights
        for name in list(weights.keys()):
            if name in self.weights:
                weights[name].data.copy_(torch.from_numpy(self.weights[name]))
            else:  # bilm-tf has no projection between equal dimensions
                del weights[name]
        if self.words is None:
            return
        state = module.softmax.state_dict()
        expected = {name: tuple(tensor.shape) for name, tensor in state.items()}
        actual = {name: array.shape for name, array in self.softmax.items()}
        if actual != expected:
            raise ValueError(
                f"the softmax in {self.file} has arrays of the shapes {actual}; "
                f"the options and {len(self.words)} words require {expected}. Check "
                "that options, weights and vocabulary are of the same model."
            )
        softmax = {name: torch.from_numpy(a) for name, a in self.softmax.items()}
        module.softmax.load_state_dict(softmax)


def write_language_model(folder, options, module, words):
    """Write a LanguageModule and its vocabulary; return the first two files."""
    arrays = dict(module.bilm.weights)
    for name, tensor in module.softmax.state_dict().items():
        arrays[_FULL.get(name, _ADAPTIVE + name)] = tensor
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in arrays.items()}
    return write_model(folder, options, arrays, words)


def read_language_model(model):
    """Return the SavedModel in a folder, or in a tuple of files.

    The tuple is (options, weights) or (options, weights, vocabulary), of paths or URLs.
    """
    options_file, file, *vocabulary = _files(model)
    options = read_options(options_file)
    weights = read_weights(file, options)
    softmax = _read_softmax(file) if vocabulary else {}
    words = _read_vocabulary(vocabulary[0]) if softmax else None
    return SavedModel(options, weights, words, softmax, file)


def _files(model):
    """Return the paths of options, weights and, if there is one, vocabulary."""
    if isinstance(model, str | os.PathLike):
        if "://" in os.fspath(model):
            raise ValueError(
                f"{model!r} is a URL; a folder must be a local path. Pass the URLs of "
                "the files: (options, weights), or (options, weights, vocabulary)."
            )
        folder = Path(model).expanduser()
        files = [folder / name for name in ("options.json", "weights.hdf5")]
        vocabulary = folder / VOCABULARY
        return [*files, vocabulary] if vocabulary.is_file() else files
    is_tuple = isinstance(model, tuple | list) and len(model) in (2, 3)
    if not is_tuple or not all(isinstance(file, str | os.PathLike) for file in model):
        raise ValueError(
            "a saved model must be a folder, (options, weights), or (options, "
            f"weights, vocabulary), of paths or URLs; got {model!r}."
        )
    return [local_file(file) for file in model]


def _read_softmax(file):
    """Return the arrays of the softmax by parameter name, none without a softmax."""
    with open_hdf5(file) as h5:
        names = array_types(h5, file)
        named = {k: name for k, name in _FULL.items() if name in names} or {
            name.removeprefix(_ADAPTIVE): name
            for name in names
            if name.startswith(_ADAPTIVE)
        }
        return {k: read_array(h5, name, file) for k, name in named.items()}


def _read_vocabulary(file):
    if not file.is_file():
        raise FileNotFoundError(f"no vocabulary file {str(file)!r}.")
    try:
        text = file.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not a vocabulary: {error}.") from error
    words = text.split("\n")[:-1]
    if tuple(words[: len(SPECIAL)]) != SPECIAL or len(set(words)) < len(words):
        raise ValueError(
            f"{file} is not a vocabulary: it must have one word per line, no "
            f"word twice, and begin with the marks {SPECIAL}; got {words[:3]}."
        )
    return words
