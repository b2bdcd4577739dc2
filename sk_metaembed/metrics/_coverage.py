"""Coverage: the share of types and tokens of a corpus that embeddings know."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core._errors import prefix_errors
from .._core._estimators import is_integer
from .._core._typing import WordEmbedding
from .._pipelines import embedding_input, lookup_known
from ..sequences import check_tokens


@prefix_errors
def coverage_report(
    embedding: WordEmbedding, X: Any, *, n_unknown: int = 10
) -> list[dict[str, Any]]:
    """Count the types and tokens of a corpus that each source knows.

    Types are distinct words. Low type coverage is common and mostly harmless; low token
    coverage indicates an unsuitable source or tokenizer.

    Parameters
    ----------
    embedding : fitted estimator, WordVectors, KeyedVectors or dict
        The estimator may be a Pipeline or a search (its ``best_estimator_`` is used).
        If it has several output blocks, like a fitted `EmbeddingUnion`, each block is a
        source; for a Pipeline, each block of the last step with the most blocks. Words
        for which a source with ``oov="mean"`` makes a vector count as known.
    X : texts, token lists, TokenSequences, or input of the estimator
        Texts are split by the `Tokenizer` of a Pipeline, or by a default `Tokenizer`
        without one; single words are texts too.
    n_unknown : int, default=10
        Number of unknown words to list.

    Returns
    -------
    list of dict
        One row per source; ``pandas.DataFrame(rows)`` makes a table. The keys are

        source : str
            Name of the source.
        types, tokens : int
            Number of known types and tokens.
        type_coverage, token_coverage : float
            Share of known types and tokens; 0 if there are none at all.
        unknown : list of (str, int)
            Most frequent unknown words, with their counts.

    Raises
    ------
    TypeError
        If the embedding or X has an unsupported type.
    ValueError
        If `n_unknown` is not a non-negative int, or texts are embedded in a branch of a
        ColumnTransformer or FeatureUnion.

    See Also
    --------
    word_similarity_score : Evaluates the vectors of known words.
    SourceImputer : Imputes vectors of words that other sources know.

    Examples
    --------
    >>> from sk_metaembed.metrics import coverage_report
    >>> vectors = {"tea": [1.0], "milk": [2.0]}
    >>> (row,) = coverage_report(vectors, ["tea and milk", "milk and tea", "tea"])
    >>> row["types"], row["tokens"], row["unknown"]
    (2, 5, [('and', 2)])
    """
    if not is_integer(n_unknown) or n_unknown < 0:
        raise ValueError(f"n_unknown must be an int, 0 or more; got {n_unknown!r}.")
    tokens = check_tokens(embedding_input(embedding, X)).compact()
    words, counts = tokens.types.tolist(), tokens.type_counts()
    return [
        _row(source or type(embedding).__name__, known, words, counts, n_unknown)
        for source, known in lookup_known(embedding, words).items()
    ]


def _row(source, known, words, counts, n_unknown):
    unknown = np.flatnonzero(~known)
    # Stable: words with equal counts stay in order of appearance.
    frequent = unknown[np.argsort(-counts[unknown], kind="stable")[:n_unknown]]
    types, tokens = int(known.sum()), int(counts[known].sum())
    return {
        "source": source,
        "types": types,
        "type_coverage": types / len(words) if words else 0.0,
        "tokens": tokens,
        "token_coverage": tokens / int(counts.sum()) if words else 0.0,
        "unknown": [(words[i], int(counts[i])) for i in frequent],
    }
