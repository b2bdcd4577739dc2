"""The network of the package elmoformanylangs with random weights, for `elmo_speed.py`.

It encodes words as Unicode characters instead of bytes, so its vectors differ, but the
amount of computation is equal: convolutions, highways and LSTMs of the same sizes.
"""

import string

import numpy as np
import torch
from elmoformanylangs.frontend import Model, create_one_batch
from elmoformanylangs.modules.embedding_layer import EmbeddingLayer

BATCH = 32
MARKS = ("<bos>", "<eos>", "<eow>", "<bow>", "<oov>", "<pad>")


class ManyLangs:
    """Compute the vectors of the last layer in batches sorted by length.

    Parameters
    ----------
    options : ElmoOptions
    """

    def __init__(self, options):
        self._numbers = {c: i for i, c in enumerate((*MARKS, *string.printable))}
        self._config = {
            "encoder": {
                "name": "elmo",
                "projection_dim": options.projection_dim,
                "cell_clip": options.cell_clip,
                "proj_clip": options.proj_clip,
                "dim": options.cell_dim,
                "n_layers": options.n_layers,
            },
            "token_embedder": {
                "name": "cnn",
                "activation": options.activation,
                "filters": options.filters,
                "n_highway": options.n_highway,
                "char_dim": options.char_dim,
                "max_characters_per_token": options.max_characters,
            },
            "dropout": 0.0,
        }
        table = EmbeddingLayer(options.char_dim, self._numbers)
        self._model = Model(self._config, None, table, use_cuda=False).eval()

    @torch.inference_mode()
    def __call__(self, sentences):
        """Return the last layer for all tokens, in sentence order."""
        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        results = {}
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            marked = [["<bos>", *sentences[i], "<eos>"] for i in rows]
            _, characters, _, masks = create_one_batch(
                marked, None, self._numbers, self._config, sort=False
            )
            last = self._model(None, characters, masks)[-1].numpy()
            for i, vectors in zip(rows, last, strict=True):
                results[i] = vectors[1 : len(sentences[i]) + 1]
        return np.concatenate([results[i] for i in range(len(sentences))])
