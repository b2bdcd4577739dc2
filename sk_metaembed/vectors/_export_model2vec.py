"""The folder of a model2vec model: a table of words, its tokenizer and its settings.

https://github.com/MinishLab/model2vec, persistence. sentence-transformers reads the
same files by the modules.json among them.
"""

import json
import os
import struct

import numpy as np

from .._io._publish import publish
from .._pipelines import estimator_output, find_step
from ..sequences import EmbeddedSequences, Tokenizer, TokenSequences
from ..sequences._api import rule_expression, run_rule, word_rule

_FILES = {"config.json", "model.safetensors", "modules.json", "tokenizer.json"}
_STATIC = "sentence_transformers.models.StaticEmbedding"
_CHECKED = 16  # sequences
# Begins each word of the vocabulary, so that no character alone is a word: what is not
# in the vocabulary then has no token.
WORD_START = "\u2581"
# As str.lower: a capital sigma after a letter and before no letter is a final one. What
# is case-ignorable is skipped, cased or not.
_IGNORED, _LETTER = r"\p{Case_Ignorable}*", r"[\p{Cased}&&[^\p{Case_Ignorable}]]"
_FINAL_SIGMA = f"(?<={_LETTER}{_IGNORED})\u03a3(?!{_IGNORED}{_LETTER})"


def is_model2vec(path):
    """Return whether the path is a folder with the files written here only."""
    return os.path.isdir(path) and set(os.listdir(path)) == _FILES


def embedding_splitting(embedding):
    """Return how an embedding splits texts, by default as a `Tokenizer` does."""
    step = None
    if hasattr(embedding, "transform") or hasattr(embedding, "predict"):
        step, _ = find_step(embedding, (), _is_tokenizer)
    return splitting_of(step or Tokenizer())


def _is_tokenizer(step):
    return isinstance(step, Tokenizer)


def check_is_mean(embedding, words, matrix, known):
    """Raise ValueError unless an array of an embedding is a mean over known words.

    Compared for a few sequences of random words, and for the empty one.
    """
    if not known.any():
        return
    rng = np.random.default_rng(0)
    rows = [rng.choice(np.flatnonzero(known), n) for n in range(_CHECKED)]
    sequences = [[words[i] for i in row] for row in rows]
    output = estimator_output(embedding, TokenSequences.from_lists(sequences))
    if output is None or isinstance(output, EmbeddedSequences | TokenSequences):
        return
    output = output.toarray() if hasattr(output, "tocsr") else output
    means = [matrix[row].mean(axis=0) if len(row) else 0 * matrix[0] for row in rows]
    error = np.abs(np.asarray(output) - means).max(axis=1)
    bad = np.flatnonzero(~(error <= 1e-4 * np.abs(matrix).max()))
    if len(bad):
        raise ValueError(
            f"format 'model2vec' needs the vector of a text to be the mean "
            f"of the vectors of its words, but that of {sequences[bad[0]]} differs by "
            f"{error[bad[0]]:.2g}. Use Pooling() with weights None, 'sif' or 'usif', "
            "then only linear steps that do not center, and sources of words alone; or "
            "pass the steps before Pooling, for the mean of their word vectors."
        )


def write_model2vec(words, matrix, splitting, path, *, overwrite):
    """Write the folder."""
    module = {"idx": 0, "name": "0", "path": ".", "type": _STATIC}
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": matrix.shape[1],
        "normalize": False,
        "max_length": None,
        "embedding_dtype": "float32",
    }
    contents = {
        "config.json": config,
        "modules.json": [module],
        "tokenizer.json": tokenizer_json(words, splitting),
    }

    def write(folder):
        for name, content in contents.items():
            (folder / name).write_text(json.dumps(content), encoding="ascii")
        _write_safetensors(matrix, folder / "model.safetensors")

    publish(path, write, overwrite=overwrite)


def _write_safetensors(matrix, path):
    """Write the matrix as the only tensor, without the copy that the library makes."""
    end = 4 * matrix.size
    tensor = {"dtype": "F32", "shape": matrix.shape, "data_offsets": [0, end]}
    header = json.dumps({"embeddings": tensor}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        np.ascontiguousarray(matrix, "<f4").tofile(file)


def splitting_of(step):
    """Return the normalizer and the pre-tokenizer that split like a `Tokenizer`.

    Parameters
    ----------
    step : Tokenizer

    Returns
    -------
    dict
        Entries of tokenizer.json.

    Raises
    ------
    ValueError
        For a callable, a pattern that is not a run of one class of characters, because
        other regular expressions may match differently outside Python, and tokens that
        contain spaces.
    """
    rule = None
    if step.tokenizer is None:
        pattern = step.token_pattern
        rule = word_rule(step.punctuation) if pattern is None else run_rule(pattern)
    if rule is None or rule.ascii_kinds[ord(" ")]:
        raise ValueError(
            f"format 'model2vec' cannot represent {step!r}: it supports "
            r"the default words, and patterns of one class of characters, not spaces, "
            r"such as r'\S+' or r'\b\w\w+\b'. Pass the steps after the Tokenizer to "
            "write the default words."
        )
    normalizers = []
    if step.lowercase:
        sigma = {"pattern": {"Regex": _FINAL_SIGMA}, "content": "\u03c2"}
        normalizers += [{"type": "Replace", **sigma}, {"type": "Lowercase"}]
    if step.normalize is not None:
        normalizers.append({"type": step.normalize})
    matches = {"behavior": "Removed", "invert": True}
    split = {"type": "Split", "pattern": {"Regex": rule_expression(rule)}, **matches}
    return {
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, _WORD_STARTS]},
    }


_WORD_STARTS = {
    "type": "Metaspace",
    "replacement": WORD_START,
    "prepend_scheme": "always",
    "split": False,
}


def tokenizer_json(words, splitting):
    """Return the content of tokenizer.json: the splitting, and a vocabulary of words.

    Token i is word i. Its model is byte-pair encoding without merges: other than a
    vocabulary of words it needs no token for unknown words, which sentence-transformers
    would count in the mean.
    """
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        **splitting,
        "post_processor": None,
        "decoder": _WORD_STARTS,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {WORD_START + word: i for i, word in enumerate(words)},
            "merges": [],
        },
    }
