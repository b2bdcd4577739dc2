"""AutoencodedMetaEmbedding: encoders whose codes give the sources back.

Training of the encoders and decoders of autoencoded meta-embeddings, by Adam.

The arithmetic of autoencoded meta-embeddings: encoders, their union, the loss.

`encode` and `joined` serve trained encoders, in numpy; `reconstruction_loss` is the
same on tensors, for training.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._core._arrays import normalize_rows, row_product
from .._training._parameters import resolve_device
from ._base import BaseMetaEmbedding
from ._gradient import minimise, seeded_generator
from ._linear import (
    common_scale,
    known_matrix,
    learning_rows,
    source_rows,
    source_weights,
    weighted_blocks,
)


class Layer(NamedTuple):
    """A linear map with an intercept.

    Parameters
    ----------
    matrix : array of shape (n_in, n_out)
    intercept : array of shape (n_out,)
    """

    matrix: object
    intercept: object


def activated(values, activation):
    """Return the values after the activation, computed in place.

    Parameters
    ----------
    values : ndarray
    activation : {"relu", "tanh", None}

    Returns
    -------
    ndarray
    """
    if activation == "relu":
        return np.maximum(values, 0, out=values)
    return np.tanh(values, out=values) if activation == "tanh" else values


def encode(values, encoder, activation):
    """Return a source's encodings, each row the same alone and among others.

    Parameters
    ----------
    values : ndarray of float32, shape (n_rows, dim)
    encoder : Layer
    activation : {"relu", "tanh", None}

    Returns
    -------
    ndarray of float32, shape (n_rows, n_components)
    """
    return activated(
        row_product(values, encoder.matrix) + encoder.intercept, activation
    )


def joined(encodings, variant):
    """Return the meta-embedding of the sources' encodings.

    Parameters
    ----------
    encodings : list of ndarray of float32, shape (n_rows, n_components)
        One a source, zeros where it does not know the row.
    variant : {"decoupled", "concatenated", "averaged"}

    Returns
    -------
    ndarray of float32, shape (n_rows, dim)
    """
    if variant == "averaged":
        return normalize_rows(np.sum(encodings, axis=0))
    together = np.concatenate(encodings, axis=1)
    return normalize_rows(together) if variant == "concatenated" else together


def reconstruction_loss(encodings, decoders, targets, knows, weights, variant, pull):
    """Return how badly the meta vectors of some rows give back their sources.

    Parameters
    ----------
    encodings : list of tensors of shape (n_rows, n_components)
        One a source.
    decoders : list of Layer
        From the meta vector, or from the own encoding where decoupled.
    targets : list of tensors of shape (n_rows, dim)
    knows : list of tensors of shape (n_rows, 1)
        1 where the source knows the row, else 0.
    weights : sequence of float
        Of the sources' errors.
    variant : {"decoupled", "concatenated", "averaged"}
    pull : float
        Weight of the distance of encodings, where decoupled.

    Returns
    -------
    tensor
        The mean over the rows.
    """
    n_rows = len(targets[0])
    parts = _decoded(encodings, knows, variant)
    loss = 0.0
    each = zip(parts, decoders, targets, knows, weights, strict=True)
    for part, (matrix, intercept), values, know, weight in each:
        off = (part @ matrix + intercept - values) * know
        loss = loss + weight * (off**2).sum() / n_rows
    if variant == "decoupled":
        for i, one in enumerate(encodings):
            for j, other in enumerate(encodings[:i]):
                apart = (one - other) * knows[i] * knows[j]
                loss = loss + pull * (apart**2).sum() / n_rows
    return loss


def _decoded(encodings, knows, variant):
    """Return what each source is decoded from."""
    import torch

    if variant == "decoupled":
        return encodings
    shown = [part * know for part, know in zip(encodings, knows, strict=True)]
    meta = torch.cat(shown, dim=1) if variant == "concatenated" else sum(shown)
    return [torch.nn.functional.normalize(meta, dim=1)] * len(encodings)


def train_encoders(estimator, sources, known, weights, *, caller):
    """Learn an encoder for each source; the decoders are thrown away.

    Parameters
    ----------
    estimator : AutoencodedMetaEmbedding
        Its parameters say how.
    sources : list of ndarray of float32, shape (n_rows, dim)
        Zeros where a source does not know the row.
    known : ndarray of bool, shape (n_rows, n_sources)
    weights : ndarray of shape (n_sources,)
    caller : str
        Begins the messages.

    Returns
    -------
    encoders : list of Layer
        In float32.
    curve : list of float
        The mean loss of each epoch.
    """
    import torch

    device = resolve_device(estimator.device, caller=caller)
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
        caller=caller,
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


class AutoencodedMetaEmbedding(BaseMetaEmbedding):
    """Train encoders of the sources, from whose codes the sources are given back.

    DAEME, CAEME and AAEME. What comes out is no longer linear in the sources, and in
    "averaged" sources of any dimension share one space.

    Parameters
    ----------
    variant : {"averaged", "concatenated", "decoupled"}, default="averaged"
        What the meta-embedding is, and what is decoded:

        - "averaged" (AAEME): the sum of the encodings, scaled to length one; every
          source is decoded from it;
        - "concatenated" (CAEME): the encodings side by side, scaled to length one;
          every source is decoded from them;
        - "decoupled" (DAEME): the encodings side by side; each source is decoded from
          its own, and the encodings are pulled towards each other.
    n_components : int, default=300
        Dimension of each source's encoding. That of the meta-embedding is the same
        for "averaged", and as many times larger as there are sources for the others.
    activation : {"auto", "relu", "tanh", None}, default="auto"
        Of the encoders. None makes them linear; decoders always are. "auto" is "relu"
        but for "decoupled", where it is None: there the cosines of rectified encodings
        follow human judgements less well than those of the sources.
    noise : float, default=0.05
        Share of the entries of the sources' vectors that are set to zero, anew at each
        step of training.
    pull : float, default=0.01
        Weight of the squared distance between encodings. Used by "decoupled" alone.
        The larger, the more the encodings shrink to what all sources say.
    weights : dict of str to float, sequence of float, or None, default=None
        How much each source's error counts, by name or in the order of the blocks.
        None, and names that a dict leaves out, mean 1. A source of weight 0 takes no
        part.
    learning_rate : float, default=3e-3
        Of Adam.
    max_iter : int, default=30
        Most epochs.
    batch_size : int, default=512
        Words of one step.
    tol : float, default=1e-2
        Training ends when three epochs in a row lower the loss by less than this
        share.
    normalize : bool, default=True
        Scale each source's vectors to length one first.
    device : str, default="auto"
        Where to train: "cpu", "cuda", or "auto" for a GPU if there is one. Words are
        embedded without torch, on the CPU.
    random_state : int, RandomState instance or None, default=None
        Of the start, the noise and the order of the mini-batches.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    weights_ : ndarray of shape (n_sources,)
        The weights used.
    activation_ : {"relu", "tanh", None}
        The activation used.
    encoders_ : dict of str to tuple (matrix, intercept)
        Of each source, by its name, of shape (dim, n_components) and (n_components,).
    loss_curve_ : list of float
        The mean loss of each epoch.
    n_iter_ : int
        Epochs.
    n_learning_rows_ : int
        Rows known to any source, from which all this was learned.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by its name.
    dim_ : int
        Dimension of the meta-embedding.

    Raises
    ------
    ValueError
        If a source knows none of the words of fit, or shares none with the others, or
        fewer than two words are left to learn from.
    FloatingPointError
        If the loss grows beyond all numbers.

    See Also
    --------
    OneToNMetaEmbedding : Decoders alone, of free vectors; exact and quicker.
    ConcatMetaEmbedding : All of every source's vector, and nothing to train.

    Notes
    -----
    Source i is encoded as ``z_i = f(s_i E_i + c_i)``. With K(w) the sources that know
    word w, its meta-embedding is, where ``[...]`` stands side by side::

        averaged        m = sum_{i in K(w)} z_i / |sum_{i in K(w)} z_i|
        concatenated    m = [z_1, ..., z_n] / |[z_1, ..., z_n]|
        decoupled       m = [z_1, ..., z_n]

    and training minimises the mean over words of::

        sum_{i in K(w)} k_i |m D_i + d_i - s_i|^2

    where "decoupled" decodes z_i in place of m and adds
    ``pull * sum_{i < j in K(w)} |z_i - z_j|^2``. Noise is on what is encoded, not on
    what should come out.

    The paper trains on the words that all sources know. Here every word of fit counts
    that any source knows: the encodings of sources that lack it are zeros, and so are
    their errors. Where all sources know all words the two are the same. A word that no
    source knows gets zeros and is not known; one that fit has not seen is encoded like
    the others.

    Without `normalize`, vectors are divided by their common root mean square length
    before training. An interrupt from the keyboard ends training, with a warning, and
    keeps what was learned.

    References
    ----------
    Bao and Bollegala (2018). Learning word meta-embeddings by autoencoding. COLING.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import AutoencodedMetaEmbedding, Block
    >>> from sk_metaembed import EmbeddedSequences, TokenSequences
    >>> rng = np.random.default_rng(0)
    >>> words = [f"word{i}" for i in range(50)]
    >>> x = Block("x", rng.normal(size=(50, 5)), "type")
    >>> y = Block("y", x.values @ rng.normal(size=(5, 3)), "type")
    >>> X = EmbeddedSequences(TokenSequences.from_lists([words]), [x, y])
    >>> meta = AutoencodedMetaEmbedding(n_components=4, random_state=0).fit(X)
    >>> meta.transform(X)
    EmbeddedSequences(1 sequences, 50 tokens, 50 types; autoencoded: type 4d)
    >>> meta.loss_curve_[-1] < meta.loss_curve_[0]
    True
    """

    _parameter_constraints: dict = {
        "variant": [StrOptions({"decoupled", "concatenated", "averaged"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions({"auto", "relu", "tanh"}), None],
        "noise": [Interval(Real, 0, 1, closed="left")],
        "pull": [Interval(Real, 0, None, closed="left")],
        "weights": [Mapping, Sequence, np.ndarray, None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "normalize": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        variant="averaged",
        *,
        n_components=300,
        activation="auto",
        noise=0.05,
        pull=0.01,
        weights=None,
        learning_rate=3e-3,
        max_iter=30,
        batch_size=512,
        tol=1e-2,
        normalize=True,
        device="auto",
        random_state=None,
        verbose=0,
    ):
        self.variant = variant
        self.n_components = n_components
        self.activation = activation
        self.noise = noise
        self.pull = pull
        self.weights = weights
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.tol = tol
        self.normalize = normalize
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _fit_combination(self, blocks, y):
        caller = type(self).__name__
        names = [block.name for block in blocks]
        self.weights_ = source_weights(self.weights, names, caller)
        blocks, weights = weighted_blocks(blocks, self.weights_)
        names, known = [block.name for block in blocks], known_matrix(blocks)
        rows = learning_rows(names, known, n_knowing=1, caller=caller)
        self.activation_ = self._chosen_activation()
        sources = [
            source_rows(block, rows, normalize=self.normalize) for block in blocks
        ]
        scale = 1.0 if self.normalize else common_scale(sources)
        for values in sources:
            values /= np.float32(scale)
        encoders, self.loss_curve_ = train_encoders(
            self, sources, known[rows], weights, caller=caller
        )
        self.n_learning_rows_, self.n_iter_ = len(rows), len(self.loss_curve_)
        own_units = [Layer(e.matrix / np.float32(scale), e.intercept) for e in encoders]
        self.encoders_ = dict(zip(names, own_units, strict=True))

    def _chosen_activation(self):
        if self.activation != "auto":
            return self.activation
        return None if self.variant == "decoupled" else "relu"

    def _combine(self, blocks):
        encodings = []
        blocks, _ = weighted_blocks(blocks, self.weights_)
        for block in blocks:
            encoder = self.encoders_[block.name]
            values = source_rows(block, normalize=self.normalize)
            encoding = encode(values, encoder, self.activation_)
            encoding[~block.known] = 0
            encodings.append(encoding)
        known = known_matrix(blocks).any(axis=1)
        return joined(encodings, self.variant), known

    def __sklearn_is_fitted__(self):
        return hasattr(self, "encoders_")
