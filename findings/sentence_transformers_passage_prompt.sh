#!/bin/sh
# The prompt of documents in models with the prompts "query" and "passage".
#
# Guess: encode_document uses the first prompt that a model has of "document",
# "passage" and "corpus", as its documentation says, so a model with prompts as those of
# E5 gets "passage: ".
# sentence-transformers 6.2.0, torch 2.13.0, 2026-11-28: each model has an empty prompt
# "document", so "passage" and "corpus" are never used; encode_query uses "query".
# Queries have their prompt and documents have none. Nothing is said, and the empty
# prompt is saved with the model.
#
#     prompts: {'query': 'query: ', 'document': '', 'passage': 'passage: '}
#     encode_query uses its prompt: True, encode_document: False
. "$(dirname "$0")/_run.sh"
run_with sentence-transformers==6.2.0 torch==2.13.0 transformers==5.23.0 <<'PROGRAM'
import logging

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

logging.disable(logging.WARNING)
words = ["[UNK]", "query", "passage", ":", "tea"]
vocabulary = {word: row for row, word in enumerate(words)}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
table = StaticEmbedding(tokenizer, np.eye(len(words), dtype="float32"))
prompts = {"query": "query: ", "passage": "passage: "}
model = SentenceTransformer(modules=[table], prompts=prompts, device="cpu")
print("prompts:", model.prompts)
prompted = {name: model.encode("tea", prompt=text) for name, text in prompts.items()}
query = np.array_equal(model.encode_query("tea"), prompted["query"])
document = np.array_equal(model.encode_document("tea"), prompted["passage"])
print(f"encode_query uses its prompt: {query}, encode_document: {document}")
assert query and not document
assert np.array_equal(model.encode_document("tea"), model.encode("tea", prompt=""))
PROGRAM
