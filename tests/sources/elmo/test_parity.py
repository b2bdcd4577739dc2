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


def furthest(folder, step, batches):
    """Return the largest difference from the references, batch by batch."""
    worst = []
    for i, batch in enumerate(batches):
        result = step.transform(list(batch))
        offsets, values = result.tokens.offsets, result.blocks[-1].values
        worst.append(
            max(
                np.abs(values[a:b] - reference(folder, text, i)).max()
                for text, (a, b) in enumerate(
                    zip(offsets[:-1], offsets[1:], strict=True)
                )
            )
        )
    return worst


@pytest.mark.parametrize("output", ["layers", "lstm_outputs2"])
def test_every_reference_vector_with_state_carried(model, output):
    folder, batches = model
    step = source(folder, output=output, stateful=True).fit(batches[0])
    assert len(batches) == 10
    assert max(furthest(folder, step, batches)) < 1e-5


def test_the_first_batch_without_state_and_no_other(model):
    folder, batches = model
    step = source(folder).fit(batches[0])
    first, *others = furthest(folder, step, batches)
    assert first < 1e-5
    assert min(others) > 0.1


def test_word_vectors():
    h5py = pytest.importorskip("h5py")
    folder = Path(ROOT, "elmo", MODELS["allennlp"][0])
    words = (folder / "vocab_test.txt").read_text("utf-8").split()
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][...]
    result = source(folder, output="word_emb").fit_transform([words]).blocks[0].values
    known = [i for i, word in enumerate(words) if word not in ("<S>", "</S>")]
    assert len(known) > 400
    np.testing.assert_allclose(result[known], expected[known], atol=1e-5)
