"""EmbeddingQuantizer by its formulas."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sk_metaembed import EmbeddingQuantizer

outputs = pytest.mark.parametrize("output", ["int8", "binary", "packed"])


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 24)) * np.linspace(3, 0.1, 24) + rng.normal(size=24)


def cosines(X):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(X), 1)]


def test_integers_are_proportional_to_the_vectors(X):
    quantizer = EmbeddingQuantizer().fit(X)
    codes = quantizer.transform(X)
    assert codes.dtype == np.int8
    assert np.abs(codes).max() == 127
    steps = X / quantizer.scale_
    inside = np.abs(steps) <= 127
    assert np.abs(steps - codes)[inside].max() <= 0.5
    assert (np.abs(codes[~inside]) == 127).all()
    assert np.abs(cosines(codes.astype(float)) - cosines(X)).max() < 0.02


def test_few_large_entries_are_clipped():
    X = np.random.default_rng(0).normal(size=(200, 100))
    usual = EmbeddingQuantizer().fit(X).scale_
    X[0, 0] = 1e6
    quantizer = EmbeddingQuantizer().fit(X)
    assert quantizer.scale_ == pytest.approx(usual, rel=0.2)
    assert quantizer.transform(X)[0, 0] == 127
    assert quantizer.transform(-X)[0, 0] == -127


@pytest.mark.parametrize("X", [np.zeros((3, 4)), np.eye(200)[:, :150] * 1e-30])
def test_integers_of_mostly_zeros(X):
    codes = EmbeddingQuantizer().fit_transform(X)
    np.testing.assert_array_equal(codes, np.where(X > 0, 127, 0))


@pytest.mark.parametrize("n_bits", [5, 24, 60])
def test_bits_by_their_formula(X, n_bits):
    quantizer = EmbeddingQuantizer("binary", n_bits=n_bits, random_state=0).fit(X)
    assert quantizer.rotation_.shape == (24, n_bits)
    np.testing.assert_allclose(quantizer.mean_, X.mean(axis=0))
    codes = quantizer.transform(X)
    assert codes.dtype == np.int8
    signs = np.sign((X - X.mean(axis=0)) @ quantizer.rotation_)
    np.testing.assert_array_equal(codes, signs)


def test_packed_bits_are_the_signs(X):
    params = {"n_bits": 21, "random_state": 3}
    codes = EmbeddingQuantizer("packed", **params).fit_transform(X)
    assert codes.dtype == np.uint8
    assert codes.shape == (300, 3)
    signs = EmbeddingQuantizer("binary", **params).fit_transform(X)
    np.testing.assert_array_equal(np.unpackbits(codes, axis=1, count=21), signs > 0)
    assert not (codes[:, -1] & 0b111).any()


def test_hamming_distance_means_the_angle(X):
    X = X - X.mean(axis=0)
    codes = EmbeddingQuantizer("packed", n_bits=4096, random_state=0).fit_transform(X)
    differing = np.bitwise_count(codes[:1] ^ codes[1:]).sum(axis=1) / 4096
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert np.abs(np.cos(np.pi * differing) - unit[1:] @ unit[0]).max() < 0.06


@outputs
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_alone_has_the_same_code(X, output, dtype):
    X = X.astype(dtype)
    quantizer = EmbeddingQuantizer(output, n_bits=70, random_state=0).fit(X)
    codes = quantizer.transform(X)
    for i in (0, 7, 299):
        np.testing.assert_array_equal(quantizer.transform(X[i : i + 1])[0], codes[i])


@outputs
def test_names_and_index(X, output):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, index=[f"row{i}" for i in range(300)])
    frame.columns = [f"svd{i}" for i in range(24)]
    quantizer = EmbeddingQuantizer(output, n_bits=20, random_state=0)
    result = quantizer.set_output(transform="pandas").fit_transform(frame)
    assert result.index.equals(frame.index)
    expected = {"int8": "svd23", "binary": "bit19", "packed": "byte2"}[output]
    assert result.columns[-1] == expected
    assert (result.dtypes == (np.uint8 if output == "packed" else np.int8)).all()


def test_output_of_another_kind_needs_another_fit(X):
    quantizer = EmbeddingQuantizer().fit(X).set_params(output="binary")
    with pytest.raises(NotFittedError):
        quantizer.transform(X)
    with pytest.raises(NotFittedError):
        quantizer.get_feature_names_out()
    # Nothing of the first fit is left after the second.
    quantizer.fit(2 * X).set_params(output="int8")
    with pytest.raises(NotFittedError):
        quantizer.transform(X)


@pytest.mark.parametrize("size", [1e-43, 1e-38, 1e37])
def test_vectors_of_any_size_have_integers(X, size):
    values = (X / np.abs(X).max() * size).astype(np.float32)
    with np.errstate(divide="raise", invalid="raise"):
        codes = EmbeddingQuantizer().fit_transform(values)
    expected = np.rint(values / np.float64(size) * 127)
    np.testing.assert_allclose(codes, expected, atol=4)  # large ones are clipped
