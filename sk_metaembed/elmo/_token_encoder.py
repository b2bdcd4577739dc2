"""TokenEncoder: words to vectors, from their characters alone."""

import numpy as np
import torch

from ._characters import character_ids, mark_ids
from ._product import Product

_AT_ONCE = 256
_GATES = ("carry", "transform")


class TokenEncoder:
    """Convolutions over characters, highway layers and a projection.

    Parameters
    ----------
    weights : dict of str to ndarray
        As `read_weights` gives them.
    options : ElmoOptions
    device : str
    dtype : torch dtype
        Of the products.
    """

    def __init__(self, weights, options, device, dtype):
        def tensor(name, kind=torch.float32):
            return torch.from_numpy(weights[name]).to(device, kind)

        self.options, self.device = options, device
        self._table = tensor("char_embed")
        self._filters = []
        for i, (width, number) in enumerate(options.filters):
            weight = tensor(f"CNN/W_cnn_{i}", dtype).reshape(-1, number)
            self._filters.append((width, Product(weight), tensor(f"CNN/b_cnn_{i}")))
        self._highways = []
        for k in range(options.n_highway):
            parts = [[f"CNN_high_{k}/{x}_{gate}" for gate in _GATES] for x in "Wb"]
            weight = torch.cat([tensor(name, dtype) for name in parts[0]], dim=1)
            bias = torch.cat([tensor(name) for name in parts[1]])
            self._highways.append(Product(weight, bias[None]))
        self._projection = None
        if "CNN_proj/W_proj" in weights:
            self._projection = Product(
                tensor("CNN_proj/W_proj", dtype), tensor("CNN_proj/b_proj")[None]
            )

    @torch.inference_mode()
    def marks(self):
        """Return the vectors of a sentence's begin and end, (2, projection_dim)."""
        return self._of_ids(*mark_ids(self.options.max_characters))

    @torch.inference_mode()
    def __call__(self, words):
        """Return the vectors of words.

        Parameters
        ----------
        words : sequence of str

        Returns
        -------
        float32 tensor of shape (n_words, projection_dim)
        """
        ids, lengths = character_ids(words, self.options.max_characters)
        out = torch.empty(len(words), self.options.projection_dim, device=self.device)
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            found = self._of_ids(ids[some], lengths[some])
            out[torch.from_numpy(some).to(self.device)] = found
        return out

    def _of_ids(self, ids, lengths):
        characters = torch.from_numpy(ids).to(self.device)
        vectors = self._convolved(self._table[characters], int(lengths.max()))
        for highway in self._highways:
            carry, new = highway(vectors).chunk(2, dim=1)
            # carry * new + (1 - carry) * old
            vectors = torch.lerp(vectors, new.relu_(), carry.sigmoid_())
        return vectors if self._projection is None else self._projection(vectors)

    def _convolved(self, characters, longest):
        """Return the maxima over positions, activated, (n_words, n_filters).

        Behind the longest word all windows see nothing but padding, and give the same:
        one of them is computed.
        """
        found = []
        for width, product, bias in self._filters:
            n_windows = min(characters.shape[1] - width, longest) + 1
            seen = characters[:, : n_windows + width - 1]
            windows = seen.unfold(1, width, 1).transpose(2, 3)
            flat = windows.reshape(len(windows) * n_windows, -1)
            maxima = product(flat).view(len(windows), n_windows, -1).amax(dim=1)
            found.append(maxima.add_(bias))
        found = torch.cat(found, dim=1)
        return found.relu_() if self.options.activation == "relu" else found.tanh_()
