"""Look into fitted pipelines: find steps, replace them, and look up word vectors."""

from collections.abc import Mapping
from copy import copy
from functools import partial

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from .._core._arrays import infinite_rows
from ..sequences import (
    EmbeddedInputMixin,
    EmbeddedSequences,
    SequencesOutputMixin,
    Tokenizer,
    TokenSequences,
)
from ..sequences._api import canonical_words


def find_step(estimator, X, predicate):
    """Return the first step that satisfies a predicate, or None, and its input.

    The estimator is fitted, and may be the step itself or a Pipeline or search around
    it. Raises a ValueError if there is a ColumnTransformer or FeatureUnion instead.
    """
    steps = fitted_steps(estimator)
    for i, step in enumerate(steps):
        if predicate(step):
            return step, apply_steps(steps[:i], X)
    _refuse_branches(steps)
    return None, X


def embedding_input(estimator, X):
    """Return the input of an estimator's first step that embeds texts."""
    return find_step(estimator, X, _embeds)[1]


def _embeds(step):
    """Return whether a step returns or takes EmbeddedSequences."""
    kinds = SequencesOutputMixin | EmbeddedInputMixin
    return isinstance(step, kinds) and not isinstance(step, Tokenizer)


def outputs_within(steps, X):
    """Yield the output of each step for X, up to a final predictor."""
    for step in steps:
        if hasattr(step, "transform"):  # resampling steps have none
            X = step.transform(X)
            yield X


def apply_steps(steps, X):
    """Return X transformed by steps."""
    for output in outputs_within(steps, X):
        X = output
    return X


def _refuse_branches(steps):
    """Raise a ValueError if a step has branches with different inputs."""
    for step in steps:
        if hasattr(step, "transformers") or hasattr(step, "transformer_list"):
            name = type(step).__name__
            raise ValueError(
                f"steps inside a {name} are not searched. Pass one of its branches, "
                "such as columns.named_transformers_['text'] of a ColumnTransformer "
                "or union.named_transformers['text'] of a FeatureUnion, and its input."
            )


def fitted_steps(estimator, unwrap=None):
    """Return the steps that an estimator applies one after another, without wrappers.

    Unlike `flat_steps`, this includes the steps in wrappers other than searches.
    """
    estimator = (unwrap or unwrap_fitted)(estimator)
    if not hasattr(estimator, "steps"):
        return [estimator]
    steps = [s for _, s in estimator.steps if not isinstance(s, str | None)]
    return [inner for step in steps for inner in fitted_steps(step, unwrap)]


def unwrap_fitted(estimator):
    """Return the fitted estimator in a search or another wrapper of a single estimator.

    Raises NotFittedError if a search has not refitted its best candidate.
    """
    if hasattr(estimator, "best_estimator_"):
        return unwrap_fitted(estimator.best_estimator_)
    # A transformer is a step as a whole, and `estimator_` of an ensemble is not fitted.
    wraps = not (hasattr(estimator, "transform") or hasattr(estimator, "estimators_"))
    for name in ("regressor_", "estimator_"):
        if wraps and hasattr(estimator, name):
            return unwrap_fitted(getattr(estimator, name))
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        raise NotFittedError(
            f"this {type(estimator).__name__} has no fitted estimator. Fit "
            "it with refit=True or the name of a metric."
        )
    return estimator


def flat_steps(estimator):
    """Return the steps that a Pipeline, or a search over a Pipeline, applies."""
    return fitted_steps(estimator, lambda step: getattr(step, "best_estimator_", step))


# Where fitted estimators keep the steps that they apply.
_STEPS = (
    *("best_estimator_", "estimator_", "regressor_", "encoder_", "encoders_"),
    *("steps", "transformer_list", "transformers_", "transformer_"),
    *("_pipeline", "_wrapped_transformer"),  # of skrub
)


def reads_texts(model):
    """Return whether an estimator, or the first step of a Pipeline, reads texts."""
    return get_tags(flat_steps(model)[0]).input_tags.string


def replace_steps(estimator, function):
    """Return a fitted estimator with ``function(step)`` in place of each of its steps.

    Estimators around a replaced step are shallow copies; `estimator` is not modified.
    If the function returns a step itself, the steps inside it are replaced.
    """
    new = function(estimator)
    if new is not estimator:
        return new
    own = getattr(estimator, "__dict__", {})
    parts = {name: own[name] for name in _STEPS if own.get(name) is not None}
    changes = {name: _replace_part(part, function) for name, part in parts.items()}
    changes = {name: part for name, part in changes.items() if part is not parts[name]}
    if changes:
        new = copy(estimator)
        vars(new).update(changes)
    return new


def _replace_part(part, function):
    """Replace steps in an estimator, a dict of them, or (name, step, ...) tuples."""
    if isinstance(part, dict):
        new = {name: replace_steps(step, function) for name, step in part.items()}
        is_same = all(new[name] is step for name, step in part.items())
    elif isinstance(part, list):
        new = [
            (name, replace_steps(step, function), *rest) for name, step, *rest in part
        ]
        is_same = all(pair[1] is old[1] for pair, old in zip(new, part, strict=True))
    else:
        return replace_steps(part, function)
    return part if is_same else new


