#!/bin/sh
# Attribute of spaCy's vectors, before and after saving a pipeline.
#
# Guess: nlp.to_disk and spacy.load keep what `attr` the vectors are looked up by, as
# they keep the vectors; the attribute is an option of `spacy init vectors`.
# spaCy 3.8.18, 2026-11-28: vectors.cfg has the attribute in floret mode only. Vectors of
# words with attr="LOWER" are looked up by the exact word after loading, so that
# capitalized words lose their vector, without a warning. Also, words that are names of
# spaCy's symbols ("root", "agent", "X") have vectors, but are not in strings.json, and
# Vectors.get_batch gives an unknown word the last row of the table.
#
#     has_vector("Tea"): before True, after False
#     saved strings: tea True, root False
#     get_batch of an unknown word is the last row: True
. "$(dirname "$0")/_run.sh"
run_with spacy==3.8.18 numpy==2.4.6 <<'PROGRAM'
import json

import numpy as np
import spacy
from spacy.vectors import Vectors

words = ["tea", "root"]
nlp = spacy.blank("en")
for word in words:
    nlp.vocab.strings.add(word)
data = np.arange(6, dtype="f").reshape(2, 3)
nlp.vocab.vectors = Vectors(
    strings=nlp.vocab.strings, data=data, keys=words, attr="LOWER"
)
before = nlp("Tea")[0].has_vector
nlp.to_disk("saved")
loaded = spacy.load("saved")
after = loaded("Tea")[0].has_vector
print(f'has_vector("Tea"): before {before}, after {after}')
strings = json.load(open("saved/vocab/strings.json", encoding="utf-8"))
in_strings = [word in strings for word in words]
print("saved strings: tea {}, root {}".format(*in_strings))
assert loaded("tea")[0].has_vector and loaded("root")[0].has_vector
unknown = loaded.vocab.vectors.get_batch(["nowhere"])[0]
is_last = bool((unknown == data[-1]).all())
print("get_batch of an unknown word is the last row:", is_last)
assert (before, after) == (True, False)
assert in_strings == [True, False] and is_last
PROGRAM
