#!/bin/sh
# A file of word vectors with a repeated word, read by sentence-transformers and saved.
#
# Guess: a saved model returns the same vectors when it is loaded again; the two lines
# of the repeated word count as one.
# sentence-transformers 6.2.0, torch 2.13.0, 2026-11-28: WordEmbeddings.from_text_file
# keeps both rows of the table, and looks up the second. `save` writes the vocabulary
# without the copy and the table with it. After loading, each word behind the copy has
# the vector of the word before it. Nothing is said.
#
#     in memory: good 2.0, film 3.0, plot 4.0
#     loaded:    good 1.0, film 2.0, plot 3.0
. "$(dirname "$0")/_run.sh"
run_with sentence-transformers==6.2.0 torch==2.13.0 transformers==5.23.0 <<'PROGRAM'
import logging
from pathlib import Path

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings

logging.disable(logging.WARNING)
Path("vectors.txt").write_text("good 1 0\ngood 2 0\nfilm 3 0\nplot 4 0\n")
words = WordEmbeddings.from_text_file("vectors.txt")
model = SentenceTransformer(modules=[words, Pooling(2)], device="cpu")
model.save("model", create_model_card=False)
loaded = SentenceTransformer("model", device="cpu")
texts = ["good", "film", "plot"]
before, after = (m.encode(texts)[:, 0].tolist() for m in (model, loaded))
print("in memory:", dict(zip(texts, before, strict=True)))
print("loaded:   ", dict(zip(texts, after, strict=True)))
assert (before, after) == ([2.0, 3.0, 4.0], [1.0, 2.0, 3.0])
PROGRAM
