"""Hugging Face models as sources: loading and forward pass.

How the parts are called, from the outside in:

- `_embedding.py`: `TransformerEmbedding` resolves its parameters in `fit`, and takes
  blocks from the sentence cache or from a `ForwardPass`.
- `_model.py`: the handle on a model that all sources of a process share.
  `_model_files.py` finds and reads its files.
  `_loaded_model.py` wraps a model and its tokenizer that the user has loaded, which
  `_loaded_pair.py` pickles.
- `_forward.py`: windows, batches and pooling. It calls `_alignment.py`, which splits
  texts into pieces, and `_network.py`, which computes their hidden states.
  `_word_splitter.py` splits each distinct word once.
- `_sentence_files.py` reads the modules of a sentence encoder, and `_encoder_head.py`
  of `sources` computes them.

The folders `trainable` and `distillation` fine-tune models.
"""
