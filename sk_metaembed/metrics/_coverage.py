"""Coverage: which words of some texts an embedding knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .._core._parameters import is_integer
from ..sequences import check_tokens
from ..sequences._find_step import texts_by_branch
from ..sequences._word_lookup import lookup_known

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    import pandas as pd

    from .._core._typing import WordEmbedding

    WordEmbeddings: TypeAlias = (
        WordEmbedding
        | Mapping[str, WordEmbedding]
        | Sequence[tuple[str, WordEmbedding]]
    )


@overload
def coverage_report(
    embeddings: WordEmbeddings,
    X: Any,
    *,
    n_unknown: int = ...,
    case_fallback: bool = ...,
    as_frame: Literal[False] = ...,
) -> list[dict[str, Any]]: ...


@overload
def coverage_report(
    embeddings: WordEmbeddings,
    X: Any,
    *,
    n_unknown: int = ...,
    case_fallback: bool = ...,
    as_frame: Literal[True],
) -> pd.DataFrame: ...


def coverage_report(
    embeddings: WordEmbeddings,
    X: Any,
    *,
    n_unknown: int = 10,
    case_fallback: bool = True,
    as_frame: bool = False,
) -> list[dict[str, Any]] | pd.DataFrame:
    """Count which types and tokens of some texts each source knows.

    The types are the distinct words. Low coverage of types is usual and mostly
    harmless; low coverage of tokens says that a source, or the way texts are split,
    does not fit.

    Parameters
    ----------
    embeddings : embedding, dict of str to embedding, or list of (str, embedding)
        One or several of a fitted estimator, WordVectors, KeyedVectors or a mapping
        from words to vectors. The estimator may be a whole Pipeline, a search (its
        ``best_estimator_`` is taken) or a ColumnTransformer. Of an estimator that gives
        several blocks, such as a fitted `EmbeddingUnion`, each block is a source of its
        own; of a Pipeline those of the last step that gives the most blocks.
        Words that a source with ``oov="mean"`` or ``"random"`` fills in count as known.
    X : texts, token lists, TokenSequences, or what the estimators take
        Texts are split by the `Tokenizer` of a Pipeline, and without one as `Tokenizer`
        splits by default; words alone are texts too.
    n_unknown : int, default=10
        How many unknown words to list.
    case_fallback : bool, default=True
        Look up a word that is not known once more in lower case.
    as_frame : bool, default=False
        Return a ``pandas.DataFrame``.

    Returns
    -------
    list of dict or pandas.DataFrame
        One row a source; with several, one more for "(any)", what at least one of them
        knows, and one for "(all)", what all of them know. The keys are

        source : str
            Its name.
        types, tokens : int
            How many of them it knows.
        types_share, tokens_share : float
            The same as shares of all; 0 where there are none.
        unknown : list of (str, int)
            Its most frequent unknown words and how often they occur.

    Raises
    ------
    TypeError
        If an embedding or X is none of these.
    ValueError
        If two sources have the same name or one that of a row of all, there is none,
        or `n_unknown` is no int of 0 or more, or pipelines split X into different
        words.

    See Also
    --------
    word_similarity_score : How good the vectors of known words are.
    SourceImputer : Fills in words that one source knows and another lacks.

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
        raise ValueError(
            f"coverage_report: n_unknown must be an int, 0 or more, got {n_unknown!r}."
        )
    embeddings = _named(embeddings)
    tokens = _tokens(embeddings, X).compact()
    words, counts = tokens.types.tolist(), tokens.type_counts()
    known = _with_totals(_known_by_source(embeddings, words, case_fallback))
    rows = [
        _row(source, mask, words, counts, n_unknown) for source, mask in known.items()
    ]
    return _frame(rows) if as_frame else rows


def _tokens(embeddings, X):
    """Return X as the pipelines among the embeddings split it, or as by default."""
    caller = "coverage_report"
    given = [
        (f"{name}.{branch}" if name and branch else name or branch, texts)
        for name, embedding in embeddings
        for branch, texts in texts_by_branch(embedding, X, caller).items()
    ]
    split = {name: check_tokens(t, caller=caller) for name, t in given if t is not X}
    if not split:
        return check_tokens(X, caller=caller)
    (first, tokens), *others = split.items()
    for name, other in others:
        if other != tokens:
            raise ValueError(
                f"coverage_report: {first!r} and {name!r} do not read the same words "
                "of X. Report on each by itself, or pass token lists."
            )
    return tokens


def _known_by_source(embeddings, words, case_fallback):
    """Return which words each source knows, by its name."""
    known = {}
    for name, embedding in embeddings:
        found = _known(embedding, words, case_fallback)
        for block, mask in found.items():
            source = block if block and not name else name
            source = f"{name}.{block}" if name and len(found) > 1 else source
            if source in known:
                raise ValueError(
                    f"coverage_report: two sources are named {source!r}; give each "
                    "embedding a name of its own in a dict."
                )
            known[source or type(embedding).__name__] = mask
    if not known:
        raise ValueError("coverage_report got no embedding; at least one is needed.")
    return known


def _with_totals(known):
    """Add what any source and what all sources know, where there are several."""
    if len(known) < 2:
        return known
    masks = list(known.values())
    both = {
        "(any)": np.logical_or.reduce(masks),
        "(all)": np.logical_and.reduce(masks),
    }
    if known.keys() & both.keys():
        raise ValueError(
            f"coverage_report: {' and '.join(both)} are the names of the rows over all "
            "sources; give the sources other ones."
        )
    return known | both


def _named(embeddings):
    """Return pairs of a name, "" for a single embedding, and an embedding."""
    if isinstance(embeddings, list | tuple):
        for each in embeddings:
            if not isinstance(each, tuple) or len(each) != 2:
                raise TypeError(
                    "coverage_report: a list must hold (name, embedding) pairs, got "
                    f"{type(each).__name__}. Several embeddings go in a dict by name."
                )
        return list(embeddings)
    is_dict = isinstance(embeddings, Mapping)
    if is_dict and all(_is_embedding(each) for each in embeddings.values()):
        return list(embeddings.items())
    return [("", embeddings)]


def _is_embedding(thing):
    """Tell an embedding from the vector of a word, in a mapping's values."""
    return isinstance(thing, Mapping) or any(
        hasattr(thing, name)
        for name in ("fit", "transform", "vectors_for", "key_to_index")
    )


def _known(embedding, words, case_fallback):
    known = lookup_known(embedding, words, caller="coverage_report")
    lower = [i for i, word in enumerate(words) if word.lower() != word]
    if not case_fallback or not lower:
        return known
    again = [words[i].lower() for i in lower]
    found = lookup_known(embedding, again, caller="coverage_report")
    known = {name: np.array(mask) for name, mask in known.items()}
    for name, mask in known.items():
        mask[lower] |= found[name]
    return known


def _row(source, known, words, counts, n_unknown):
    unknown = np.flatnonzero(~known)
    # Stable: words that occur equally often stay in order of appearance.
    worst = unknown[np.argsort(-counts[unknown], kind="stable")[:n_unknown]]
    types, tokens = int(known.sum()), int(counts[known].sum())
    return {
        "source": source,
        "types": types,
        "types_share": types / len(words) if words else 0.0,
        "tokens": tokens,
        "tokens_share": tokens / int(counts.sum()) if words else 0.0,
        "unknown": [(words[i], int(counts[i])) for i in worst],
    }


def _frame(rows):
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "coverage_report(as_frame=True) returns a pandas DataFrame: pip install "
            "pandas."
        ) from error
    return pd.DataFrame(rows)
