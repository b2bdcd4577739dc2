"""Static subword models: model2vec and sentence-transformers."""
