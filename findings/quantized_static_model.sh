#!/bin/sh
# A static model that is loaded in int8 by model2vec.
#
# Guess: quantize_to="int8" stores the vectors in fewer bits, and encode returns nearly
# the same values, as quantize_to="float16" does.
# model2vec 0.10.0, tokenizers 0.23.3, 2026-11-28: the scale is lost. encode returns
# averages of the integers, so that the largest value is 127 whatever it was, in
# float32, and a classifier that was fitted on vectors in float32 gets others. Models
# that normalize are not affected, those with normalize=False are.
#
#     largest value: float32 4.0, float16 4.0, int8 127.0
. "$(dirname "$0")/_run.sh"
run_with model2vec==0.10.0 tokenizers==0.23.3 safetensors==0.8.0 numpy==2.4.6 <<'PROGRAM'
import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, pre_tokenizers

words = {"[UNK]": 0, "tea": 1, "milk": 2, "rain": 3}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
vectors = np.array([[0, 0], [0.5, 0.25], [0.1, -0.2], [3, 4]], np.float32)
StaticModel(vectors, tokenizer, normalize=False).save_pretrained("model")
largest = {}
for kind in ("float32", "float16", "int8"):
    model = StaticModel.from_pretrained("model", quantize_to=kind)
    encoded = model.encode(["tea milk", "rain"])
    print(kind, encoded.dtype, encoded.tolist())
    largest[kind] = float(encoded.max())
print(largest)
assert largest == {"float32": 4.0, "float16": 4.0, "int8": 127.0}
PROGRAM
