"""A static model, opened once per process and shared by its users.

Fitted sources hold a handle, whose pickle contains the path or name of the model and
its fingerprint. Its table is never copied into a pickle.

If the tokenizer splits a word alike in every text, each distinct word is split once.
"""

import hashlib
import json
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
from ._model_files import find_files, find_model, read_tensors
from ._tokenizer import WORDS_FILE, SubwordTokenizer, WordTokenizer

_CHUNK = 1 << 22  # characters to read at a time
_VERSION = 2


class StaticSpec(NamedTuple):
    """The options with which a model is read."""

    model: str  # a folder, or a name on the Hugging Face hub
    revision: str | None = None
    dim: int | None = None  # number of leading dimensions to use
    task: str | None = None  # selects the modules of a Router


class StaticModel(Handle, keep=2):
    """A table of subwords or words, its tokenizer, and the modules after it.

    Word vectors have `dim` dimensions, and text vectors have `text_dim`.
    """

    _kind, _Spec = "static model", StaticSpec

    def __init__(self, spec, files):
        self._spec, self._paths, self.settings = spec, files, files.settings
        self._modules, self._head = files.modules, None
        is_of_words = files.tokenizer.name == WORDS_FILE
        make = WordTokenizer if is_of_words else SubwordTokenizer
        self.tokenizer = make(files.tokenizer)
        self._read_table(files)
        self._set_dimensions()
        options = {
            "version": _VERSION,
            "files": [file_digest(files.weights), file_digest(files.tokenizer)],
            "library": files.library,
            "modules": files.modules.fingerprint,
            "max_length": files.modules.max_length,
            "dimensions": [self.dim, self.text_dim],
        }
        self.fingerprint = fingerprint_of(options)

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
                "word after it then has a wrong vector. Read that file with "
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
        """Check that each subword has a row; compiled code does not."""
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
                f"only {min(n_rows, n_weights)} subwords. They are of different models."
            )
        rows = self._mapping
        if rows is not None and not 0 <= rows.min() <= rows.max() < len(table):
            raise ValueError(
                f"{where} is corrupt: 'mapping' points beyond the {len(table)} rows."
            )

    def embed_words(self, words):
        """Return the mean of the known subwords of each word, and which words have any.

        The arrays are float32 (n_words, dim) and bool (n_words,).
        """
        lead = self.tokenizer.lead
        texts = [lead + word for word in words] if lead else list(words)
        values = np.zeros((len(words), self.dim), np.float32)
        known = np.zeros(len(words), bool)
        for part in _parts(texts):
            subwords = self._without_unknown(self.tokenizer.subwords(texts[part]))
            known[part] = np.diff(subwords.offsets) > 0
            self._write_means(subwords, values[part])
        return np.ascontiguousarray(values[:, : self._spec.dim]), known

    def embed_texts(self, texts, max_length, prompt):
        """Return the vectors of texts as the model's library encodes them.

        `max_length` is a number of subwords, None for all, or "model" for its own.
        Warns about longer texts once per process.
        """
        is_model2vec = self._paths.library == "model2vec"
        cuts_left = self.tokenizer.cuts_left and not is_model2vec
        limit, n_characters, n_cut = max_length, None, 0
        if max_length == "model":
            limit = self._modules.max_length
            if limit is None and not is_model2vec:
                limit = self.tokenizer.truncation
        if limit is not None and is_model2vec:
            n_characters = limit * self.tokenizer.median_length
        if prompt:
            # A prompt alone would make an empty text known.
            texts = [text.strip() and prompt + text for text in texts]
        values = np.zeros((len(texts), self.text_dim), np.float32)
        known = np.zeros(len(texts), bool)
        for part in _parts(texts):
            whole = texts[part]
            cut = [text[:n_characters] for text in whole]
            subwords = self.tokenizer.subwords(cut)
            if limit is not None:
                is_cut = np.array(list(map(len, cut))) < list(map(len, whole))
                n_cut += np.count_nonzero(is_cut | (np.diff(subwords.offsets) > limit))
                subwords = subwords.cut(limit, last=cuts_left)
            if is_model2vec:
                subwords = self._without_unknown(subwords)
            known[part] = np.diff(subwords.offsets) > 0
            means = np.zeros((len(cut), self.dim), np.float32)
            self._write_means(subwords, means)
            values[part] = self._finished(means, known[part])[:, : self.text_dim]
        warn_of_long_texts(
            "StaticSubwordEmbedding",
            self.fingerprint,
            n_cut,
            len(texts),
            limit,
            f" and cut, as by {self._paths.library}. Use max_length=None to read whole "
            "texts.",
        )
        return values, known

    def _without_unknown(self, subwords):
        known = subwords.ids != self.tokenizer.unknown
        return subwords if known.all() else subwords.selected(known)

    def _finished(self, means, known):
        """Return vectors of texts after all modules; those of unknown texts stay 0."""
        kinds = {step["kind"] for step in self._modules.steps[1:]}
        if not kinds:
            return means
        if kinds == {"Normalize"}:
            norms = np.linalg.norm(means.astype(np.float64), axis=1)
            means /= np.maximum(norms, 1e-32)[:, None]
            return means
        if self._head is None:
            import torch

            from .._encoder_head import SentenceHead

            self._head = SentenceHead(self._modules, torch.device("cpu"))
        values = np.zeros((len(means), self._modules.dim(self.dim)), np.float32)
        if known.any():
            values[known] = self._head.finish(means[known])
        return values

    def _write_means(self, subwords, out):
        """Write the mean vectors of the subwords of texts, (n_texts, dim)."""
        rows, lengths = subwords.ids, np.diff(subwords.offsets)
        weights = None if self._weights is None else self._weights[rows]
        weights = None if weights is None else weights.astype(np.float64)
        counts = np.maximum(lengths, 1).astype(np.float64)
        if self._mapping is not None:
            rows = self._mapping[rows]
        seconds = SECONDS_PER_SUM * len(out) + SECONDS_PER_TERM * rows.size * self.dim
        add = sum_rows
        if use_compiled(seconds):
            from ..._kernels._row_sums_numba import sum_rows as add
        offsets, n_texts = subwords.offsets, len(lengths)
        add(self._table, rows, offsets, weights, counts, 0, n_texts, out, 0)


def _as_single(values, other):
    """Return values as float32, unless they have the other dtype."""
    kept = values.dtype in (np.float32, other)
    return values if kept else values.astype(np.float32)


def _parts(texts):
    """Return slices of texts of about `_CHUNK` characters."""
    ends = np.cumsum([len(text) for text in texts])
    cuts = np.flatnonzero(np.diff(ends // _CHUNK, prepend=0)) + 1
    ends = np.unique([0, *cuts, len(texts)]).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


_OPTIONS = "loaded.json"


class StaticContent:
    """The files of a static model by name, which pickles and saved files contain."""

    def __init__(self, files):
        self.files = files

    @classmethod
    def of(cls, model, task):
        """Return the files that a model's library writes, for the texts of a task.

        Returns None for an object that is not a model of model2vec or
        sentence-transformers.
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
