"""The bidirectional language model behind ELMo, trained and fine-tuned.

`_language_model.py` is the estimator and `_training.py` its fit: the skorch net of
`_net.py` trains the network on the batches that `_batches.py` makes of a corpus.
`_corpus.py` reads corpora, without torch. `_model_files.py` writes a model that
`ElmoEmbedding` opens.
"""