def lookup_vectors(embedding, words):
    """Return the vectors of words, float32 (n, dim), and which are known, (n,).

    `embedding` is a `WordVectors`, gensim's KeyedVectors, a mapping, or a fitted
    estimator whose transform returns EmbeddedSequences with one block, or an array with
    a row per sequence: each word is passed as a sequence, and a final predictor is left
    out. Words are found in any Unicode form. Unknown words are zeros. In an array, rows
    of zeros and words that no earlier block knows count as unknown. Raises a TypeError
    for any other embedding, and a ValueError for several blocks or vectors that are not
    finite.
    """
    words = list(words)
    values, known = _look_up(embedding, words)
    bad = infinite_rows(values)
    if len(bad):
        raise ValueError(f"the vector of {words[bad[0]]!r} holds NaN or infinity.")
    return values, known


def _look_up(embedding, words):
    outputs = _estimator_outputs(embedding, _one_word_sequences(words))
    if outputs:
        return _output_rows(outputs, words, embedding)
    if hasattr(embedding, "vectors_for"):
        return _store_rows(embedding, words)
    if isinstance(embedding, Mapping) or hasattr(embedding, "key_to_index"):
        return _in_any_form(partial(_mapping_rows, embedding), words)
    raise TypeError(
        "an embedding must be a fitted estimator with transform, a WordVectors, "
        "gensim's KeyedVectors or a dict of vectors, got "
        f"{type(embedding).__name__}."
    )


def lookup_known(embedding, words):
    """Return which words an embedding knows, bool (n,) by block name.

    Like `lookup_vectors`, but an estimator may return several blocks; of several steps
    that return EmbeddedSequences, the last one with the most blocks is used. Without
    blocks the only name is "".
    """
    words = list(words)
    outputs = _estimator_outputs(embedding, _one_word_sequences(words))
    outputs = [each for each in outputs if isinstance(each, EmbeddedSequences)]
    if not outputs:
        return {"": lookup_vectors(embedding, words)[1]}
    # The last of those with most blocks: steps that fill in unknown words count.
    embedded = max(reversed(outputs), key=lambda each: len(each.blocks))
    return {block.name: word_rows(embedded, block)[1] for block in embedded.blocks}


def _estimator_outputs(estimator, tokens):
    """Return the features of each step of an estimator, none for other embeddings."""
    is_embedding = hasattr(estimator, "transform") or hasattr(estimator, "predict")
    if isinstance(estimator, type) or not is_embedding:
        return []
    return list(outputs_within(fitted_steps(estimator), tokens))


def _output_rows(outputs, words, estimator):
    embedded = outputs[-1]
    if not isinstance(embedded, EmbeddedSequences):
        values = _dense(embedded, words, estimator)
        known = values.any(axis=1)
        # A later step, such as a StandardScaler, may move zeros of unknown words.
        before = [each for each in outputs if isinstance(each, EmbeddedSequences)]
        if before:
            blocks = [word_rows(before[-1], block)[1] for block in before[-1].blocks]
            known &= np.any(blocks, axis=0)
        return values, known
    if len(embedded.blocks) != 1:
        raise ValueError(
            f"{type(estimator).__name__} returns {len(embedded.blocks)} "
            f"blocks, {list(embedded.names)}. Put a meta-embedder after it that "
            "combines them, such as ConcatMetaEmbedding."
        )
    return word_rows(embedded, embedded.blocks[0])


def _dense(output, words, estimator):
    """Return an array or sparse matrix as a dense array with one row per word."""
    output = output.toarray() if hasattr(output, "tocsr") else output
    values = np.asarray(output, dtype=np.float32)
    if values.ndim != 2 or len(values) != len(words):
        raise ValueError(
            f"{type(estimator).__name__} returned shape {values.shape} for "
            f"{len(words)} words; expected one vector per word."
        )
    return values


def _one_word_sequences(words):
    return TokenSequences.from_lists([word] for word in words)


def word_rows(embedded, block):
    """Return values and `known` of a block, one row per sequence of one word."""
    block = embedded.broadcast(block, "token")
    # Words that the estimator splits into no token or several have no vector.
    single = embedded.tokens.lengths == 1
    rows = embedded.tokens.offsets[:-1][single]
    values = np.zeros((len(single), block.dim), dtype=np.float32)
    values[single] = block.values[rows]
    known = np.zeros(len(single), dtype=bool)
    known[single] = block.known[rows]
    return values, known


def _in_any_form(look_up, words):
    """Return vectors of words, and which are known, in any Unicode form of a word."""
    values, known = look_up(words)
    for form in ("NFC", "NFD"):
        places = [i for i in np.flatnonzero(~known) if not words[i].isascii()]
        if places:
            others = canonical_words([words[i] for i in places], form)
            values[places], known[places] = look_up(others)
    return values, known


def _store_rows(store, words):
    values, known = _in_any_form(store.vectors_for, words)
    unseen = np.flatnonzero(~known)
    if getattr(store, "has_subwords", False) and len(unseen):
        values[unseen] = store.subword_vectors([words[i] for i in unseen])
        known[unseen] = values[unseen].any(axis=1)
    return values, known


def _mapping_rows(table, words):
    known = np.array([word in table for word in words], dtype=bool)
    dim = getattr(table, "vector_size", None)
    if dim is None:
        if not table:
            raise ValueError("the dict of vectors is empty.")
        dim = np.size(next(iter(table.values())))
    values = np.zeros((len(words), dim), dtype=np.float32)
    for i in np.flatnonzero(known):
        vector = table[words[i]]
        if np.shape(vector) != (dim,) or np.asarray(vector).dtype.kind not in "fiub":
            raise ValueError(
                f"the vector of {words[i]!r} has shape {np.shape(vector)} "
                f"and dtype {np.asarray(vector).dtype}; expected numbers of shape "
                f"({dim},), as of the others."
            )
        values[i] = vector
    return values, known
