#!/bin/sh
# Vectors of words from one floret table, in floret and in spaCy.
#
# Guess: `spacy init vectors --mode floret` on the table that floret wrote gives the
# vectors that floret returns, apart from the digits of the text.
# floret 0.10.5, spaCy 3.8.18, 2026-11-28: true with minn=2, except for the word with
# number 0 in floret's dictionary, mostly the most frequent one. floret adds to its
# n-grams the hidden row 0, which is not in the table; its .vec file has that vector too.
# With minn=1, spaCy counts the marks < and > alone as n-grams, and with minn=0 also one
# empty n-gram per character, which floret does not; the vectors of all words differ.
#
#     minn=2: 1 of 5 words differ, those with number 0: ['tea']
#     minn=1: 5 of 5 words differ
#     minn=0: 5 of 5 words differ
. "$(dirname "$0")/_run.sh"
run_with floret==0.10.5 spacy==3.8.18 numpy==2.4.6 <<'PROGRAM'
import subprocess
import sys

import floret
import numpy as np
import spacy

words = ["tea", "coffee", "milk", "water", "bread"]
lines = [" ".join(words[: 1 + i % 5] * 2) for i in range(500)]
open("text.txt", "w").write("\n".join(lines))
differ = {}
for minn in (2, 1, 0):
    model = floret.train_unsupervised(
        "text.txt", mode="floret", dim=8, bucket=200, minCount=1, hashCount=2,
        minn=minn, maxn=3, epoch=5, thread=1, verbose=0,
    )
    model.save_floret_vectors("table.floret")
    command = [sys.executable, "-m", "spacy", "init", "vectors", "en"]
    command += ["table.floret", f"nlp{minn}", "--mode", "floret"]
    subprocess.run(command, check=True, capture_output=True)
    vocab = spacy.load(f"nlp{minn}").vocab
    pairs = {w: (vocab.get_vector(w), model.get_word_vector(w)) for w in words}
    scale = max(np.abs(pair).max() for pair in pairs.values())
    differ[minn] = [w for w, (a, b) in pairs.items() if np.abs(a - b).max() > scale / 1e4]
    first = [w for w in words if model.get_word_id(w) == 0]
    print(f"minn={minn}: {differ[minn]} differ; number 0 is {first or '</s>'}")
    if minn == 2:
        assert differ[2] == first and len(first) == 1
assert differ[1] == differ[0] == words
PROGRAM
