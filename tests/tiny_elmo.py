"""ELMos with random weights, and the same arithmetic written out in numpy."""

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

_FOLDER = tempfile.TemporaryDirectory(prefix="sk_metaembed-tiny-elmo-")


class Options(NamedTuple):
    projection_dim: int = 4
    cell_dim: int = 6
    n_layers: int = 2
    cell_clip: float | None = 3.0
    proj_clip: float | None = 3.0
    skip_connections: bool = True
    char_dim: int = 3
    max_characters: int = 50
    filters: tuple = ((1, 3), (2, 4), (3, 5))
    n_highway: int = 2
    activation: str = "relu"


OPTIONS = Options()


def random_weights(options, seed=0, scale=0.7):
    """Return random arrays of the shapes that a file has."""
    o, n = options, sum(number for _, number in options.filters)
    shapes = {"char_embed": (261, o.char_dim)}
    for i, (width, number) in enumerate(o.filters):
        shapes[f"CNN/W_cnn_{i}"] = 1, width, o.char_dim, number
        shapes[f"CNN/b_cnn_{i}"] = (number,)
    for k in range(o.n_highway):
        shapes |= {f"CNN_high_{k}/W_{gate}": (n, n) for gate in ("carry", "transform")}
        shapes |= {f"CNN_high_{k}/b_{gate}": (n,) for gate in ("carry", "transform")}
    shapes["CNN_proj/W_proj"] = n, o.projection_dim
    shapes["CNN_proj/b_proj"] = (o.projection_dim,)
    for d in (0, 1):
        for layer in range(o.n_layers):
            cell = f"RNN_{d}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
            shapes[cell + "W_0"] = 2 * o.projection_dim, 4 * o.cell_dim
            shapes[cell + "B"] = (4 * o.cell_dim,)
            shapes[cell + "W_P_0"] = o.cell_dim, o.projection_dim
    rng = np.random.default_rng(seed)
    return {
        name: (scale * rng.normal(size=shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_model(folder, options, weights):
    """Write options.json and weights.hdf5 as AllenNLP does; return their paths."""
    import h5py

    o, folder = options, Path(folder)
    lstm = {"projection_dim": o.projection_dim, "dim": o.cell_dim}
    lstm |= {"n_layers": o.n_layers, "use_skip_connections": o.skip_connections}
    lstm |= {"cell_clip": o.cell_clip, "proj_clip": o.proj_clip}
    cnn = {"embedding": {"dim": o.char_dim}, "filters": o.filters, "n_characters": 262}
    cnn |= {"n_highway": o.n_highway, "activation": o.activation}
    cnn["max_characters_per_token"] = o.max_characters
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "options.json", folder / "weights.hdf5"
    files[0].write_text(json.dumps({"lstm": lstm, "char_cnn": cnn}), "utf-8")
    with h5py.File(files[1], "w") as file:
        for name, array in weights.items():
            file[name] = array
    return files


def write(folder, options=OPTIONS, seed=0):
    """Write the files of a model with random weights; return their paths."""
    return write_model(folder, options, random_weights(options, seed))


@cache
def files():
    return write(_FOLDER.name)


class TinyElmo(os.PathLike):
    """The options or the weights, written when they are first asked for."""

    def __init__(self, which):
        self.which = which

    def __fspath__(self):
        return str(files()[["options", "weights"].index(self.which)])

    def __repr__(self):
        return f"TinyElmo({self.which!r})"


class Oracle:
    """ELMo one word, one filter and one step at a time, in float64."""

    def __init__(self, options, weights):
        self.options = options
        self.weights = {k: np.asarray(v, np.float64) for k, v in weights.items()}

    def word(self, characters):
        """Return the vector of one word, given its ids before padding."""
        w, o = self.weights, self.options
        padded = [*characters, *[260] * (o.max_characters - len(characters))]
        seen = w["char_embed"][padded]
        features = []
        for i, (width, number) in enumerate(o.filters):
            filters = w[f"CNN/W_cnn_{i}"][0]
            results = [
                [
                    (seen[at : at + width] * filters[:, :, f]).sum()
                    + w[f"CNN/b_cnn_{i}"][f]
                    for f in range(number)
                ]
                for at in range(len(seen) - width + 1)
            ]
            features.append(np.max(results, axis=0))
        x = np.concatenate(features)
        x = np.maximum(x, 0) if o.activation == "relu" else np.tanh(x)
        for k in range(o.n_highway):
            w_k = {n: w[f"CNN_high_{k}/{n}"] for n in _HIGHWAY}
            carry = _sigmoid(x @ w_k["W_carry"] + w_k["b_carry"])
            new = np.maximum(x @ w_k["W_transform"] + w_k["b_transform"], 0)
            x = carry * new + (1 - carry) * x
        if "CNN_proj/W_proj" not in w:
            return x
        return x @ w["CNN_proj/W_proj"] + w["CNN_proj/b_proj"]

    def sentence(self, words, marks=False):
        """Return the layers of one sentence; with `marks` also those of its marks."""
        most = self.options.max_characters - 2
        spelled = [list(w.encode("utf-8", "ignore")[:most]) for w in words]
        spelled = [[258, *s, 259] for s in [[256], *spelled, [257]]]
        vectors = np.array([self.word(s) for s in spelled])
        layers = [np.concatenate([vectors, vectors], axis=1)]
        both = [vectors, vectors[::-1]]
        for layer in range(self.options.n_layers):
            for d in (0, 1):
                out = self._lstm(both[d], d, layer)
                skip = self.options.skip_connections and layer > 0
                both[d] = out + both[d] if skip else out
            layers.append(np.concatenate([both[0], both[1][::-1]], axis=1))
        return layers if marks else [h[1:-1] for h in layers]

    def _lstm(self, inputs, direction, layer):
        o = self.options
        at = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
        w, b, p = (self.weights[at + name] for name in ("W_0", "B", "W_P_0"))
        h, c, out = np.zeros(o.projection_dim), np.zeros(o.cell_dim), []
        for x in inputs:
            i, j, f, og = np.split(np.concatenate([x, h]) @ w + b, 4)
            c = _clip(_sigmoid(f + 1) * c + _sigmoid(i) * np.tanh(j), o.cell_clip)
            h = _clip((_sigmoid(og) * np.tanh(c)) @ p, o.proj_clip)
            out.append(h)
        return np.array(out)


_HIGHWAY = ("W_carry", "b_carry", "W_transform", "b_transform")


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _clip(x, most):
    return x if most is None else np.clip(x, -most, most)
