"""Language models on disk: AllenNLP's two files, the vocabulary, and the softmax.

Write a bidirectional language model as AllenNLP and bilm-tf have it.
"""

import json
import os
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._io._atomic import atomic_path
from ..vectors._download import local_file
from ._corpus import SPECIAL
from ._options import N_CHARACTERS, ElmoOptions, read_options
from ._weight_files import (
    array_kinds,
    imported_h5py,
    opened_hdf5,
    read_array,
    read_weights,
)

VOCABULARY = "vocab.txt"


def write_model(folder, options, weights, words=None):
    """Write options.json and weights.hdf5, and vocab.txt where there are words.

    All are written beside their places first: a disk that is full leaves a model of
    before as it was.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    options : ElmoOptions
    weights : dict of str to array
        As `weight_shapes` names them.
    words : list of str, default=None
        The vocabulary.

    Returns
    -------
    options_file, weights_file : Path

    Examples
    --------
    See `ElmoEmbedding`.
    """
    h5py = imported_h5py()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "options.json", folder / "weights.hdf5"]
    files += [] if words is None else [folder / VOCABULARY]
    with ExitStack() as stack:
        parts = [stack.enter_context(atomic_path(file)) for file in files]
        parts[0].write_text(json.dumps(options_as_json(options), indent=2), "utf-8")
        with h5py.File(parts[1], "w") as held:
            for name, array in weights.items():
                held[name] = np.asarray(array, dtype=np.float32)
        if words is not None:
            text = "".join(f"{word}\n" for word in words)
            parts[2].write_bytes(text.encode("utf-8", "surrogatepass"))
    return files[0], files[1]


def options_as_json(options):
    """Return options as they stand in a file, for use and not for training."""
    lstm = {
        "projection_dim": options.projection_dim,
        "dim": options.cell_dim,
        "n_layers": options.n_layers,
        "cell_clip": options.cell_clip,
        "proj_clip": options.proj_clip,
        "use_skip_connections": options.skip_connections,
    }
    char_cnn = {
        "embedding": {"dim": options.char_dim},
        "filters": [list(pair) for pair in options.filters],
        "n_highway": options.n_highway,
        "n_characters": N_CHARACTERS + 1,  # the padding row of AllenNLP's included
        "max_characters_per_token": options.max_characters,
        "activation": options.activation,
    }
    return {"lstm": lstm, "char_cnn": char_cnn}


_FULL = {"weight": "softmax/W", "bias": "softmax/b"}  # bilm-tf's names
_ADAPTIVE = "softmax/adaptive/"


class Saved(NamedTuple):
    """A model from files.

    Parameters
    ----------
    options : ElmoOptions
    weights : dict of str to ndarray
        Of the network.
    words : list of str, or None
        The vocabulary, if there is one and a softmax over it.
    scores : dict of str to ndarray
        Of the softmax, by their names in the module; empty without one.
    is_adaptive : bool
    file : Path
        Of the weights.
    """

    options: ElmoOptions
    weights: dict
    words: list | None
    scores: dict
    is_adaptive: bool
    file: Path

    @property
    def checksum(self):
        """A number that other weights or words would hardly have."""
        found = zlib.crc32(repr((self.options, self.words)).encode())
        for array in (*self.weights.values(), *self.scores.values()):
            found = zlib.crc32(np.ascontiguousarray(array), found)
        return found

    def softmax(self, model):
        """Return the kind of softmax that a model goes on with."""
        if self.words is None:
            return model.softmax
        if self.is_adaptive:
            return "adaptive"
        return "sampled" if model.softmax == "sampled" else "full"

    def load_into(self, module):
        """Overwrite a LanguageModule's weights."""
        import torch

        weights = module.bilm.weights
        for name in list(weights.keys()):
            if name in self.weights:
                weights[name].data.copy_(torch.from_numpy(self.weights[name]))
            else:  # a projection between equal dimensions, which bilm-tf leaves out
                del weights[name]
        if self.words is not None:
            self._check_scores(module.softmax.state_dict())
            scores = {name: torch.from_numpy(a) for name, a in self.scores.items()}
            module.softmax.load_state_dict(scores)

    def _check_scores(self, state):
        wanted = {name: tuple(tensor.shape) for name, tensor in state.items()}
        found = {name: array.shape for name, array in self.scores.items()}
        if found != wanted:
            raise ValueError(
                f"ELMo: the softmax in {self.file} has arrays of the shapes {found}, "
                f"but for {len(self.words)} words and by the options they are "
                f"{wanted}. Do options, weights and vocabulary belong together?"
            )


