"""A static model, opened once per process and shared by its users.

Fitted sources hold a handle, whose pickle contains the path or name of the model and
its fingerprint. Its table is never copied into a pickle.

If the tokenizer splits a word alike in every text, each distinct word is split once.
"""

import hashlib
import json
import math
import tempfile
import warnings
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._core._arrays import read_only
from ..._io._handle import Handle, file_states
from ..._kernels._compiled import use_compiled
from ..._kernels._row_sums import SECONDS_PER_SUM, SECONDS_PER_TERM, sum_rows
from .._base import warn_of_long_texts
from .._encoder_modules import check_task
from .._fingerprint import file_digest, fingerprint_of
from .._loaded_encoder import (
    LoadedHandle,
    check_route,
    content_of,
    is_sentence_encoder,
    is_static_model,
    loaded_modules,
    read_files,
    write_files,
    write_modules,
)
from ._model_files import find_files, find_model, read_json, read_tensors
from ._piece_tokenizer import PieceTokenizer
from ._word_tokenizer import CONFIGS, WordTokenizer, read_word_tokenizer

_CHUNK = 1 << 22  # characters to read at a time
_TINY = 1e-9  # the smallest sum of weights, as in sentence-transformers
_MOST_ENTRIES = 1 << 24  # of vectors before the last modules
_VERSION = 2


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
    task : str or None
        Selects the modules of a Router.
    """

    model: str
    revision: str | None = None
    dim: int | None = None
    task: str | None = None


class StaticModel(Handle, keep=2):
    """A table of pieces or words, its tokenizer, and the modules behind it.

    Parameters
    ----------
    spec : StaticSpec
    files : StaticFiles

    Attributes
    ----------
    fingerprint : str
        Digest of the files and the options of the spec.
    dim : int
        Number of dimensions of the vectors of words.
    text_dim : int
        Number of dimensions of the vectors of texts.
    settings : EncoderSettings
    """

    _kind, _Spec = "static model", StaticSpec

    def __init__(self, spec, files):
        self._spec, self._paths, self.settings = spec, files, files.settings
        self._modules, self._head = files.modules, None
        self.tokenizer = _tokenizer_of(files)
        self._table = self._mapping = self._weights = self._divisors = None
        if files.table is not None:
            self._read_table(files)
        else:  # a bag of words
            self.dim = self.tokenizer.n_ids
        if files.scales:
            self._weights, self._divisors = np.prod(files.scales, 0), files.scales[-1]
        self._check_weights()
        self._set_dimensions()
        digests = [file_digest(p) for p in (files.weights, files.tokenizer) if p]
        options = {
            "version": _VERSION,
            "files": digests,
            "library": files.library,
            "modules": files.modules.fingerprint,
            "max_length": files.modules.max_length,
            "options": [files.special, files.counts, self.dim, self.text_dim],
        }
        scales = enumerate(files.scales)
        self.fingerprint = fingerprint_of(options, [(f"{i}", s) for i, s in scales])

    def _read_table(self, files):
        names = files.table, "mapping", "weights"
        table, self._mapping, self._weights = read_tensors(files.weights, names)
        self._check(table)
        # numba computes with float32 and int8.
        self._table = read_only(_as_single(table, np.int8))
        self.dim = table.shape[1]
        if self._weights is not None:
            self._weights = _as_single(self._weights, np.float64)
        n_words = self.tokenizer.n_ids
        if isinstance(self.tokenizer, WordTokenizer) and n_words < len(table):
            warnings.warn(
                f"StaticSubwordEmbedding: {files.weights} has {len(table)} vectors for "
                f"the {n_words} words of {files.tokenizer.name}. sentence-transformers "
                "writes such files if a word was repeated in the file of vectors; each "
                "word after it then has the vector of another. Read that file by "
                "PretrainedEmbedding, or without the repeated word.",
                stacklevel=2,
            )

    def _set_dimensions(self):
        """Set the number of dimensions of texts, and cut the table of model2vec."""
        whole, dim = self._modules.dim(self.dim), self._spec.dim
        if dim is not None and dim > whole:
            raise ValueError(
                f"dim={dim}, but the vectors in {self._paths.root} have {whole} "
                "dimensions."
            )
        if dim is not None and self._paths.library == "model2vec":
            self._table = read_only(np.ascontiguousarray(self._table[:, :dim]))
            self.dim = dim
        self.text_dim = dim or min(whole, self.settings.truncate_dim or whole)
        self._modes = self._modules.pooling["modes"]
        self._pooled_dim = self.dim * len(self._modes)
        kinds = {step["kind"] for step in self._modules.steps[1:]}
        self._normalizes = kinds == {"Normalize"}
        self._computes = bool(kinds) and not self._normalizes
        # If so, no array of pooled vectors is needed.
        self._is_direct = self.text_dim == self._pooled_dim and not self._computes

    @classmethod
    def _find(cls, spec, local):
        spec, place = find_model(spec, local=local)
        files = find_files(place, spec.task)
        return spec, file_states(files.paths), files

    def _files(self):
        """Return the files that a saved file may include, by name."""
        pickles = [path for path in self._paths.paths if path.suffix == ".bin"]
        if pickles:
            raise TypeError(
                f"{pickles[0]} is a pickle, which a saved file must not contain. Save "
                "with bundle=False, which refers to the folder, or convert it to "
                "safetensors: SentenceTransformer(folder).save(new_folder)."
            )
        root = self._paths.root
        return {path.relative_to(root).as_posix(): path for path in self._paths.paths}

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
        n_rows = len(table) if self._mapping is None else len(self._mapping)
        n_weights = n_rows if self._weights is None else len(self._weights)
        if min(n_rows, n_weights) < n_ids:
            raise ValueError(
                f"the tokenizer has ids up to {n_ids - 1}, but {where} has vectors of "
                f"only {min(n_rows, n_weights)} pieces. They are of different models."
            )
        rows = self._mapping
        if rows is not None and not 0 <= rows.min() <= rows.max() < len(table):
            raise ValueError(
                f"{where} is corrupt: 'mapping' points beyond the {len(table)} rows."
            )

    def _check_weights(self):
        n_ids = self.tokenizer.n_ids
        for scale in self._paths.scales:
            if len(scale) < n_ids:
                raise ValueError(
                    f"the tokenizer in {self._paths.root} has {n_ids} words, but a "
                    f"module has weights of {len(scale)} words only."
                )

    def embed_words(self, words):
        """Return the mean of the known pieces of words, and which have any.

        Arrays float32 (n_words, dim) and bool (n_words,).
        """
        dim = min(self.dim, self._spec.dim or self.dim)
        if self._table is None:
            raise ValueError(
                "a BoW of sentence-transformers has no vectors of words. Use "
                "output='mean' for vectors of texts."
            )
        lead, tokenizer = self.tokenizer.lead, self.tokenizer
        texts = [lead + word for word in words] if lead else list(words)
        values = np.zeros((len(words), self.dim), np.float32)
        known = np.zeros(len(words), bool)
        weights = self._weights if self._paths.library == "model2vec" else None
        for first, last in _spans(texts):
            pieces = self._without_unknown(tokenizer.pieces(texts[first:last]))
            known[first:last] = np.diff(pieces.offsets) > 0
            self._write_means(pieces, weights, None, "mean", values[first:last], 0)
        return np.ascontiguousarray(values[:, :dim]), known

    def embed_texts(self, texts, max_length, prompt):
        """Return the vectors of texts as the model's library encodes them.

        `max_length` is a number of pieces, None for all, or "model" for its own. Warns
        of longer texts, once per process.
        """
        files, tokenizer = self._paths, self.tokenizer
        is_model2vec = files.library == "model2vec"
        limit, from_left = max_length, False
        if max_length == "model":
            limit = files.modules.max_length
            if limit is None and not is_model2vec:
                limit, from_left = tokenizer.truncation or (None, False)
        n_characters = None
        if limit is not None and is_model2vec:
            n_characters = limit * tokenizer.median_length
        n_cut = 0

        def read(texts):
            nonlocal n_cut
            if prompt:
                # A prompt alone would make an empty text known.
                texts = [text.strip() and prompt + text for text in texts]
            cut = [text[:n_characters] for text in texts]
            pieces = (
                tokenizer.pieces(cut, special=True)
                if files.special
                else (tokenizer.pieces(cut))
            )
            if limit is not None:
                sizes = np.array([len(text) for text in texts])
                is_cut = sizes > (n_characters or math.inf)
                n_cut += np.count_nonzero(is_cut | (np.diff(pieces.offsets) > limit))
                pieces = pieces.cut(limit, from_left=from_left)
            return self._without_unknown(pieces) if is_model2vec else pieces

        values = np.zeros((len(texts), self.text_dim), np.float32)
        known = np.zeros(len(texts), bool)
        most = _MOST_ENTRIES // self._pooled_dim + 1 if self._table is None else None
        for first, last in _spans(texts, most):
            pieces = read(texts[first:last])
            known[first:last] = np.diff(pieces.offsets) > 0
            out = values[first:last]
            if self._is_direct:
                self._finished(self._pooled(pieces, out), known[first:last])
            else:
                pooled = np.zeros((last - first, self._pooled_dim), np.float32)
                self._pooled(pieces, pooled)
                out[:] = self._finished(pooled, known[first:last])
        warn_of_long_texts(
            "StaticSubwordEmbedding",
            self.fingerprint,
            n_cut,
            len(texts),
            limit,
            f" and cut, as by {files.library}. Use max_length=None to read whole "
            "texts.",
        )
        return values, known

    def _without_unknown(self, pieces):
        known = pieces.ids != self.tokenizer.unknown
        return pieces if known.all() else pieces.selected(known)

    def _finished(self, pooled, known):
        """Return vectors of texts after all modules; those of unknown texts stay 0."""
        if self._normalizes:
            norms = np.linalg.norm(pooled.astype(np.float64), axis=1)
            pooled /= np.maximum(norms, 1e-32)[:, None]
        elif self._computes:
            pooled = self._computed(pooled, known)
        return pooled[:, : self.text_dim]

    def _computed(self, pooled, known):
        """Return vectors of texts after modules with weights."""
        if self._head is None:
            import torch

            from .._encoder_head import SentenceHead

            self._head = SentenceHead(self._modules, torch.device("cpu"))
        values = np.zeros((len(pooled), self._modules.dim(self.dim)), np.float32)
        if known.any():
            values[known] = self._head.finish(pooled[known])
        return values

    def _pooled(self, pieces, out):
        """Write one vector per text, (n_texts, pooled dim), and return them."""
        for k, mode in enumerate(self._modes):
            column = k * self.dim
            if mode == "sum":
                self._write_counts(pieces, out)
            elif mode in ("max", "lasttoken"):
                self._write_selected(pieces, mode, out[:, column : column + self.dim])
            else:
                scales = self._weights, self._divisors
                self._write_means(pieces, *scales, mode, out, column)
        return out

    def _write_counts(self, pieces, out):
        """Write the sums of the weights of words, (n_texts, n_words)."""
        rows = np.repeat(np.arange(len(out)), np.diff(pieces.offsets))
        if self._paths.counts:
            np.add.at(out, (rows, pieces.ids), self._weights[pieces.ids])
        else:
            out[rows, pieces.ids] = self._weights[pieces.ids]

    def _write_selected(self, pieces, mode, out):
        """Write the largest or the last vectors of pieces."""
        for i, (begin, end) in enumerate(pairwise(pieces.offsets.tolist())):
            ids = pieces.ids[begin:end] if mode == "max" else pieces.ids[begin:end][-1:]
            if len(ids):
                rows = self._table[ids]
                if self._weights is not None:
                    rows = rows * self._weights[ids, None]
                out[i] = rows.max(axis=0)

    def _write_means(self, pieces, scales, divisors, mode, out, column):
        """Write sums of vectors over the number of pieces, or over other divisors.

        Parameters
        ----------
        pieces : SubwordIds
        scales : ndarray or None
            Factor of each piece's vector.
        divisors : ndarray or None
            Value of each piece whose sum is the divisor.
        mode : {"mean", "mean_sqrt_len_tokens", "weightedmean"}
        out : ndarray of float32
        column : int
            The first column to write.
        """
        rows, lengths = pieces.ids, np.diff(pieces.offsets)
        weights = None if scales is None else scales[rows].astype(np.float64)
        sums = np.maximum(lengths, 1).astype(np.float64)
        if mode == "weightedmean":
            places = (
                np.arange(len(rows)) - np.repeat(pieces.offsets[:-1], lengths) + 1.0
            )
            weights = places if weights is None else weights * places
            sums *= (sums + 1) / 2
        if divisors is not None:
            of_text = np.repeat(np.arange(len(lengths)), lengths)
            sums = np.bincount(of_text, divisors[rows], len(lengths))
            sums = np.maximum(sums, _TINY)
        if mode == "mean_sqrt_len_tokens":
            sums = np.sqrt(sums)
        if self._mapping is not None:
            rows = self._mapping[rows]
        seconds = SECONDS_PER_SUM * len(out) + SECONDS_PER_TERM * rows.size * self.dim
        add = sum_rows
        if use_compiled(seconds):
            from ..._kernels._row_sums_numba import sum_rows as add
        offsets, n_texts = pieces.offsets, len(lengths)
        add(self._table, rows, offsets, weights, sums, 0, n_texts, out, column)


def _tokenizer_of(files):
    """Return the tokenizer of a model's files."""
    path = files.tokenizer
    if path.name in CONFIGS.values():
        return read_word_tokenizer(path)
    if files.table is None:
        return WordTokenizer(dict.fromkeys(read_json(path, dict)["vocab"]))
    return PieceTokenizer(path)


