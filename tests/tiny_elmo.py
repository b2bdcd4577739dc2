"""ELMos with random weights, and the same arithmetic written out in numpy."""

import os
import tempfile
from functools import cache

import numpy as np

from sk_metaembed.sources.elmo._model_files import weight_shapes
from sk_metaembed.sources.elmo._options import ElmoOptions
from sk_metaembed.sources.elmo.language_model._model_files import write_model

_FOLDER = tempfile.TemporaryDirectory(prefix="sk_metaembed-tiny-elmo-")
OPTIONS = ElmoOptions(
    projection_dim=4,
    cell_dim=6,
    n_layers=2,
    cell_clip=3.0,
    proj_clip=3.0,
    skip_connections=True,
    char_dim=3,
    max_characters=50,
    filters=((1, 3), (2, 4), (3, 5)),
    n_highway=2,
    activation="relu",
)


def random_weights(options, seed=0, scale=0.7):
    """Return random arrays of the shapes that a file has."""
    rng = np.random.default_rng(seed)
    return {
        name: (scale * rng.normal(size=shape)).astype(np.float32)
        for name, shape in weight_shapes(options).items()
    }


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


def carry_state(network, batches):
    """Yield the layers of each batch, whose rows start in the states of the last."""
    import torch

    o = network.options
    states = np.zeros((o.n_layers, 2, 0, o.projection_dim + o.cell_dim), np.float32)
    for batch in batches:
        n_new = max(0, len(batch) - states.shape[2])
        states = np.pad(states, [(0, 0), (0, 0), (0, n_new), (0, 0)])
        words = [word for sentence in batch for word in sentence]
        table = torch.cat([network.encoder.marks(), network.encoder(words)])
        lengths = np.array(list(map(len, batch)))
        ends = np.cumsum(lengths)
        used = np.flatnonzero(lengths)
        rows = [np.arange(ends[i] - lengths[i], ends[i]) + 2 for i in used]
        layers, states[:, :, used] = network.layers(
            table, rows, None, states[:, :, used]
        )
        yield [layer.numpy() for layer in layers]


class Oracle:
    """ELMo one word, one filter and one step at a time, in float64."""

    def __init__(self, options, weights):
        self.options = options
        self.weights = {k: np.asarray(v, np.float64) for k, v in weights.items()}
        self.state = {}  # of (row, direction, layer)

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

    def sentence(self, words, row=None, marks=False):
        """Return the layers of one sentence; a row's state is carried if it is told.

        With ``marks=True`` its begin and its end stay.
        """
        most = self.options.max_characters - 2
        spelled = [list(w.encode("utf-8", "ignore")[:most]) for w in words]
        spelled = [[258, *s, 259] for s in [[256], *spelled, [257]]]
        vectors = np.array([self.word(s) for s in spelled])
        layers = [np.concatenate([vectors, vectors], axis=1)]
        both = [vectors, vectors[::-1]]
        for layer in range(self.options.n_layers):
            for d in (0, 1):
                out = self._lstm(both[d], d, layer, row)
                skip = self.options.skip_connections and layer > 0
                both[d] = out + both[d] if skip else out
            layers.append(np.concatenate([both[0], both[1][::-1]], axis=1))
        return layers if marks else [h[1:-1] for h in layers]

    def _lstm(self, inputs, direction, layer, row):
        o = self.options
        at = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
        w, b, p = (self.weights[at + name] for name in ("W_0", "B", "W_P_0"))
        start = np.zeros(o.projection_dim), np.zeros(o.cell_dim)
        h, c = (
            self.state.get((row, direction, layer), start) if row is not None else start
        )
        out = []
        for x in inputs:
            i, j, f, og = np.split(np.concatenate([x, h]) @ w + b, 4)
            c = _clip(_sigmoid(f + 1) * c + _sigmoid(i) * np.tanh(j), o.cell_clip)
            h = _clip((_sigmoid(og) * np.tanh(c)) @ p, o.proj_clip)
            out.append(h)
        self.state[row, direction, layer] = h, c
        return np.array(out)


_HIGHWAY = ("W_carry", "b_carry", "W_transform", "b_transform")


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _clip(x, most):
    return x if most is None else np.clip(x, -most, most)