def write_language_model(folder, options, module, words):
    """Write options.json, weights.hdf5 and vocab.txt.

    Parameters
    ----------
    folder : path-like
    options : ElmoOptions
    module : LanguageModule
    words : list of str
        The vocabulary.

    Returns
    -------
    options_file, weights_file : Path
    """
    weights, scores = _arrays(module.bilm.weights), _arrays(module.softmax.state_dict())
    if set(scores) == set(_FULL):
        named = {_FULL[name]: array for name, array in scores.items()}
    else:
        named = {_ADAPTIVE + name: array for name, array in scores.items()}
    return write_model(folder, options, weights | named, words)


def _arrays(state):
    return {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}


def read_language_model(place):
    """Return the model in a folder, or in a pair of files.

    Parameters
    ----------
    place : path-like, str, or (options, weights)
        A folder with options.json and weights.hdf5, and vocab.txt where there is one;
        or the files, the vocabulary's third if there is one. Files can be URLs.

    Returns
    -------
    Saved

    Raises
    ------
    FileNotFoundError, ValueError
        As `local_file`, `read_options` and `read_weights`; and if vocabulary and
        softmax disagree.
    """
    file, *others = _files(place)
    options = read_options(file)
    file, *vocabulary = others
    weights = read_weights(file, options)
    scores, is_adaptive = _scores(file) if vocabulary else ({}, False)
    if not scores:
        return Saved(options, weights, None, {}, False, file)
    words = _words(vocabulary[0])
    n_words = _n_words(scores, is_adaptive)
    if n_words not in (None, len(words)):
        raise ValueError(
            f"ELMo: {vocabulary[0]} has {len(words)} words, but the softmax in {file} "
            f"is over {n_words}. Do they belong together?"
        )
    if not is_adaptive:
        words, scores = _marks_first(words, scores)
    return Saved(options, weights, words, scores, is_adaptive, file)


def _files(place):
    """Return the paths of options, weights and, if there is one, vocabulary."""
    if isinstance(place, str | os.PathLike):
        if "://" in os.fspath(place):
            raise ValueError(
                f"ELMo: {place!r} is a URL, and no folder is behind one. Give those of "
                "the files: (options, weights), or (options, weights, vocabulary)."
            )
        folder = Path(place).expanduser()
        files = [folder / name for name in ("options.json", "weights.hdf5")]
        vocabulary = folder / VOCABULARY
        return [*files, vocabulary] if vocabulary.is_file() else files
    fits = isinstance(place, tuple | list) and len(place) in (2, 3)
    if not fits or not all(isinstance(part, str | os.PathLike) for part in place):
        raise ValueError(
            "ELMo: a model to begin from is a folder, (options, weights), or (options, "
            f"weights, vocabulary), of paths or URLs; got {place!r}."
        )
    return [local_file(part, caller="ElmoLanguageModel") for part in place]


def _marks_first(words, scores):
    """Return a vocabulary and its softmax in our order; bilm-tf's has </S> first."""
    order = [words.index(mark) for mark in SPECIAL]
    order += sorted(set(range(len(words))) - set(order))
    return [words[k] for k in order], {name: a[order] for name, a in scores.items()}


def _scores(file):
    with opened_hdf5(file) as held:
        there = array_kinds(held, file)
        named = {k: name for k, name in _FULL.items() if name in there}
        if len(named) == 1:
            (lacking,) = set(_FULL.values()) - set(named.values())
            raise ValueError(f"ELMo: {file} has a softmax that lacks {lacking!r}.")
        is_adaptive = not named
        if is_adaptive:
            found = [name for name in there if name.startswith(_ADAPTIVE)]
            named = {name.removeprefix(_ADAPTIVE): name for name in found}
        return {k: read_array(held, n, file) for k, n in named.items()}, is_adaptive


def _n_words(scores, is_adaptive):
    """Return how many words a softmax is over, or None where parts of it lack."""
    if not is_adaptive:
        return len(np.atleast_1d(scores["weight"]))
    tails = [a for name, a in scores.items() if name.endswith(".1.weight")]
    head = scores.get("clusters.head.weight")  # a place for each cluster included
    if head is None or not all(array.ndim for array in (head, *tails)):
        return None
    return len(head) - len(tails) + sum(map(len, tails))


def _words(file):
    if not file.is_file():
        raise FileNotFoundError(f"ELMo: there is no vocabulary {str(file)!r}.")
    try:
        text = file.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"ELMo: {file} is no vocabulary: {error}.") from error
    words = text.split("\n")[:-1]
    if not set(SPECIAL) <= set(words) or len(set(words)) < len(words):
        raise ValueError(
            f"ELMo: {file} is no vocabulary: expected is a word a line, each once, "
            f"{SPECIAL} among them; got {words[:3]}."
        )
    return words
