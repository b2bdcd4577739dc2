#!/bin/sh
# One folder of a static model, read by the two libraries that write this format.
#
# Guess: sentence-transformers saves a StaticEmbedding, model2vec reads the folder, and
# both give the same mean vectors; limits of length are those of max_seq_length.
# sentence-transformers 6.2.0, model2vec 0.10.0, tokenizers 0.23.3, 2026-11-28: the
# vectors differ for two kinds of texts. sentence-transformers keeps the truncation that
# tokenizer.json states, although max_seq_length is inf and cannot be set; model2vec does
# not. And the unknown token counts in the mean of the former, and not in the latter.
#
#     "a b b b", truncation at 3 tokens   [0.333 0.667]   [0.25 0.75]
#     "zz a", zz unknown                  [1.0 0.5]       [1.0 0.0]
. "$(dirname "$0")/_run.sh"
run_with torch==2.13.0 sentence-transformers==6.2.0 model2vec==0.10.0 \
    tokenizers==0.23.3 transformers==5.23.0 numpy==2.4.6 <<'PROGRAM'
import numpy as np
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

words = {"[UNK]": 0, "a": 1, "b": 2}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.enable_truncation(3)
vectors = np.array([[1, 1], [1, 0], [0, 1]], dtype=np.float32)
writer = SentenceTransformer(
    modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu"
)
writer.save("model")
reader = StaticModel.from_pretrained("model")
print("max_seq_length", writer.max_seq_length)
for text, theirs, others in (
    ("a", [1, 0], [1, 0]),
    ("a b b b", [1 / 3, 2 / 3], [0.25, 0.75]),
    ("zz a", [1, 0.5], [1, 0]),
):
    written, read = writer.encode([text])[0], reader.encode([text])[0]
    print(repr(text), written.round(3), read.round(3))
    np.testing.assert_allclose(written, theirs, atol=1e-6)
    np.testing.assert_allclose(read, others, atol=1e-6)
assert writer.max_seq_length == float("inf")
PROGRAM
