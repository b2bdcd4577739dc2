"""Coverage: the share of types and tokens of a corpus that embeddings know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core._checked_parameters import is_integer
from .._core._named_errors import names_errors
from .._pipelines import lookup_known, texts_by_branch
from ..sequences import check_tokens

if TYPE_CHECKING:
    from typing import TypeAlias

    from .._core._typing import WordEmbedding

    WordEmbeddings: TypeAlias = WordEmbedding | Mapping[str, WordEmbedding]


@names_errors
def coverage_report(
    embeddings: WordEmbeddings,
    X: Any,
    *,
    n_unknown: int = 10,
    case_fallback: bool = True,
) -> list[dict[str, Any]]:
    """Count the types and tokens of a corpus that each source knows.

    Types are distinct words. Low type coverage is common and mostly harmless; low token
    coverage indicates an unsuitable source or tokenizer.

    Parameters
    ----------
    embeddings : embedding, or dict of str to embedding
        An embedding is a fitted estimator, WordVectors, KeyedVectors or a mapping from
        words to vectors. The estimator may be a Pipeline, a search (its
        ``best_estimator_`` is used) or a ColumnTransformer. If it has several output
        blocks, like a fitted `EmbeddingUnion`, each block is a source; for a Pipeline,
        those of the last step with the most blocks. Words for which a source with
        ``oov="mean"`` or ``"random"`` makes a vector count as known.
    X : texts, token lists, TokenSequences, or input of the estimators
        Texts are split by the `Tokenizer` of a Pipeline, or by a default `Tokenizer`
        without one; single words are texts too.
    n_unknown : int, default=10
        Number of unknown words to list.
    case_fallback : bool, default=True
        Whether to look up unknown words again in lower case.

    Returns
    -------
    list of dict
        One row per source; with several, also "(any)" for words that at least one
        source knows and "(all)" for words that all know;
        ``pandas.DataFrame(rows)`` makes a table. The keys are

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
        If an embedding or X has an unsupported type.
    ValueError
        If a source name is duplicate or reserved, there is no source, `n_unknown` is
        not a non-negative int, or pipelines split X into different words.

    See Also
    --------
    word_similarity_score : Evaluates the vectors of known words.
    SourceImputer : Imputes vectors of words that other sources know.

    Examples
    --------
    >>> from sk_metaembed.metrics import coverage_report
    >>> sources = {"a": {"tea": [1.0], "milk": [2.0]}, "b": {"tea": [1.0]}}
    >>> rows = coverage_report(sources, ["tea and milk", "milk and tea", "tea"])
    >>> for row in rows:
    ...     print(row["source"], row["types"], row["tokens"], row["unknown"])
    a 2 5 [('and', 2)]
    b 1 3 [('and', 2), ('milk', 2)]
    (any) 2 5 [('and', 2)]
    (all) 1 3 [('and', 2), ('milk', 2)]
    """
    if not is_integer(n_unknown) or n_unknown < 0:
        raise ValueError(f"n_unknown must be an int, 0 or more; got {n_unknown!r}.")
    embeddings = _named(embeddings)
    tokens = _tokens(embeddings, X).compact()
    words, counts = tokens.types.tolist(), tokens.type_counts()
    known = _with_totals(_known_by_source(embeddings, words, case_fallback))
    return [
        _row(source, mask, words, counts, n_unknown) for source, mask in known.items()
    ]


def _tokens(embeddings, X):
    """Return X as split by the pipelines among the embeddings, or by default."""
    given = [
        (f"{name}.{branch}" if name and branch else name or branch, texts)
        for name, embedding in embeddings
        for branch, texts in texts_by_branch(embedding, X).items()
    ]
    split = {name: check_tokens(t) for name, t in given if t is not X}
    if not split:
        return check_tokens(X)
    (first, tokens), *others = split.items()
    for name, other in others:
        if other != tokens:
            raise ValueError(
                f"{first!r} and {name!r} split X into different "
                "words. Call coverage_report for each, or pass token lists."
            )
    return tokens


def _known_by_source(embeddings, words, case_fallback):
    """Return the known mask of the words, (n_words,), per source name."""
    known = {}
    for name, embedding in embeddings:
        masks = _known(embedding, words, case_fallback)
        for block, mask in masks.items():
            source = block if block and not name else name
            source = f"{name}.{block}" if name and len(masks) > 1 else source
            if source in known:
                raise ValueError(
                    f"two sources are named {source!r}; pass a dict with unique names."
                )
            known[source or type(embedding).__name__] = mask
    if not known:
        raise ValueError("got no embedding; at least one is required.")
    return known


def _with_totals(known):
    """Add the masks of words that any source and that all sources know."""
    if len(known) < 2:
        return known
    masks = list(known.values())
    totals = {
        "(any)": np.logical_or.reduce(masks),
        "(all)": np.logical_and.reduce(masks),
    }
    if known.keys() & totals.keys():
        raise ValueError(
            f"{' and '.join(totals)} are reserved for the rows "
            "over all sources; rename the sources."
        )
    return known | totals


def _named(embeddings):
    """Return (name, embedding) pairs, with name "" for a single embedding."""
    is_dict = isinstance(embeddings, Mapping)
    if is_dict and all(_is_embedding(each) for each in embeddings.values()):
        return list(embeddings.items())
    return [("", embeddings)]


def _is_embedding(thing):
    """Return whether a value of a mapping is an embedding, not the vector of a word."""
    return isinstance(thing, Mapping) or any(
        hasattr(thing, name)
        for name in ("fit", "transform", "vectors_for", "key_to_index")
    )


def _known(embedding, words, case_fallback):
    known = lookup_known(embedding, words)
    lower = [i for i, word in enumerate(words) if word.lower() != word]
    if not case_fallback or not lower:
        return known
    again = [words[i].lower() for i in lower]
    lower_known = lookup_known(embedding, again)
    known = {name: np.array(mask) for name, mask in known.items()}
    for name, mask in known.items():
        mask[lower] |= lower_known[name]
    return known


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
