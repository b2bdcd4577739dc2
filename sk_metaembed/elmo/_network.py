"""BiLanguageModel: the network that computes ELMo's layers."""

from typing import NamedTuple

import numpy as np
import torch

from ._lstm import InputGates, Lane
from ._packing import N_MARKS, Packing
from ._token_encoder import TokenEncoder
from ._weights import DIRECTIONS


class States(NamedTuple):
    """What the LSTMs hold when sequences have ended, on the CPU.

    Parameters
    ----------
    hidden : tensor of shape (n_layers, 2, n_sequences, projection_dim)
    cells : tensor of shape (n_layers, 2, n_sequences, cell_dim)
    """

    hidden: object
    cells: object

    def take(self, rows):
        """Return copies of the states of some sequences."""
        rows = torch.from_numpy(rows)
        return States(self.hidden[:, :, rows], self.cells[:, :, rows])

    def put(self, rows, states):
        """Overwrite the states of some sequences."""
        rows = torch.from_numpy(rows)
        self.hidden[:, :, rows], self.cells[:, :, rows] = states

    def of(self, layer, rows):
        """Return copies of a layer's hidden states and cells, for some sequences."""
        rows = torch.from_numpy(rows)
        return self.hidden[layer][:, rows], self.cells[layer][:, rows]

    @classmethod
    def joined(cls, after, order):
        """Return the states that lanes ended with, in the order of the input.

        Parameters
        ----------
        after : list of list of (hidden, cells)
            Of each layer and lane.
        order : ndarray of int
            The sequences, as the lanes had them.
        """
        back = torch.from_numpy(np.argsort(order))
        parts = []
        for part in range(2):
            layers = []
            for lanes in after:
                tensors = [lane[part].cpu() for lane in lanes]
                both = torch.stack(tensors) if len(tensors) > 1 else tensors[0]
                layers.append(both[:, back])
            parts.append(torch.stack(layers))
        return cls(*parts)

    @classmethod
    def zeros(cls, options, n_sequences):
        """Return those of sequences that have not begun."""
        shape = options.n_layers, 2, n_sequences
        hidden = torch.zeros(*shape, options.projection_dim)
        return cls(hidden, torch.zeros(*shape, options.cell_dim))


class BiLanguageModel:
    """Token encoder and LSTMs of both directions, for inference.

    Parameters
    ----------
    weights : dict of str to ndarray
        As `read_weights` gives them.
    options : ElmoOptions
    device : str
    dtype : str
        Of the products: "float32", "float16" or "bfloat16".
    """

    def __init__(self, weights, options, device="cpu", dtype="float32"):
        self.options, self.device = options, torch.device(device)
        of = options, self.device, getattr(torch, dtype)
        with torch.inference_mode():
            self.encoder = TokenEncoder(weights, *of)
            self._layers = [
                [
                    Lane(weights, options, layer, lane, *of[1:])
                    for lane in _lanes(self.device)
                ]
                for layer in range(options.n_layers)
            ]

    @torch.inference_mode()
    def layers(self, table, sentences, depth=None, states=None):
        """Return the vectors of sentences' words at each layer.

        Parameters
        ----------
        table : tensor of shape (N_MARKS + n_words, projection_dim)
            Vectors of the marks and of words, from the encoder.
        sentences : list of ndarray of int
            Rows of the table, one a word; each with at least one.
        depth : int, default=None
            How many LSTM layers are wanted; None for all.
        states : States, default=None
            What the sentences go on from; None for nothing.

        Returns
        -------
        layers : list of tensor of shape (n_tokens, 2 * projection_dim)
            Over the sentences in the order in which they came; the token vectors,
            twice, come first.
        states : States or None
            After the sentences; None where none were given.
        """
        begin, end = range(N_MARKS)
        marked = [np.r_[begin, sentence, end] for sentence in sentences]
        lengths = np.array([len(rows) for rows in marked])
        rows, packing = np.concatenate(marked), Packing(lengths)
        words = self._for_lanes(torch.from_numpy(rows[packing.places]))
        inside = np.ones(len(rows), dtype=bool)
        inside[np.cumsum(lengths) - 1] = inside[np.cumsum(lengths) - lengths] = False
        places = [
            torch.from_numpy(packing.unpacked(d)[inside]).to(self.device)
            for d in DIRECTIONS
        ]
        found = [table[torch.from_numpy(rows[inside]).to(self.device)].repeat(1, 2)]
        outs, after = None, []
        for k, layer in enumerate(self._layers[:depth]):
            before = None if states is None else states.of(k, packing.order)
            outs, state = self._layer(layer, packing, table, words, outs, before)
            found.append(_side_by_side(outs, places))
            after.append(state)
        return found, None if states is None else States.joined(after, packing.order)

    def _layer(self, layer, packing, table, words, outs, before):
        """Return the hidden states of a layer's lanes, and what they end with."""
        states = [None] * len(layer)
        if before is not None:
            parts = [self._for_lanes(part) for part in before]
            states = list(zip(*parts, strict=True))
        found, after = [], []
        last = torch.from_numpy(packing.last).to(self.device)
        for lane, rows, x, state in zip(
            layer, words, outs or [None] * len(layer), states, strict=True
        ):
            gates = InputGates(lane, table, rows) if x is None else InputGates(lane, x)
            hidden, cells = lane.run(packing, gates, state)
            after.append((hidden[..., last, :], cells))
            if x is not None and self.options.skip_connections:
                hidden += x
            found.append(hidden)
        return found, after

    def _for_lanes(self, both):
        """Return what is given for both directions as each lane takes it."""
        both = both.to(self.device)
        return [both] if len(self._layers[0]) == 1 else list(both)


def _lanes(device):
    return [(d,) for d in DIRECTIONS] if device.type == "cpu" else [DIRECTIONS]


def _side_by_side(outs, places):
    """Return the directions' vectors of tokens, forward first."""
    directions = outs if len(outs) > 1 else outs[0]
    return torch.cat(
        [out[place] for out, place in zip(directions, places, strict=True)], dim=1
    )
