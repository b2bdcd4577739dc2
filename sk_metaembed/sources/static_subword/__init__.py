"""Static subword models: model2vec, sentence-transformers and WordLlama."""
