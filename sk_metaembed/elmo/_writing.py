"""Write a bidirectional language model as AllenNLP and bilm-tf have it."""

import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ..sequences._new_file import beside
from ._hdf5 import imported_h5py
from ._options import N_CHARACTERS

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
        parts = [stack.enter_context(beside(file)) for file in files]
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
