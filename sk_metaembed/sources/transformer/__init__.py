"""Hugging Face models as sources: loading, forward pass, fine-tuning.

How the parts are called, from the outside in:

- `_embedding.py`: `TransformerEmbedding` resolves its parameters in `fit`, and takes
  blocks from the sentence cache or from a `ForwardPass`.
- `_model.py`: the handle on a model that all sources of a process share.
  `_model_files.py` finds its files and `_loading.py` reads them. `_loaded_model.py` and
  `_loaded_encoder.py` wrap a loaded model and a SentenceTransformer, `_model_pickle.py`
  makes a loaded model picklable, `_precision.py` chooses a dtype.
- `_forward.py`: windows, batches and pooling. It calls `_alignment.py`, which splits
  texts into pieces, and `_network.py`, which computes their hidden states.
- `_sentence_files.py` reads the modules of a sentence encoder, and `_sentence_head.py`
  computes them.
- `_trainable_transformer.py` and `_contrastive.py` train a model; the torch code is in
  `_trainable_module.py` and `_contrastive_training.py`.
"""
