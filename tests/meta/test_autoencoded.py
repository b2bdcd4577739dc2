"""Autoencoded meta-embeddings against their formulas."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sk_metaembed import AutoencodedMetaEmbedding, Block
from sk_metaembed._training import _minimize
from sk_metaembed.meta._autoencoded import Layer, reconstruction_loss

from .sources import linear_maps, vectors

VARIANTS = ["decoupled", "concatenated", "averaged"]
every = pytest.mark.parametrize("variant", VARIANTS)


def fitted(X, variant="averaged", **params):
    settings = {"n_components": 3, "max_iter": 3, "random_state": 0, "device": "cpu"}
    settings |= {"batch_size": 10, **params}
    return AutoencodedMetaEmbedding(variant, **settings).fit(X)


@every
def test_output_by_its_formula(variant):
    X = linear_maps(dims=(6, 4, 5), missing=5)
    meta = fitted(X, variant)
    parts = []
    for block in X.blocks:
        norms = np.linalg.norm(block.values, axis=1, keepdims=True)
        matrix, intercept = meta.encoders_[block.name]
        unit = block.values / np.where(norms, norms, 1)
        z = unit @ matrix + intercept
        z = z if variant == "decoupled" else np.maximum(z, 0)
        parts.append(z * block.known[:, None])
    expected = sum(parts) if variant == "averaged" else np.hstack(parts)
    if variant != "decoupled":
        norms = np.linalg.norm(expected, axis=1, keepdims=True)
        expected = expected / np.where(norms, norms, 1)
    assert meta.dim_ == expected.shape[1] == (3 if variant == "averaged" else 9)
    np.testing.assert_allclose(vectors(meta, X), expected, atol=1e-5)


@every
def test_loss_by_its_formula_and_gradient_by_differences(variant):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    n_rows, size, dims = 5, 2, (3, 4)
    known = np.array([[1, 1, 1, 0, 1], [1, 0, 1, 1, 1]], dtype=float)[:, :, None]
    encodings = [rng.normal(size=(n_rows, size)) for _ in dims]
    targets = [
        rng.normal(size=(n_rows, dim)) * k for dim, k in zip(dims, known, strict=True)
    ]
    width = 2 * size if variant == "concatenated" else size
    decoders = [Layer(rng.normal(size=(width, d)), rng.normal(size=d)) for d in dims]
    alignment_weight = 0.5

    shown = [z * k for z, k in zip(encodings, known, strict=True)]
    whole = np.hstack(shown) if variant == "concatenated" else sum(shown)
    whole = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    expected = 0.0
    for i in range(2):
        part = encodings[i] if variant == "decoupled" else whole
        off = part @ decoders[i].matrix + decoders[i].intercept - targets[i]
        expected += ((off * known[i]) ** 2).sum() / n_rows
    if variant == "decoupled":
        apart = (encodings[0] - encodings[1]) * known[0] * known[1]
        expected += alignment_weight * (apart**2).sum() / n_rows

    def loss(one, other, *maps):
        layers = [Layer(*maps[:2]), Layer(*maps[2:])]
        rest = [torch.tensor(t) for t in targets], torch.tensor(known)
        parts = [one, other]
        return reconstruction_loss(parts, layers, *rest, variant, alignment_weight)

    arrays = [*encodings, *decoders[0], *decoders[1]]
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    np.testing.assert_allclose(loss(*tensors).item(), expected)
    assert torch.autograd.gradcheck(loss, tensors)


@every
def test_the_loss_falls(variant):
    meta = fitted(linear_maps(missing=5), variant, max_iter=40, tol=0)
    curve = np.array(meta.loss_curve_)
    assert len(curve) == meta.n_iter_ > 20
    assert curve[-1] < 0.6 * curve[0]
    assert (np.diff(curve[:20:5]) < 0).all()


def test_training_stops_when_the_loss_converges():
    assert 4 <= fitted(linear_maps(missing=5), max_iter=300, tol=0.05).n_iter_ < 300


def test_scale_of_the_sources_does_not_matter():
    X = linear_maps(missing=5)
    large = X.with_blocks(
        [Block(b.name, b.values * 2.0**80, "type", b.known) for b in X.blocks]
    )
    meta, other = (fitted(one, normalize=False) for one in (X, large))
    np.testing.assert_allclose(vectors(meta, X), vectors(other, large), atol=1e-4)


def test_diverged_training_raises():
    with pytest.raises(FloatingPointError, match="Use a smaller learning_rate"):
        fitted(linear_maps(missing=5), "decoupled", learning_rate=1e30)


def interrupt_in(monkeypatch, epoch):
    """Press Ctrl-C in an epoch of training."""
    usual, count = _minimize._epoch, iter(range(100))

    def interrupted(*args):
        if next(count) == epoch:
            raise KeyboardInterrupt
        return usual(*args)

    monkeypatch.setattr(_minimize, "_epoch", interrupted)


def test_an_interrupt_keeps_what_was_learned(monkeypatch):
    X = linear_maps(missing=5)
    interrupt_in(monkeypatch, 2)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 epochs"):
        meta = fitted(X)
    assert meta.n_iter_ == 2
    assert np.isfinite(vectors(meta, X)).all()


def test_an_interrupt_in_the_first_epoch_restores_the_estimator(monkeypatch):
    X = linear_maps(missing=5)
    meta = fitted(X)
    before = meta.transform(X)
    interrupt_in(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        meta.fit(X)
    assert meta.transform(X) == before
