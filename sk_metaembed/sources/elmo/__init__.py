"""ELMo as a source.

`_embedding.py`: `ElmoEmbedding` resolves its parameters in `fit`, and takes blocks from
the sentence cache or from an `ElmoForward`. `_model.py`: the handle on a model, which
all sources of a process share. `_forward.py`: batches. `_network.py`: the network.
`_texts.py` splits texts into words; `_options.py` and `_model_files.py` read the files.

The folder `language_model` trains the network.
"""
