"""What ElmoEmbedding's `output` means for a given model."""

from typing import NamedTuple

import numpy as np

from ..elmo._mix import layer_shares
from ._elmo_pass import ElmoWanted

_FIXED = {"word_emb": "word", "elmo": "mix", "default": "mean"}


class Output(NamedTuple):
    """A block that is asked for.

    Parameters
    ----------
    name : str
    kind : {"word", "twice", "layer", "mix", "mean"}
        The word's vector, once or twice; an LSTM layer's; the mix; its mean.
    layer : int, default=0
        The LSTM layer, from 1.
    """

    name: str
    kind: str
    layer: int = 0


def chosen_outputs(output, n_layers):
    """Return the blocks that `output` asks for.

    Parameters
    ----------
    output : str or sequence of str
    n_layers : int
        LSTM layers of the model.

    Returns
    -------
    list of Output

    Raises
    ------
    ValueError
        If there is no such output, or one is named twice.

    Examples
    --------
    >>> [block.name for block in chosen_outputs(("layers", "default"), 2)]
    ['layer0', 'layer1', 'layer2', 'default']
    """
    names = [output] if isinstance(output, str) else list(output)
    lstms = {f"lstm_outputs{k}": k for k in range(1, n_layers + 1)}
    allowed = ["layers", "word_emb", *lstms, "elmo", "default"]
    wrong = [name for name in names if name not in allowed]
    if wrong or not names or len(set(names)) < len(names):
        raise ValueError(
            f"ElmoEmbedding: output must be one or more of {allowed}, each once; got "
            f"{output!r}. The model has {n_layers} LSTM layers."
        )
    found = []
    for name in names:
        if name == "layers":
            found.append(Output("layer0", "twice"))
            found += [Output(f"layer{k}", "layer", k) for k in lstms.values()]
        elif name in lstms:
            found.append(Output(name, "layer", lstms[name]))
        else:
            found.append(Output(name, _FIXED[name]))
    return found


def wanted_of(outputs, mix_weights, gamma, layer_norm, n_layers):
    """Return what the network must give for these outputs.

    Parameters
    ----------
    outputs : list of Output
    mix_weights, gamma, layer_norm
        As `ElmoEmbedding` takes them.
    n_layers : int
        LSTM layers of the model.

    Returns
    -------
    ElmoWanted

    Raises
    ------
    ValueError
        If the weights are not one finite number a layer.
    """
    kinds = [output.kind for output in outputs]
    return ElmoWanted(
        tuple(sorted({o.layer for o in outputs if o.kind == "layer"})),
        "mix" in kinds,
        "mean" in kinds,
        tuple(_shares(mix_weights, n_layers + 1).tolist()),
        float(gamma),
        bool(layer_norm),
    )


def _shares(weights, n_layers):
    if weights is not None:
        try:
            array = np.asarray(weights, dtype=float)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if array.shape != (n_layers,) or not np.isfinite(array).all():
            raise ValueError(
                f"ElmoEmbedding: mix_weights must be {n_layers} finite numbers, one "
                f"for the words and one a layer; got {weights!r}. They go through a "
                "softmax: use np.log(shares) for given shares."
            )
    return layer_shares(weights, n_layers)
