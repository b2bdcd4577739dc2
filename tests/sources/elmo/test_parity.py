"""ElmoEmbedding gives the vectors that came with two published models' code."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from sk_metaembed import ElmoEmbedding

ROOT = os.environ.get("SK_METAEMBED_DATA", "")
MODELS = {
    "allennlp": ("allennlp/elmo", "sentences.json"),  # with skip connections
    "bilm-tf": ("bilm_tf", "lm_embeddings_sentences.json"),  # without
}

pytestmark = pytest.mark.skipif(
    not Path(ROOT, "elmo").is_dir(),
    reason="SK_METAEMBED_DATA names no folder with elmo/: reference vectors of ELMo.",
)


@pytest.fixture(params=MODELS)
def model(request):
    """Return a folder, and its sentences: batch i is sentence i of three texts."""
    folder, sentences = MODELS[request.param]
    folder = Path(ROOT, "elmo", folder)
    texts = json.loads((folder / sentences).read_text("utf-8"))
    return folder, list(zip(*texts, strict=True))


def source(folder, **options):
    return ElmoEmbedding(folder / "options.json", folder / "lm_weights.hdf5", **options)


def reference(folder, text, batch):
    """Return a sentence's vectors in the last layer, forward next to backward."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / f"lm_embeddings_{text}.hdf5") as file:
        return np.concatenate(list(file[str(batch)][...]), axis=1)


def differences(folder, results):
    """Return the largest difference of each batch from the references."""
    return [
        np.abs(
            values - np.concatenate([reference(folder, text, i) for text in range(3)])
        ).max()
        for i, values in enumerate(results)
    ]


def test_the_first_batch_without_state_and_no_other(model):
    folder, batches = model
    step = source(folder, layers=(2,)).fit(batches[0])
    results = [step.transform(list(batch)).blocks[0].values for batch in batches]
    first, *others = differences(folder, results)
    assert first < 1e-5
    assert min(others) > 0.1


def test_word_vectors():
    h5py = pytest.importorskip("h5py")
    folder = Path(ROOT, "elmo", MODELS["allennlp"][0])
    words = (folder / "vocab_test.txt").read_text("utf-8").split()
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][...]
    result = source(folder, layers=(0,)).fit_transform([words]).blocks[0].values
    result = result[:, : expected.shape[1]]
    known = [i for i, word in enumerate(words) if word not in ("<S>", "</S>")]
    assert len(known) > 400
    np.testing.assert_allclose(result[known], expected[known], atol=1e-5)
