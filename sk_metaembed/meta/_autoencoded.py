"""AutoencodedMetaEmbedding: encoders trained to reconstruct the sources.

`combine_encodings` combines encodings in numpy; `reconstruction_loss` is the loss in
torch, for training.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._core._arrays import normalize_rows, row_product
from .._core._sklearn import COUNT, NONNEGATIVE, POSITIVE, SHARE, StrOptions
from .._core._typing import RandomState
from .._training._device import resolve_device
from ._base import BaseMetaEmbedding
from ._linear import common_scale, known_matrix, learning_rows, source_rows
from ._one_to_n_math import has_converged

_STEPS = 64  # gradient steps per epoch, within the limits of batch sizes
_SMALLEST, _LARGEST = 32, 512  # rows per batch


class Layer(NamedTuple):
    """A linear map with an intercept."""

    matrix: object  # (n_in, n_out)
    intercept: object  # (n_out,)


def combine_encodings(encodings, variant):
    """Return the meta-embedding of the sources' encodings, each (n_rows, n_components).

    The encoding of a row that a source does not know is zero.
    """
    if variant == "averaged":
        return normalize_rows(np.sum(encodings, axis=0))
    joined = np.concatenate(encodings, axis=1)
    return normalize_rows(joined) if variant == "concatenated" else joined


def reconstruction_loss(encodings, decoders, targets, known, variant, alignment_weight):
    """Return the mean loss of some rows, as a tensor.

    Each source has encodings (n_rows, n_components), targets (n_rows, dim), and `known`
    (n_rows, 1) as 0 or 1. Decoders read the meta vector; if decoupled, the encoding of
    the same source.
    """
    n_rows = len(targets[0])
    inputs = _decoder_inputs(encodings, known, variant)
    loss = 0.0
    sources = zip(inputs, decoders, targets, known, strict=True)
    for code, (matrix, intercept), values, mask in sources:
        error = (code @ matrix + intercept - values) * mask
        loss = loss + (error**2).sum() / n_rows
    if variant == "decoupled":
        for i, one in enumerate(encodings):
            for j, other in enumerate(encodings[:i]):
                difference = (one - other) * known[i] * known[j]
                loss = loss + alignment_weight * (difference**2).sum() / n_rows
    return loss


def _decoder_inputs(encodings, known, variant):
    """Return the input of each source's decoder."""
    import torch

    if variant == "decoupled":
        return encodings
    masked = [code * mask for code, mask in zip(encodings, known, strict=True)]
    meta = torch.cat(masked, dim=1) if variant == "concatenated" else sum(masked)
    return [torch.nn.functional.normalize(meta, dim=1)] * len(encodings)


def train_encoders(estimator, sources, known):
    """Return an encoder (Layer) per source, and the mean loss per epoch.

    `sources` are float32, (n_rows, dim), with zeros for unknown rows; `known` has the
    shape (n_rows, n_sources). Decoders are discarded.
    """
    import torch

    from .._training._minimize import minimize

    device = resolve_device(estimator.device)
    sources = [torch.from_numpy(values).to(device) for values in sources]
    knows = torch.from_numpy(known.T[:, :, None].astype(np.float32)).to(device)
    seed = check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)
    generator = torch.Generator(device).manual_seed(seed)
    encoders, decoders = _initial_layers(estimator, sources, generator)
    layers = [*encoders, *decoders]
    optimizer = torch.optim.Adam(
        [tensor for layer in layers for tensor in layer],
        lr=estimator.learning_rate,
    )

    def batch_loss(rows):
        targets = [source[rows] for source in sources]
        encodings = [
            _encode_noisy(values, encoder, estimator, generator)
            for values, encoder in zip(targets, encoders, strict=True)
        ]
        return reconstruction_loss(
            encodings,
            decoders,
            targets,
            knows[:, rows],
            estimator.variant,
            estimator.alignment_weight,
        )

    curve = minimize(
        batch_loss,
        optimizer,
        _epochs(estimator, len(known), optimizer, generator),
        lambda curve: has_converged(curve, estimator.tol),
        n_epochs=estimator.max_iter,
        name=type(estimator).__name__,
        remedy="Use a smaller learning_rate, and normalize=True.",
        verbose=estimator.verbose,
    )
    return [Layer(*[t.detach().cpu().numpy() for t in e]) for e in encoders], curve


