"""Why a store of word vectors knows almost none of the words of some texts."""

import re
import unicodedata
import warnings
from collections import Counter

import numpy as np

_MOST_FREQUENT = 1000  # unknown words to look at
_SAMPLE = 200_000  # words of the store to look at
_AFFIXES = 5  # to try
# A cause must explain this share of the unknown tokens, and this many words: a single
# word may match by chance.
_ENOUGH = 0.2
_FEWEST = 3
_SHOWN = 5
_LETTERS = re.compile(r"[^\W\d_]+")
_CASES = {
    "lower case": str.lower,
    "title case": str.capitalize,
    "capitals": str.upper,
}


def warn_of_few(tokens, known, store):
    """Warn that a store knows almost none of the tokens, and say why.

    Parameters
    ----------
    tokens : TokenSequences
    known : ndarray of bool, shape (n_types,)
    store : WordVectors
    """
    counts = np.where(known, 0, tokens.type_counts())
    most = np.argsort(-counts, kind="stable")[:_MOST_FREQUENT]
    unknown = {str(tokens.types[i]): int(counts[i]) for i in most if counts[i]}
    share = known[tokens.codes].mean()
    warnings.warn(
        f"PretrainedEmbedding: only {share:.1%} of the training fold's "
        f"{tokens.n_tokens:,} tokens are known to {store!r}. {_cause(unknown, store)}",
        UserWarning,
        stacklevel=2,
    )


def _cause(unknown, store):
    """Return the likely cause as sentences.

    Parameters
    ----------
    unknown : dict of str to int
        Frequent words that the store lacks, and how often they occur.
    store : WordVectors
    """
    total = sum(unknown.values())
    if sum(n for word, n in unknown.items() if len(word.split()) > 1) > total / 2:
        return (
            f"Tokens such as {_shown(unknown)} have spaces in them: they are texts, "
            "not words. Pass texts as str, or split them into lists of words."
        )
    words = _sample(store)
    forms = [("", "", case) for case in _CASES]
    forms += [(*affix, case) for affix in _affixes(unknown, words) for case in _CASES]
    found = [_explained(unknown, store, form) for form in forms]
    tokens = [sum(unknown[word] for word in each) for each in found]
    best = int(np.argmax(tokens))
    few = len(found[best]) < min(_FEWEST, len(unknown))
    if tokens[best] >= _ENOUGH * total and not few:
        return _of_form(found[best][0], forms[best])
    theirs, ours = _script(words), _script(unknown)
    if theirs and ours and theirs != ours:
        return (
            f"The store's words are written in {theirs.title()} letters, such as "
            f"{_shown(words)}, and the texts in {ours.title()} ones. Use vectors of "
            "the texts' language."
        )
    return (
        f"The store has words such as {_shown(words)}, and the texts such as "
        f"{_shown(unknown)}. Are they in the same language, and split alike?"
    )


def _of_form(word, form):
    prefix, suffix, case = form
    example = f"{word!r} is there as {_formed(word, form)!r}"
    if not (prefix or suffix):
        how = (
            "Use case_fallback=True, or Tokenizer(lowercase=True)."
            if case == "lower case"
            else "Convert the tokens, or the words of the store, to its case."
        )
        return f"The store's words are in {case}: {example}. {how}"
    parts = {"prefix": prefix, "suffix": suffix}
    named = " and ".join(f"the {name} {part!r}" for name, part in parts.items() if part)
    return (
        f"The store's words have {named}: {example}. Make a store of the words without "
        "it: WordVectors.from_arrays(words, vectors)."
    )


def _formed(word, form):
    prefix, suffix, case = form
    return f"{prefix}{_CASES[case](word)}{suffix}"


def _explained(unknown, store, form):
    """Return the unknown words that the store has in another form."""
    rows = store.lookup([_formed(word, form) for word in unknown])
    return [word for word, row in zip(unknown, rows, strict=True) if row >= 0]


def _affixes(unknown, words):
    """Return the affixes with which the store has unknown words most often."""
    sought = {word.lower() for word in unknown}
    found = Counter(
        (word[: run.start()], word[run.end() :])
        for word in words
        for run in _LETTERS.finditer(word)
        if run.group().lower() in sought
    )
    found.pop(("", ""), None)
    return [affix for affix, _ in found.most_common(_AFFIXES)]


def _sample(store):
    """Return words of the store, evenly spaced: some are sorted by language."""
    rows = np.unique(np.linspace(0, len(store) - 1, _SAMPLE).astype(np.int64))
    return store._packed.take(rows).to_list()


def _script(words):
    """Return the name of the script that most words are written in, "" for none."""
    firsts = (next((c for c in word if c.isalpha()), "") for word in words)
    names = (unicodedata.name(c, "").partition(" ")[0] for c in firsts if c)
    (name, _), *_ = Counter(names).most_common(1) or [("", 0)]
    return name


def _shown(words):
    shown = [word for word in words if any(c.isalpha() for c in word)] or list(words)
    return ", ".join(repr(word[:40]) for word in shown[:_SHOWN])
