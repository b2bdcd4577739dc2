"""ContrastiveEmbedding: the loss, the batches, what training changes, and files."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.base import clone

import sk_metaembed
from sk_metaembed import ContrastiveEmbedding, TransformerEmbedding

from ... import tiny_bert, tiny_encoder
from ...tiny_bert import TinyBert

X = [f"a {word} {thing}" for word in ("good", "bad") for thing in ("film", "king")]
X += [f"{thing} is {word}" for word in ("good", "bad") for thing in ("queen", "film")]
Y = np.array(["good", "good", "bad", "bad"] * 2)
LEARNING = {"lr": 1e-2, "random_state": 0}


def source(model=None, **params):
    return ContrastiveEmbedding(model or TinyBert(), **{**LEARNING, **params})


def vectors(step, texts=X):
    return step.transform(texts).blocks[0].values


@pytest.fixture(scope="module")
def trained():
    return source().fit(X, Y)


@pytest.mark.parametrize("mode", ["cls", "mean"])
@pytest.mark.parametrize("options", [{}, {"prompt": "bad "}, {"prompt_name": "q"}])
def test_pooling_and_prompt_are_those_of_the_encoder(mode, options, tmp_path):
    settings = {"prompts": {"q": "a ", "d": "is "}, "default_prompt_name": "d"}
    steps = [tiny_encoder.pooling(mode)]
    folder = tiny_encoder.save(tmp_path, steps=steps, settings=settings)
    step = source(folder, n_steps=1, lr=1e-9, **options).fit(X, Y)
    frozen = TransformerEmbedding(folder, preprocess="unit", **options).fit(X)
    np.testing.assert_allclose(vectors(step), vectors(frozen), atol=1e-5)
    other = TransformerEmbedding(folder, preprocess="unit", prompt="film ").fit(X)
    assert np.abs(vectors(step) - vectors(other)).max() > 1e-3


def test_weights_in_pickles_are_read_if_they_are_trusted(tmp_path):
    folder = Path(tiny_encoder.save(tmp_path, steps=[tiny_encoder.pooling("mean")]))
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(FileNotFoundError, match="use trusted=True"):
        source(folder, n_steps=1).fit(X, Y)
    assert len(source(folder, n_steps=1, trusted=True).fit(X, Y).losses_) == 1


def test_the_encoder_is_opened_on_the_device_of_training_only(tmp_path, monkeypatch):
    folder, devices = tiny_bert.save(tmp_path), set()

    def resolve(device):
        devices.add(device)
        return "cpu"

    module = "sk_metaembed.sources.transformer._embedding"
    monkeypatch.setattr(f"{module}.resolve_device", resolve)
    source(folder, n_steps=1, device="cpu").fit(X, Y)
    assert devices == {"cpu"}


def test_a_mistyped_label_is_named():
    y = np.append(np.tile(Y, 3), "god")
    with pytest.warns(UserWarning, match=r"rare classes: 'god' \(1 row\)"):
        source(n_steps=1).fit([*X, *X, *X, "a film"], y)


def naive_loss(rows, labels):
    """Return the loss by a loop over the pairs."""
    errors = {True: [], False: []}
    for i, (u, a) in enumerate(zip(rows, labels, strict=True)):
        for v, b in zip(rows[:i], labels[:i], strict=True):
            cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
            errors[a == b].append((cosine - (a == b)) ** 2)
    return np.mean([np.mean(kind) for kind in errors.values() if kind])


TRAINING = "sk_metaembed.sources.distillation._contrastive_training"


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2, 2, 2, 2], range(8)])
def test_loss_is_the_mean_over_pairs(labels):
    frozen = TransformerEmbedding(TinyBert(), output="mean").fit(X)
    losses = source(n_steps=1).fit(X, labels).losses_
    assert losses == pytest.approx([naive_loss(vectors(frozen), labels)], rel=1e-5)


def test_batches_have_equally_many_rows_of_each_class_and_reach_all(monkeypatch):
    seen = []

    def recorded(vectors, labels):
        seen.append((vectors.detach().numpy().round(2), np.bincount(labels)))
        return (vectors**2).sum()

    monkeypatch.setattr(f"{TRAINING}.pair_loss", recorded)
    classes = {"good": "abcdefghijklmnop", "bad": "abcdefghij", "king": "abc"}
    texts = [f"{word} {letter}" for word, names in classes.items() for letter in names]
    y = [text.split()[0] for text in texts]
    source(n_steps=9, batch_size=12, lr=1e-9).fit(texts, y)
    counts = np.array([count for _, count in seen])
    assert (counts[:, [0, 1]] >= 2).all()  # fewer where a class begins again
    assert counts.max() == 4
    assert len(np.unique(np.vstack([rows for rows, _ in seen]), axis=0)) == len(texts)


def test_texts_that_training_cuts_are_counted_in_a_warning():
    with pytest.warns(UserWarning, match="8 of 8 texts are longer than 4 subwords"):
        source(max_length=4, n_steps=1).fit(X, Y)


def test_copies_count_once():
    expected = source(n_steps=3).fit(X, Y).losses_
    copies = source(n_steps=3).fit([*X, *X[:3]], [*Y, *Y[:3]]).losses_
    np.testing.assert_allclose(copies, expected, rtol=1e-4)
    same_tokens = sk_metaembed.Tokenizer(token_pattern="a|i").transform(
        X
    )  # of other texts
    losses = source(n_steps=3).fit(same_tokens, Y).losses_
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


def test_training_separates_the_classes(trained):
    frozen = TransformerEmbedding(TinyBert(), output="mean").fit(X)
    before, after = (naive_loss(vectors(step), Y) for step in (frozen, trained))
    assert after < before / 2
    assert len(trained.losses_) <= 80
    np.testing.assert_array_equal(trained.classes_, ["bad", "good"])


def test_the_given_model_and_the_input_table_do_not_change():
    model = tiny_bert.network()
    weights = {name: w.clone() for name, w in model.state_dict().items()}
    step = source((model, tiny_bert.tokenizer()), n_steps=3).fit(X, Y)
    assert all(torch.equal(w, weights[name]) for name, w in model.state_dict().items())
    trained = dict(step.encoder_.model[0].named_parameters())
    table = "embeddings.word_embeddings.weight"
    assert torch.equal(trained[table], weights[table])
    changed = [name for name, w in trained.items() if not torch.equal(w, weights[name])]
    assert any("layer.0" in name for name in changed)
    assert any("layer.1" in name for name in changed)


@pytest.mark.parametrize(("loaded", "bundle"), [(False, True), (True, False)])
def test_files_and_pickles_have_the_trained_weights(loaded, bundle, tmp_path):
    model = (tiny_bert.network(), tiny_bert.tokenizer()) if loaded else TinyBert()
    step = source(model if loaded else tiny_bert.folder(), n_steps=3).fit(X, Y)
    expected = vectors(step)
    np.testing.assert_array_equal(vectors(pickle.loads(pickle.dumps(step))), expected)
    sk_metaembed.save(step, tmp_path / "step.skm", bundle=bundle)
    restored = sk_metaembed.load(tmp_path / "step.skm")
    np.testing.assert_array_equal(vectors(restored), expected)
    np.testing.assert_array_equal(vectors(clone(restored).fit(X, Y)), expected)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.linspace(0, 1, 8), "has 0.14.* at row 1. Unknown label type: continuous"),
        (np.eye(8, dtype=int), "one column of classes; got shape \\(8, 8\\)"),
        ([[0, 2], [1, 3]] * 4, "one column of classes; got shape \\(8, 2\\)"),
        (["a"] * 8, r"at least 2 classes in y, got 1 class: \['a'\]"),
    ],
)
def test_invalid_labels(y, message):
    with pytest.raises(ValueError, match=message):
        source().fit(X, y)


def test_divergence_is_an_error():
    with pytest.raises(FloatingPointError, match="the loss is nan .* smaller lr"):
        source(lr=1e30).fit(X, Y)
