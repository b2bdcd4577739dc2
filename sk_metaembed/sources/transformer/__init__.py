"""Hugging Face models as sources: loading, forward pass, fine-tuning."""