def _as_single(values, other):
    """Return values as float32, unless they already have the other dtype."""
    kept = values.dtype in (np.float32, other)
    return values if kept else values.astype(np.float32)


def _spans(texts, most=None):
    """Return (first, last + 1) of runs of about `_CHUNK` characters, `most` texts."""
    ends = np.cumsum([len(text) for text in texts])
    cuts = np.flatnonzero(np.diff(ends // _CHUNK, prepend=0)) + 1
    starts = range(0, len(texts), most or len(texts) or 1)
    return list(pairwise(np.unique([0, *cuts, *starts, len(texts)]).tolist()))


_OPTIONS = "loaded.json"


class StaticContent:
    """The files of a static model, which pickles and saved files contain.

    Parameters
    ----------
    files : dict of str to bytes
    """

    def __init__(self, files):
        self.files = files

    @classmethod
    def of(cls, model, task):
        """Return the files that a model's library writes, for the texts of a task.

        None for something that is not a model of model2vec or sentence-transformers.
        """
        if isinstance(model, StaticContent):
            check_route(model.files, task)
            return model
        if is_static_model(model):
            check_task(task, "the StaticModel")
            return cls(content_of(model.save_pretrained))
        if is_sentence_encoder(model):
            modules = loaded_modules(model, task)
            write = partial(write_modules, model, modules, task=task)
            return cls(content_of(write))
        return None

    @property
    def parameter(self):
        """The value of the parameter `model` of a source."""
        return self

    def __repr__(self):
        size = sum(map(len, self.files.values()))
        return f"StaticContent({size:,} bytes)"


class LoadedStaticModel(LoadedHandle, StaticModel, keep=2):
    """A static model that the user has loaded, as it was at that time.

    Pickles and saved files contain its files.

    Parameters
    ----------
    content : StaticContent
    dim : int or None
        See `StaticSpec`.
    """

    _kind = "loaded static model"

    def __init__(self, content, dim):
        self.content, self._contents = content, (content, dim)
        with tempfile.TemporaryDirectory() as folder:
            write_files(content.files, folder)
            super().__init__(StaticSpec(folder, None, dim), find_files(folder))

    @classmethod
    def of(cls, content, dim):
        """Return the process's handle of a model."""
        digest = hashlib.blake2b(digest_size=16)
        for name, data in sorted(content.files.items()):
            digest.update(f"{name} {len(data)} ".encode() + data)
        key = digest.hexdigest(), dim
        return cls._handles.get(key, lambda: cls(content, dim))

    @property
    def parameter(self):
        """The value of the parameter `model` of a source."""
        return self.content

    def _files(self):
        """Return the files that a saved file contains, by name."""
        options = json.dumps({"dim": self._spec.dim}).encode()
        return {**self.content.files, _OPTIONS: options}

    @classmethod
    def _from_reference(cls, content, folder=None):
        """Return the handle of the model in a folder."""
        files = read_files(folder)
        dim = json.loads(files.pop(_OPTIONS))["dim"]
        return cls.of(StaticContent(files), dim)
