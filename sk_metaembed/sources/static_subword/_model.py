"""A static subword model, opened once per process and shared by its users.

Fitted sources hold a handle, whose pickle contains the path or name of the model and
its fingerprint. Its table is never copied into a pickle.

If the tokenizer splits a word alike in every text, each distinct word is split once.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._core._arrays import read_only
from ..._io._handle import Handle, file_states
from ..._kernels._compiled import use_compiled
from ..._kernels._row_sums import sum_rows
from .._base import warn_of_long_texts
from .._fingerprint import file_digest, fingerprint_of
from ._model_files import find_files, find_model, read_tensors
from ._piece_tokenizer import PieceTokenizer

_CHUNK = 1 << 22  # characters to read at a time
_SECONDS_PER_TEXT, _SECONDS_PER_ENTRY = 1.5e-5, 3e-9  # in NumPy
_VERSION = 1


class StaticSpec(NamedTuple):
    """Identity of a model.

    Attributes
    ----------
    model : str
        A folder, or a name on the Hugging Face hub.
    revision : str or None
        Revision on the hub.
    dim : int or None
        Number of leading dimensions to use.
    """

    model: str
    revision: str | None = None
    dim: int | None = None


class StaticModel(Handle, keep=2):
    """A table of pieces and its tokenizer.

    Parameters
    ----------
    spec : StaticSpec
    files : StaticFiles

    Attributes
    ----------
    fingerprint : str
        Digest of the files and the options of the spec.
    dim : int
    """

    _kind, _Spec = "static model", StaticSpec

    def __init__(self, spec, files):
        self._spec, self._paths = spec, files
        self.tokenizer = PieceTokenizer(files.tokenizer)
        names = files.table, "mapping", "weights"
        table, self._mapping, self._weights = read_tensors(files.weights, names)
        self._check(table)
        if spec.dim is not None:
            table = np.ascontiguousarray(table[:, : spec.dim])
        # numba computes with float32 and int8.
        self._table = read_only(_as_single(table, np.int8))
        if self._weights is not None:
            self._weights = _as_single(self._weights, np.float64)
        digests = [file_digest(path) for path in (files.weights, files.tokenizer)]
        options = files._replace(weights=None, tokenizer=None, settings=None)
        self.fingerprint = fingerprint_of(
            {"version": _VERSION, "files": digests, "options": options, "dim": spec.dim}
        )

    @classmethod
    def _find(cls, spec, local):
        spec, place = find_model(spec, local=local)
        files = find_files(place)
        return spec, file_states(files.paths), files

    def _files(self):
        """Return the files that a saved file may include, by name."""
        return {path.name: path for path in self._paths.paths}

    @classmethod
    def _unpacked(cls, spec, folder):
        return spec._replace(model=str(folder), revision=None)

    def _check(self, table):
        """Check that each piece has a row; compiled code does not."""
        n_ids, where = self.tokenizer.n_ids, self._paths.weights
        for name, values, n_dims, kinds in (
            (self._paths.table, table, 2, "fi"),
            ("mapping", self._mapping, 1, "i"),
            ("weights", self._weights, 1, "fi"),
        ):
            if values is not None and (
                not values.size
                or values.ndim != n_dims
                or values.dtype.kind not in kinds
            ):
                raise ValueError(
                    f"{where} is corrupt: {name!r} has shape {values.shape} and dtype "
                    f"{values.dtype}; expected {n_dims} dimensions of numbers."
                )
        if self._spec.dim is not None and self._spec.dim > table.shape[1]:
            raise ValueError(
                f"dim={self._spec.dim}, but the vectors in {where} have "
                f"{table.shape[1]} dimensions."
            )
        n_rows = len(table) if self._mapping is None else len(self._mapping)
        n_weights = n_rows if self._weights is None else len(self._weights)
        if min(n_rows, n_weights) < n_ids:
            raise ValueError(
                f"the tokenizer has ids up to {n_ids - 1}, but {where} has vectors of "
                f"{min(n_rows, n_weights)} pieces only, of a different model."
            )
        rows = self._mapping
        if rows is not None and not 0 <= rows.min() <= rows.max() < len(table):
            raise ValueError(
                f"{where} is corrupt: 'mapping' points beyond the {len(table)} rows."
            )

    @property
    def dim(self):
        """Number of dimensions of a vector."""
        return self._table.shape[1]

    def embed_words(self, words):
        """Return the mean of the known pieces of words, and which have any.

        Arrays float32 (n_words, dim) and bool (n_words,).
        """
        lead = self.tokenizer.lead
        texts = [lead + word for word in words] if lead else list(words)
        return self._in_chunks(texts, self._known_pieces)

    def embed_texts(self, texts, max_length):
        """Return the vectors of texts as the model's library encodes them.

        `max_length` is a number of pieces, None for all, or "model" for its own. Warns
        of longer texts, once per process.
        """
        files, tokenizer = self._paths, self.tokenizer
        is_model2vec = files.library == "model2vec"
        limit, from_left = max_length, False
        if max_length == "model":
            limit = files.max_length
            if files.library == "sentence-transformers":
                limit, from_left = tokenizer.truncation or (None, False)
        n_characters = None
        if limit is not None and is_model2vec:
            n_characters = limit * tokenizer.median_length
        n_cut = 0

        def read(texts):
            nonlocal n_cut
            if files.prefix:
                # A prompt alone would make an empty text known.
                texts = [text.strip() and files.prefix + text for text in texts]
            pieces = tokenizer.pieces([text[:n_characters] for text in texts])
            if limit is not None:
                sizes = np.array([len(text) for text in texts])
                is_cut = sizes > (n_characters or math.inf)
                n_cut += np.count_nonzero(is_cut | (np.diff(pieces.offsets) > limit))
                pieces = pieces.cut(limit, from_left=from_left)
            return self._without_unknown(pieces) if is_model2vec else pieces

        values, known = self._in_chunks(texts, read)
        warn_of_long_texts(
            "StaticSubwordEmbedding",
            self.fingerprint,
            n_cut,
            len(texts),
            limit,
            f" and cut, as by {files.library}. Use max_length=None to read whole "
            "texts.",
        )
        if files.normalize:
            norms = np.linalg.norm(values.astype(np.float64), axis=1)
            values /= np.maximum(norms, 1e-32)[:, None]
        return values, known

    def _known_pieces(self, texts):
        return self._without_unknown(self.tokenizer.pieces(texts))

    def _without_unknown(self, pieces):
        known = pieces.ids != self.tokenizer.unknown
        return pieces if known.all() else pieces.selected(known)

    def _in_chunks(self, texts, read):
        """Return the vectors of texts, whose pieces `read` returns."""
        values = np.zeros((len(texts), self.dim), np.float32)
        known = np.zeros(len(texts), bool)

        for first, last in _spans(texts):
            pieces = read(texts[first:last])
            known[first:last] = np.diff(pieces.offsets) > 0
            self._write_means(pieces, values[first:last])
        return values, known

    def _write_means(self, pieces, out):
        rows, weights = pieces.ids, None
        if self._weights is not None:
            weights = self._weights[rows].astype(np.float64)
        if self._mapping is not None:
            rows = self._mapping[rows]
        lengths = np.maximum(np.diff(pieces.offsets), 1).astype(np.float64)
        seconds = (
            _SECONDS_PER_TEXT * len(out) + _SECONDS_PER_ENTRY * rows.size * self.dim
        )
        add = sum_rows
        if use_compiled(seconds):
            from ..._kernels._row_sums_numba import sum_rows as add
        add(self._table, rows, pieces.offsets, weights, lengths, 0, len(out), out, 0)


def _as_single(values, other):
    """Return values as float32, unless they are float32 or of another dtype."""
    kept = values.dtype in (np.float32, other)
    return values if kept else values.astype(np.float32)


def _spans(texts):
    """Return (first, last + 1) of runs of texts of about `_CHUNK` characters."""
    ends = np.cumsum([len(text) for text in texts])
    cuts = np.flatnonzero(np.diff(ends // _CHUNK, prepend=0)) + 1
    return list(pairwise(np.unique([0, *cuts, len(texts)]).tolist()))
