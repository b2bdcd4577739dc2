#!/bin/sh
# Trained weights of the module WordWeights after saving and loading.
#
# Guess: the module has a layer of trainable weights, and saves it as
# model.safetensors, so a model with trained weights returns the same vectors when it is
# loaded again.
# sentence-transformers 6.2.0, torch 2.13.0, 2026-11-28: `load` reads config.json alone,
# with the weights from before training. The file of weights is never opened: a model
# loads without it and returns the same. Nothing is said.
#
#     share of "good" in "good film": in memory 0.90, loaded 0.50
#     without the file of weights: 0.50
. "$(dirname "$0")/_run.sh"
run_with sentence-transformers==6.2.0 torch==2.13.0 transformers==5.23.0 <<'PROGRAM'
import logging
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Pooling,
    WordEmbeddings,
    WordWeights,
)
from sentence_transformers.sentence_transformer.modules.tokenizer import (
    WhitespaceTokenizer,
)

logging.disable(logging.WARNING)
vocabulary = ["PADDING_TOKEN", "good", "film"]
tokenizer = WhitespaceTokenizer(vocabulary)
words = WordEmbeddings(tokenizer, np.array([[0, 0], [1, 0], [0, 1]], dtype="float32"))
weights = WordWeights(vocabulary, {"good": 1.0, "film": 1.0})
assert weights.emb_layer.weight.requires_grad
weights.emb_layer.weight.data[1] = 9.0  # as an optimizer does
model = SentenceTransformer(modules=[words, weights, Pooling(2)], device="cpu")
model.save("model", create_model_card=False)


def share(model):
    return round(float(model.encode("good film")[0]), 2)


trained, loaded = share(model), share(SentenceTransformer("model", device="cpu"))
print(f'share of "good" in "good film": in memory {trained}, loaded {loaded}')
saved = Path("model", "1_WordWeights", "model.safetensors")
saved.unlink()
without = share(SentenceTransformer("model", device="cpu"))
print("without the file of weights:", without)
assert (trained, loaded, without) == (0.9, 0.5, 0.5)
PROGRAM
