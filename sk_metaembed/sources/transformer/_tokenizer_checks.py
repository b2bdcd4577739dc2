"""Check that a tokenizer belongs to its model and can read the data.

Readable words are cached in the aligner, because all candidates of a search check the
same fold.
"""

import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from ._alignment import text_of
from ._forward import n_cut

# Usual names of vocabulary files; a class lists its own in `vocab_files_names`.
_VOCABULARIES = (
    *("tokenizer*.json", "*vocab*", "merges.txt", "*.model", "*.tiktoken"),
    *("*.codes", "tekken.json"),
)
_SETTINGS = "tokenizer_config.json"  # contains no vocabulary
# Input tables are padded, at most to the next multiple of 256. Real tokenizers of
# thousands of pieces have 98 % of the rows or more.
_PADDING = 256
_WORDS_PER_BATCH = 50_000
_EXAMPLES = 5
_MAX_GROWTH = 11  # NFKC turns one byte into at most so many


def has_vocabulary(folder, names=()):
    """Return whether a folder has a vocabulary file, of a usual name or of `names`."""
    files = {path.name for path in Path(folder).iterdir()} - {_SETTINGS}
    patterns = (*_VOCABULARIES, *names)
    return any(fnmatch(name, pattern) for pattern in patterns for name in files)


def no_tokenizer(folder):
    """Return the error for a folder with a model and no tokenizer."""
    return FileNotFoundError(
        f"TransformerEmbedding: the folder {folder} has a model but no tokenizer: no "
        "tokenizer.json, vocab.txt or similar. Save the model's own tokenizer there "
        "too, by tokenizer.save_pretrained(folder), or pass (model, tokenizer)."
    )


def check_size(tokenizer, config):
    """Raise ValueError if a tokenizer is far smaller than the model's vocabulary.

    The threshold is half of the pieces, if padding cannot explain the difference.
    """
    expected = getattr(config.get_text_config(), "vocab_size", None)
    actual = len(tokenizer)
    if not isinstance(expected, int):
        return
    if actual < expected / 2 and expected - actual > _PADDING:
        raise ValueError(
            f"TransformerEmbedding: {type(tokenizer).__name__} has {actual:,} pieces, "
            f"but the model's vocabulary has {expected:,}, so this is not the model's "
            "tokenizer. Load the tokenizer that belongs to the model."
        )


def are_readable(pieces, tokenizer):
    """Return per word, an array of piece ids, whether one is not the unknown piece."""
    unknown = tokenizer.unk_token_id
    # SentencePiece splits off the mark of a space before an unknown word.
    nothing = [unknown, *tokenizer.convert_tokens_to_ids(["\u2581", "\u0120"])]
    nothing = [id_ for id_ in nothing if id_ is not None]
    return np.array(
        [
            len(ids) > 0 and not (unknown in ids and np.isin(ids, nothing).all())
            for ids in pieces
        ],
        dtype=bool,
    )


def readable_types(tokens, model, aligner):
    """Return per type whether the tokenizer knows a piece of it, (n_types,) bool.

    A type is readable as it is or as its text spells it. Warns if most tokens are not.
    """
    readable = _readable_words(tokens.types.tolist(), model, aligner)
    if tokens.texts is not None and not readable.all():
        rest = np.flatnonzero(~readable)
        readable[rest] = _readable_words(_spellings(tokens, rest), model, aligner)
    n_unreadable = int((~readable[tokens.codes]).sum())
    if n_unreadable * 2 > tokens.n_tokens:
        counts = np.where(readable, 0, tokens.type_counts())
        most = np.argsort(-counts, kind="stable")[:_EXAMPLES]
        examples = ", ".join(repr(str(tokens.types[i])) for i in most if counts[i])
        warnings.warn(
            f"TransformerEmbedding: {n_unreadable:,} of {tokens.n_tokens:,} tokens of "
            f"the training fold, such as {examples}, are unknown to "
            f"{type(model.tokenizer).__name__}: the model reads all of them as the "
            "same piece. Check that the tokenizer belongs to the model, and that the "
            "texts are in its language and case.",
            UserWarning,
            stacklevel=2,
        )
    return readable


def _readable_words(words, model, aligner):
    with model.lock:
        known = aligner.readable
        new = [word for word in words if word not in known]
        for start in range(0, len(new), _WORDS_PER_BATCH):
            part = new[start : start + _WORDS_PER_BATCH]
            readable = are_readable(aligner.encode_words(part), model.tokenizer)
            known.update(zip(part, readable.tolist(), strict=True))
        return np.array([known[word] for word in words], dtype=bool)


def _spellings(tokens, types):
    """Return types, given as numbers, as the texts spell their first occurrence."""
    first = np.unique(tokens.codes, return_index=True)[1][types]
    rows = np.searchsorted(tokens.offsets, first, "right") - 1
    part = tokens[rows]
    spans = part.spans()[part.offsets[:-1] + first - tokens.offsets[rows]]
    return [
        text[start:end] if start >= 0 else word
        for text, (start, end), word in zip(
            part.texts, spans.tolist(), tokens.types[types].tolist(), strict=True
        )
    ]


def pieces_beyond(tokens, aligner, limit, reader, *, as_text):
    """Return how many pieces of each sequence are beyond the first window.

    Sequences with too few bytes to be long are not split into pieces.

    Parameters
    ----------
    tokens : TokenSequences
    aligner : Aligner
    limit : int or None
    reader : callable
        Returns the sentences of tokens, like `distinct_sentences`.
    as_text : bool
        See `Aligner.encode`.
    """
    beyond = np.zeros(len(tokens), dtype=np.int64)
    if limit is None:
        return beyond
    groups, sentences = reader(tokens)
    long = [
        i
        for i, sentence in enumerate(sentences)
        if _most_pieces(text_of(sentence)) + aligner.overhead > limit
    ]
    encoded = aligner.encode([sentences[i] for i in long], as_text=as_text)
    for i, pieces in zip(long, encoded, strict=True):
        beyond[groups[i]] = n_cut(pieces, aligner.frame, limit)
    return beyond


def _most_pieces(text):
    """Return an upper bound of a text's pieces, with a space before it."""
    if text.isascii():
        return len(text) + 1
    return _MAX_GROWTH * len(text.encode("utf-8", "replace")) + 1
