"""The bidirectional language model behind ELMo, trained and fine-tuned.

`_language_model.py` is the estimator and `_training.py` its fit: the skorch net of
`_net.py` trains the modules of `_modules.py` on the batches that `_bptt.py` makes of a
corpus (`_corpus.py`). `_model_files.py` writes a model that `ElmoEmbedding` opens.
"""
