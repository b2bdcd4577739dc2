"""Training of the encoders and decoders of autoencoded meta-embeddings, by Adam."""

import numpy as np

from ..sequences._device import chosen_device
from ._autoencoding import Layer, reconstruction_loss
from ._gradient import minimise, seeded_generator


def train_encoders(estimator, sources, known, weights, *, whose):
    """Learn an encoder for each source; the decoders are thrown away.

    Parameters
    ----------
    estimator : AutoencodedMetaEmbedding
        Its parameters say how.
    sources : list of ndarray of float32, shape (n_rows, dim)
        Zeros where a source does not know the row.
    known : ndarray of bool, shape (n_rows, n_sources)
    weights : ndarray of shape (n_sources,)
    whose : str
        Begins the messages.

    Returns
    -------
    encoders : list of Layer
        In float32.
    curve : list of float
        The mean loss of each epoch.
    """
    import torch

    device = chosen_device(estimator.device, whose=whose)
    sources = [torch.from_numpy(values).to(device) for values in sources]
    knows = torch.from_numpy(known.T[:, :, None].astype(np.float32)).to(device)
    generator = seeded_generator(estimator.random_state, device)
    encoders, decoders = _start(estimator, sources, generator)
    layers = [*encoders, *decoders]
    optimizer = torch.optim.Adam(
        [tensor for layer in layers for tensor in layer],
        lr=estimator.learning_rate,
    )

    def batch_loss(rows):
        targets = [source[rows] for source in sources]
        encodings = [
            _encoded(values, encoder, estimator, generator)
            for values, encoder in zip(targets, encoders, strict=True)
        ]
        return reconstruction_loss(
            encodings,
            decoders,
            targets,
            knows[:, rows],
            weights.tolist(),
            estimator.variant,
            estimator.pull,
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
    return [Layer(*[t.detach().cpu().numpy() for t in e]) for e in encoders], curve


def _encoded(values, encoder, estimator, generator):
    import torch

    if estimator.noise:
        draws = torch.rand(values.shape, generator=generator, device=values.device)
        values = values * (draws >= estimator.noise)
    activation = estimator.activation_
    encoding = values @ encoder.matrix + encoder.intercept
    if activation is None:
        return encoding
    return torch.relu(encoding) if activation == "relu" else torch.tanh(encoding)


def _start(estimator, sources, generator):
    """Return encoders and decoders before training."""
    import torch

    def layer(n_in, n_out):
        matrix = torch.empty(n_in, n_out, device=generator.device)
        torch.nn.init.xavier_uniform_(matrix, generator=generator)
        intercept = torch.zeros(n_out, device=generator.device)
        return Layer(matrix.requires_grad_(), intercept.requires_grad_())

    size = estimator.n_components
    meta = size * (len(sources) if estimator.variant == "concatenated" else 1)
    dims = [values.shape[1] for values in sources]
    return [layer(dim, size) for dim in dims], [layer(meta, dim) for dim in dims]
