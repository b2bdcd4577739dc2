"""Language models on disk: AllenNLP's two files, the vocabulary, and the softmax."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ._options import ElmoOptions, read_options
from ._vocabulary import SPECIAL
from ._weights import imported_h5py, read_weights
from ._writing import write_model

_VOCABULARY = "vocab.txt"
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
    """

    options: ElmoOptions
    weights: dict
    words: list | None
    scores: dict
    is_adaptive: bool

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
            scores = {name: torch.from_numpy(a) for name, a in self.scores.items()}
            module.softmax.load_state_dict(scores)


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
    files = write_model(folder, options, weights | named)
    text = "".join(f"{word}\n" for word in words)
    Path(folder, _VOCABULARY).write_bytes(text.encode("utf-8", "surrogatepass"))
    return files


def _arrays(state):
    return {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}


def read_language_model(place):
    """Return the model in a folder, or in a pair of files.

    Parameters
    ----------
    place : path-like, str, or (options, weights)
        A folder with options.json and weights.hdf5, and vocab.txt where there is one;
        or the two files.

    Returns
    -------
    Saved

    Raises
    ------
    FileNotFoundError, ValueError
        As `read_options` and `read_weights`; and if vocabulary and softmax disagree.
    """
    if isinstance(place, str | os.PathLike):
        folder = Path(place).expanduser()
        files = folder / "options.json", folder / "weights.hdf5"
        vocabulary = folder / _VOCABULARY
    else:
        files, vocabulary = tuple(map(Path, place)), None
    options = read_options(files[0])
    weights = read_weights(files[1], options)
    if vocabulary is None or not vocabulary.is_file():
        return Saved(options, weights, None, {}, False)
    scores, is_adaptive = _scores(files[1])
    if not scores:
        return Saved(options, weights, None, {}, False)
    words = _words(vocabulary)
    n_words = _n_words(scores, is_adaptive)
    if n_words != len(words):
        raise ValueError(
            f"ELMo: {vocabulary} has {len(words)} words, but the softmax in {files[1]} "
            f"is over {n_words}. Do they belong together?"
        )
    return Saved(options, weights, words, scores, is_adaptive)


def _scores(file):
    with imported_h5py().File(file, "r") as held:
        if all(name in held for name in _FULL.values()):
            return {k: np.float32(held[name][...]) for k, name in _FULL.items()}, False
        group = held.get(_ADAPTIVE, {})
        return {name: np.float32(array[...]) for name, array in group.items()}, True


def _n_words(scores, is_adaptive):
    if not is_adaptive:
        return len(scores["weight"])
    tails = [a for name, a in scores.items() if name.endswith(".1.weight")]
    head = len(scores["clusters.head.weight"])  # a place for each cluster included
    return head - len(tails) + sum(map(len, tails))


def _words(file):
    try:
        text = file.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"ELMo: {file} is no vocabulary: {error}.") from error
    words = text.split("\n")[:-1]
    if tuple(words[: len(SPECIAL)]) != SPECIAL or len(set(words)) < len(words):
        raise ValueError(
            f"ELMo: {file} is no vocabulary: expected is a word a line, each once, "
            f"of which the first are {SPECIAL}; got {words[:3]}."
        )
    return words
