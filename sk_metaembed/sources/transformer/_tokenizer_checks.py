"""Check that a tokenizer is its model's own, and which words it can read."""

import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

# Usual names of vocabulary files; a class lists its own in `vocab_files_names`.
_VOCABULARIES = (
    *("tokenizer*.json", "*vocab*", "merges.txt", "*.model", "*.tiktoken"),
    *("*.codes", "tekken.json"),
)
_SETTINGS = "tokenizer_config.json"  # holds no vocabulary
# Input tables are padded, at most to the next multiple of 256. Real tokenizers of
# thousands of pieces have 98 % of the rows or more.
_PADDING = 256
_WORDS_AT_ONCE = 50_000
_SHOWN = 5


def has_vocabulary(folder, names=()):
    """Return whether a folder has a file with a tokenizer's vocabulary.

    Parameters
    ----------
    folder : path-like
    names : collection of str
        Of files, besides the usual ones.
    """
    files = {path.name for path in Path(folder).iterdir()} - {_SETTINGS}
    return any(
        name in names or any(fnmatch(name, usual) for usual in _VOCABULARIES)
        for name in files
    )


def no_tokenizer(folder):
    """Return the error for a folder with a model and no tokenizer."""
    return FileNotFoundError(
        f"TransformerEmbedding: the folder {folder} has a model but no tokenizer: no "
        "tokenizer.json, vocab.txt or the like. Save the model's own tokenizer there "
        "too, by tokenizer.save_pretrained(folder), or pass (model, tokenizer)."
    )


def check_found(tokenizer, folder):
    """Check that a tokenizer was made from files: transformers makes empty ones too.

    Raises
    ------
    FileNotFoundError
        If it needs a vocabulary and the folder has none.
    """
    # CANINE, ByT5 and Perceiver read characters or bytes and need no file.
    names = set((getattr(tokenizer, "vocab_files_names", None) or {}).values())
    if names and not has_vocabulary(folder, names):
        raise no_tokenizer(folder)


def check_size(tokenizer, config):
    """Check that a tokenizer is about as large as the model's vocabulary.

    Raises
    ------
    ValueError
        If it has less than half of the pieces, and padding is no reason.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    wanted, found = getattr(text, "vocab_size", None), _n_pieces(tokenizer)
    if not isinstance(wanted, int) or found is None:
        return
    if found < wanted / 2 and wanted - found > _PADDING:
        raise ValueError(
            f"TransformerEmbedding: {type(tokenizer).__name__} has {found:,} pieces, "
            f"but the model's vocabulary has {wanted:,}, so this is not the model's "
            "tokenizer. Load the tokenizer from where the model came from."
        )


def _n_pieces(tokenizer):
    if hasattr(tokenizer, "__len__"):
        return len(tokenizer)
    return len(tokenizer.get_vocab()) if hasattr(tokenizer, "get_vocab") else None


def are_read(pieces, tokenizer):
    """Return for each word whether it has a piece other than the unknown one.

    Parameters
    ----------
    pieces : list of ndarray of int
        The ids of each word's pieces.
    tokenizer : transformers tokenizer

    Returns
    -------
    ndarray of bool, shape (n_words,)
    """
    unknown = getattr(tokenizer, "unk_token_id", None)
    convert = getattr(tokenizer, "convert_tokens_to_ids", lambda mark: unknown)
    # SentencePiece sets off the mark of a space before an unknown word.
    nothing = [unknown, *map(convert, ("\u2581", "\u0120"))]
    nothing = [id_ for id_ in nothing if id_ is not None]
    return np.array(
        [
            len(ids) > 0 and not (unknown in ids and np.isin(ids, nothing).all())
            for ids in pieces
        ],
        dtype=bool,
    )


def types_read(tokens, model, aligner):
    """Return which types the tokenizer knows a piece of; warn if most tokens have none.

    A type counts as it is, or as a text has it.

    Parameters
    ----------
    tokens : TokenSequences
    model : TransformerModel or LoadedModel
    aligner : Aligner

    Returns
    -------
    ndarray of bool, shape (n_types,)
    """
    read = _words_read(tokens.types.tolist(), model, aligner)
    if tokens.texts is not None and not read.all():
        rest = np.flatnonzero(~read)
        read[rest] = _words_read(_as_written(tokens, rest), model, aligner)
    unread = int((~read[tokens.codes]).sum())
    if unread * 2 > tokens.n_tokens:
        counts = np.where(read, 0, tokens.type_counts())
        most = np.argsort(-counts, kind="stable")[:_SHOWN]
        shown = ", ".join(repr(str(tokens.types[i])) for i in most if counts[i])
        warnings.warn(
            f"TransformerEmbedding: {unread:,} of {tokens.n_tokens:,} tokens of the "
            f"training fold, such as {shown}, are unknown to "
            f"{type(model.tokenizer).__name__}: the model reads all of these as the "
            "same piece. Is the tokenizer the model's own, and are the texts in its "
            "language and case?",
            UserWarning,
            stacklevel=2,
        )
    return read


def _words_read(words, model, aligner):
    with model.lock:
        # By word here, by sentence elsewhere. A search asks for the same fold often.
        remembered = aligner.remembered
        new = [word for word in words if word not in remembered]
        for start in range(0, len(new), _WORDS_AT_ONCE):
            some = new[start : start + _WORDS_AT_ONCE]
            found = are_read(aligner.encode_words(some), model.tokenizer)
            remembered.update(zip(some, found.tolist(), strict=True))
        return np.array([remembered[word] for word in words], dtype=bool)


def _as_written(tokens, types):
    """Return some types as the texts have them where they occur first."""
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
