"""1TON by gradient steps: free meta vectors and maps, trained by AdaGrad."""

import numpy as np

from ..sequences._device import chosen_device
from ._gradient import minimise, seeded_generator
from ._one_to_n_maths import Decoders, penalised_loss

_START = 0.03  # size of the first entries


def descend(estimator, sources, known, weights, n_components, *, whose):
    """Learn meta vectors and decoders on mini-batches of words.

    Parameters
    ----------
    estimator : OneToNMetaEmbedding
        Its parameters say how.
    sources : list of ndarray of float32, shape (n_rows, dim)
        Centred, zeros where a source does not know the row.
    known : ndarray of bool, shape (n_rows, n_sources)
    weights : ndarray of shape (n_sources,)
    n_components : int
    whose : str
        Begins the messages.

    Returns
    -------
    decoders : Decoders
    curve : list of float
        The mean loss of each epoch.
    """
    import torch

    device = chosen_device(estimator.device, whose=whose)
    sources = [torch.from_numpy(values).to(device) for values in sources]
    knows = torch.from_numpy(known.T.astype(np.float32)).to(device)
    generator = seeded_generator(estimator.random_state, device)
    meta, decoders = _start(sources, n_components, generator)
    rate = estimator.learning_rate
    maps = [*decoders.matrices, *decoders.intercepts]
    optimizer = torch.optim.Adagrad(maps, lr=rate)
    squares = torch.zeros_like(meta)

    def batch_loss(rows):
        own = meta[rows].requires_grad_()
        # AdaGrad on the rows of this batch alone: torch's own would walk through
        # the vectors of all words at each step.
        own.register_hook(lambda slope: _adagrad(meta, squares, rows, slope, rate))
        values = [source[rows] for source in sources]
        return penalised_loss(
            own, decoders, values, knows[:, rows], weights.tolist(), estimator.alpha
        )

    curve = minimise(
        batch_loss,
        optimizer,
        len(known),
        batch_size=estimator.batch_size,
        max_iter=estimator.max_iter,
        tol=estimator.tol,
        generator=generator,
        verbose=estimator.verbose,
        whose=whose,
    )
    arrays = [[t.detach().cpu().double().numpy() for t in part] for part in decoders]
    return Decoders(*arrays), curve


def _adagrad(values, squares, rows, slope, rate):
    """Step down the slope of some rows, in place."""
    summed = squares[rows].addcmul_(slope, slope)
    squares[rows] = summed
    values[rows] -= rate * slope / (summed.sqrt_() + 1e-10)


def _start(sources, n_components, generator):
    """Return small random meta vectors and matrices, and intercepts of zero."""
    import torch

    device = generator.device

    def small(n_rows, n_columns):
        entries = torch.randn(n_rows, n_columns, generator=generator, device=device)
        return entries * _START

    meta = small(len(sources[0]), n_components)
    matrices = [
        small(n_components, values.shape[1]).requires_grad_() for values in sources
    ]
    intercepts = [
        torch.zeros(values.shape[1], device=device).requires_grad_()
        for values in sources
    ]
    return meta, Decoders(matrices, intercepts)