def _epochs(estimator, n_rows, optimizer, generator):
    """Yield the batches of each epoch, tensors of shuffled row numbers."""
    import torch

    from .._training._minimize import flush_denormals

    size, device = estimator.batch_size, generator.device
    if size == "auto":
        size = min(max(n_rows // _STEPS, _SMALLEST), _LARGEST)
    for _ in range(estimator.max_iter):
        flush_denormals(optimizer)
        yield torch.randperm(n_rows, generator=generator, device=device).split(size)


def _encode_noisy(values, encoder, estimator, generator):
    import torch

    if estimator.noise:
        draws = torch.rand(values.shape, generator=generator, device=values.device)
        values = values * (draws >= estimator.noise)
    encoding = values @ encoder.matrix + encoder.intercept
    return encoding if estimator.variant == "decoupled" else torch.relu(encoding)


def _initial_layers(estimator, sources, generator):
    """Return encoders and decoders before training."""
    import torch

    device = generator.device
    if device.type != "cpu":  # use the same weights on every device
        generator = torch.Generator().manual_seed(generator.initial_seed())

    def layer(n_in, n_out):
        matrix = torch.empty(n_in, n_out)
        torch.nn.init.xavier_uniform_(matrix, generator=generator)
        matrix, intercept = matrix.to(device), torch.zeros(n_out, device=device)
        return Layer(matrix.requires_grad_(), intercept.requires_grad_())

    size = estimator.n_components
    meta = size * (len(sources) if estimator.variant == "concatenated" else 1)
    dims = [values.shape[1] for values in sources]
    return [layer(dim, size) for dim in dims], [layer(meta, dim) for dim in dims]


class AutoencodedMetaEmbedding(BaseMetaEmbedding):
    """Train encoders whose outputs reconstruct the sources (DAEME, CAEME, AAEME).

    The meta-embedding is a nonlinear function of the sources. With "averaged", sources
    of any dimension share one space.

    Parameters
    ----------
    variant : {"averaged", "concatenated", "decoupled"}, default="averaged"
        The form of the meta-embedding, and the input of the decoders:

        - "averaged" (AAEME): the sum of the encodings, scaled to unit length; every
          source is decoded from it;
        - "concatenated" (CAEME): the concatenated encodings, scaled to unit length;
          every source is decoded from it;
        - "decoupled" (DAEME): the concatenated encodings; each source is decoded from
          its own encoding, and encodings are trained to be close to each other.
    n_components : int, default=300
        Dimension of each source's encoding, and of the meta-embedding for "averaged";
        otherwise its dimension is n_components times the number of sources.
    noise : float, default=0.05
        Probability with which an entry of the sources' vectors is set to zero, drawn at
        each training step.
    alignment_weight : float, default=0.01
        Weight of the squared distance between encodings, only used by "decoupled".
        With larger values, encodings keep only information shared by the sources.
    learning_rate : float, default=3e-3
        Learning rate of Adam.
    max_iter : int, default=30
        Maximum number of epochs.
    batch_size : int or "auto", default="auto"
        Number of rows per step. "auto" makes about 64 steps per epoch, of 32 to 512
        rows: with large batches, `max_iter` epochs would be too few for a few hundred
        sentences. From 32,768 words on, a batch has 512 rows.
    tol : float, default=1e-2
        Training stops when each of three consecutive epochs reduces the loss by less
        than this share.
    normalize : bool, default=True
        Whether to scale each source's vectors to unit length first.
    device : str, default="auto"
        Device of training: "cpu", "cuda", or "auto" to use a GPU if available.
        `transform` runs on the CPU, without torch.
    random_state : int, RandomState instance or None, default=None
        Determines initial weights, noise and the order of the batches.
    verbose : int, default=0
        If positive, show a progress bar.

    Attributes
    ----------
    encoders_ : dict of str to tuple (matrix, intercept)
        Encoder of each source, by name, of shapes (dim, n_components) and
        (n_components,).
    loss_curve_ : list of float
        Mean loss per epoch.
    n_iter_ : int
        Number of epochs.
    n_learning_rows_ : int
        Number of rows known to any source, on which the encoders were trained.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    dim_ : int
        Dimension of the meta-embedding.

    Raises
    ------
    ValueError
        If a source knows no word of `fit` or shares no word with the others, or if
        fewer than two words are left to learn from.
    FloatingPointError
        If training diverges.

    See Also
    --------
    OneToNMetaEmbedding : Learns only decoders; exact and faster.
    ConcatMetaEmbedding : Keeps the whole vector of every source, without training.

    Notes
    -----
    Source i is encoded as ``z_i = f(s_i E_i + c_i)``, where f is the rectifier, or the
    identity for "decoupled": there cosines of rectified encodings correlate less with
    human judgments than cosines of the sources. Decoders are linear. With K(w) the
    sources that know word w and ``[...]`` for concatenation, its meta-embedding is::

        averaged        m = sum_{i in K(w)} z_i / |sum_{i in K(w)} z_i|
        concatenated    m = [z_1, ..., z_n] / |[z_1, ..., z_n]|
        decoupled       m = [z_1, ..., z_n]

    and training minimizes the mean over words of::

        sum_{i in K(w)} |m D_i + d_i - s_i|^2

    where "decoupled" decodes z_i instead of m and adds ``alignment_weight * sum_{i < j
    in K(w)} |z_i - z_j|^2``. Noise is applied to the input of the encoders, not to the
    targets of reconstruction.

    The paper trains on the words that all sources know. Here, every word of fit that
    any source knows is used; the encodings and errors of sources that lack the word are
    zero. The result is the same if all sources know all words. A word that no source
    knows has a zero vector and is not known; words that were not seen in fit are
    encoded like the others.

    Without `normalize`, vectors are divided by their common root mean square length
    before training. A keyboard interrupt ends training with a warning, and keeps the
    model of the last step.

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
        "n_components": [COUNT],
        "noise": [SHARE],
        "alignment_weight": [NONNEGATIVE],
        "learning_rate": [POSITIVE],
        "max_iter": [COUNT],
        "batch_size": [COUNT, StrOptions({"auto"})],
        "tol": [NONNEGATIVE],
        "normalize": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        variant: Literal["averaged", "concatenated", "decoupled"] = "averaged",
        *,
        n_components: int = 300,
        noise: float = 0.05,
        alignment_weight: float = 0.01,
        learning_rate: float = 3e-3,
        max_iter: int = 30,
        batch_size: int | Literal["auto"] = "auto",
        tol: float = 1e-2,
        normalize: bool = True,
        device: str = "auto",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.variant = variant
        self.n_components = n_components
        self.noise = noise
        self.alignment_weight = alignment_weight
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.tol = tol
        self.normalize = normalize
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _fit_combination(self, blocks, y):
        names, known = [block.name for block in blocks], known_matrix(blocks)
        rows = learning_rows(names, known, n_knowing=1)
        sources = [
            source_rows(block, rows, normalize=self.normalize) for block in blocks
        ]
        scale = 1.0 if self.normalize else common_scale(sources)
        for values in sources:
            values /= np.float32(scale)
        encoders, self.loss_curve_ = train_encoders(self, sources, known[rows])
        self.n_learning_rows_, self.n_iter_ = len(rows), len(self.loss_curve_)
        # The encoders of fit expect vectors divided by the scale.
        encoders = [Layer(e.matrix / np.float32(scale), e.intercept) for e in encoders]
        self.encoders_ = dict(zip(names, encoders, strict=True))
        self._fitted_normalize = self.normalize
        self._fitted_variant = self.variant

    def _combine(self, blocks):
        encodings = []
        for block in blocks:
            matrix, intercept = self.encoders_[block.name]
            values = source_rows(block, normalize=self._fitted_normalize)
            encoding = row_product(values, matrix) + intercept
            if self._fitted_variant != "decoupled":
                encoding = np.maximum(encoding, 0)
            encoding[~block.known] = 0
            encodings.append(encoding)
        known = known_matrix(blocks).any(axis=1)
        return combine_encodings(encodings, self._fitted_variant), known
