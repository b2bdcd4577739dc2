"""Look into fitted pipelines: find steps, replace them, and look up word vectors."""

from ._steps import (
    apply_steps,
    embedding_input,
    find_step,
    fitted_steps,
    flat_steps,
    lookup_known,
    lookup_vectors,
    reads_texts,
    replace_steps,
    unwrap_fitted,
)
