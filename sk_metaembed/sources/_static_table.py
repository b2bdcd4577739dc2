"""The input table of a transformer as vectors of words."""

import numpy as np

from ._subwords import pool_pieces
from ._tokenizer_checks import are_read

_WORDS_AT_ONCE = 50_000


def static_vectors(model, aligner, words, subword):
    """Return the pooled rows of the input table for distinct words.

    Parameters
    ----------
    model : TransformerModel or LoadedModel
    aligner : Aligner
    words : sequence of str
    subword : {"first", "last", "mean", "max"}

    Returns
    -------
    values : ndarray of float32, shape (n_words, dim)
    known : ndarray of bool, shape (n_words,)
        Not for words without a piece, or with none but the unknown one.
    """
    table = model.call.table()
    values = np.zeros((len(words), table.shape[1]), np.float32)
    known = np.zeros(len(words), dtype=bool)
    for start in range(0, len(words), _WORDS_AT_ONCE):
        with model.lock:
            pieces = aligner.encode_words(words[start : start + _WORDS_AT_ONCE])
        rows = np.flatnonzero(are_read(pieces, model.tokenizer))
        if len(rows):
            here = rows + start
            chosen = [pieces[i] for i in rows]
            model.call.check_pieces(np.concatenate(chosen))
            values[here] = _pooled(table, chosen, subword)
            known[here] = True
    return values, known


def _pooled(table, pieces, subword):
    import torch

    ids = torch.from_numpy(np.concatenate(pieces)).to(table.device)
    sizes = torch.tensor([len(p) for p in pieces], device=table.device)
    return pool_pieces(table[ids].float(), sizes, subword).cpu().numpy()
