"""Hugging Face models as sources: loading and forward pass.

How the parts are called, from the outside in:

- `_embedding.py`: `TransformerEmbedding` resolves its parameters in `fit`, and takes
  blocks from the sentence cache or from a `ForwardPass`.
- `_model.py`: the handle on a model that all sources of a process share.
  `_model_files.py` finds and reads its files, and those of a sentence encoder.
  `_loaded_model.py` is the handle on a model and its tokenizer that the user has
  loaded.
- `_forward.py`: windows, batches and pooling. It calls `_alignment.py`, which splits
  texts into subwords, each distinct word once, and `_network.py`, which computes their
  hidden states. `_encoder_head.py` computes the modules of a sentence encoder.

The folders `trainable` and `distillation` fine-tune models.
"""
