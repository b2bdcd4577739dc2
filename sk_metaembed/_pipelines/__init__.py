"""Look into fitted pipelines: find steps, replace them, and look up word vectors."""

from ._replacement import replace_steps
from ._steps import (
    apply_steps,
    embedding_input,
    find_step,
    fitted_steps,
    flat_steps,
    unwrap_fitted,
)
from ._word_lookup import lookup_known, lookup_vectors
