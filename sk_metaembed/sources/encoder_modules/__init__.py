"""The modules of sentence-transformers after the first: their files and formulas."""
