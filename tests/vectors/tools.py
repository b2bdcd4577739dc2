"""Tools that write files of word vectors, and what they return for words.

``python -m tests.vectors.tools`` prints the table of the page "Files of vectors and
models"; tools that are not installed are left out.
"""

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sk_metaembed import WordVectors, export_vectors, make_embedding

WORDS = ["tea", "new york", "user 1", "日本語", "naïve", "2012", "Tea", "X", "😀", "a"]
WITHOUT_SPACES = [word for word in WORDS if " " not in word]
UNKNOWN = ["zzz", "teas", "Two words", "日本", "NAÏVE", "12", "b"]
# Vectors rounded to float16, which few digits represent.
VECTORS = (
    np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype("f2").astype("f4")
)
SENTENCES = [WITHOUT_SPACES, WITHOUT_SPACES[::-1]] * 20
TRAINED = {"vector_size": 6, "min_count": 1, "workers": 1, "seed": 1, "epochs": 1}


class Written(NamedTuple):
    """What a tool wrote: the path, its words, and its vector of a word, or None."""

    path: Path
    words: list[str]
    vector: Callable[[str], Any]
    read: Callable[[Path], Callable] | None = None  # None for WordVectors


class Tool(NamedTuple):
    """A tool and a kind of file that it writes."""

    package: str
    file: str
    write: Callable[[Path], Written]
    digits: int | None = None  # that the file has; None if all


class Outcome(NamedTuple):
    """How many words have the vector of the tool, among all; of unknown words too."""

    words: tuple[int, int]
    unknown: tuple[int, int]


def _lookup(words):
    table = dict(zip(WORDS, VECTORS, strict=True))
    return lambda word: table[word] if word in words else None


def _keyed_vectors(words=WORDS):
    from gensim.models import KeyedVectors

    kv = KeyedVectors(VECTORS.shape[1])
    kv.add_vectors(words, VECTORS[[WORDS.index(word) for word in words]])
    return kv


def _of_gensim(kv):
    return lambda word: kv[word] if kv.has_index_for(word) else None


def _gensim_text(folder):
    kv = _keyed_vectors()
    kv.save_word2vec_format(folder / "x.txt")
    return Written(folder / "x.txt", WORDS, _of_gensim(kv))


def _gensim_binary(folder):
    kv = _keyed_vectors()
    kv.save_word2vec_format(folder / "x.bin", binary=True)
    return Written(folder / "x.bin", WORDS, _of_gensim(kv))


def _gensim_saved(folder):
    from gensim.models import KeyedVectors

    _keyed_vectors().save(str(folder / "x.kv"), separately=["vectors"])
    kv = KeyedVectors.load(str(folder / "x.kv"))
    return Written(folder / "x.kv", WORDS, _of_gensim(kv))


def _gensim_fasttext():
    from gensim.models import FastText

    return FastText(SENTENCES, bucket=100, **TRAINED)


def _gensim_model(folder):
    model = _gensim_fasttext()
    model.save(str(folder / "x.model"))
    kv = type(model).load(str(folder / "x.model")).wv
    return Written(folder / "x.model", kv.index_to_key, lambda word: kv[word])


def _gensim_facebook(folder):
    from gensim.models.fasttext import load_facebook_vectors, save_facebook_model

    save_facebook_model(_gensim_fasttext(), str(folder / "x.bin"))
    kv = load_facebook_vectors(str(folder / "x.bin"))
    return Written(folder / "x.bin", kv.index_to_key, lambda word: kv[word])


def _exported(fmt):
    def write(folder):
        words = WORDS if fmt == "store" else WITHOUT_SPACES
        table = dict(zip(WORDS, VECTORS, strict=True))
        export_vectors(table, words, folder / "x", format=fmt)
        return Written(folder / "x", words, _lookup(words))

    return write


def _tabs(folder):
    import pandas as pd

    frame = pd.DataFrame(VECTORS, index=WORDS)
    frame.to_csv(folder / "x.tsv", sep="\t", header=False)
    return Written(folder / "x.tsv", WORDS, _lookup(WORDS))


def _arrays(folder):
    (folder / "words.txt").write_text("\n".join(WORDS), "utf-8")
    np.savez(folder / "x.npz", vectors=VECTORS)

    def read(path):
        words = (folder / "words.txt").read_text("utf-8").split("\n")
        return WordVectors.from_arrays(words, np.load(path)["vectors"]).vectors_for

    return Written(folder / "x.npz", WORDS, _lookup(WORDS), read)


def _model2vec(folder):
    from model2vec import StaticModel

    from tests.tiny_static import wordpiece

    tokenizer = wordpiece()
    size = tokenizer.get_vocab_size(), VECTORS.shape[1]
    table = np.random.default_rng(0).normal(size=size).astype("f4")
    StaticModel(table, tokenizer).save_pretrained(folder / "x")
    model = StaticModel.from_pretrained(folder / "x")

    def read(path):
        def vectors_for(words):
            out = make_embedding(path).fit_transform(words).blocks[0]
            return out.values, out.known

        return vectors_for

    def vector(word):
        vector = model.encode([word])[0]
        return vector if vector.any() else None

    return Written(folder / "x", WORDS, vector, read)


def _spacy(folder):
    import spacy

    nlp = spacy.blank("en")
    for word, vector in zip(WORDS, VECTORS, strict=True):
        nlp.vocab.set_vector(word, vector)
    nlp.to_disk(folder / "x")
    return _of_spacy(folder / "x", WORDS)


def _of_spacy(path, words):
    import spacy

    vocab = spacy.load(path).vocab

    def vector(word):
        return vocab.get_vector(word) if vocab.has_vector(word) else None

    return Written(path, words, vector)


def _spacy_converted(folder, source, *options):
    command = [sys.executable, "-m", "spacy", "init", "vectors", "en", source]
    command += [folder / "x", *options]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder / "x"


def _spacy_init(folder):
    _keyed_vectors().save_word2vec_format(folder / "x.txt")
    return _of_spacy(_spacy_converted(folder, folder / "x.txt"), WORDS)


def _train_floret(folder):
    import floret

    text = folder / "text.txt"
    text.write_text("\n".join(" ".join(words) for words in SENTENCES), "utf-8")
    options = {"mode": "floret", "dim": 6, "bucket": 100, "minCount": 1, "epoch": 2}
    options |= {"hashCount": 2, "minn": 2, "maxn": 4, "thread": 1, "verbose": 0}
    model = floret.train_unsupervised(str(text), **options)
    model.save_floret_vectors(str(folder / "x.floret"))
    model.save_vectors(str(folder / "x.vec"))
    model.save_model(str(folder / "x.bin"))
    return model


def _floret(suffix):
    def write(folder):
        model = _train_floret(folder)
        # The table lacks what floret adds to the word with the number 0.
        words = [word for word in WITHOUT_SPACES if model.get_word_id(word) > 0]
        if suffix == ".bin":
            words = WITHOUT_SPACES
        return Written(folder / f"x{suffix}", words, model.get_word_vector)

    return write


def _floret_vec(folder):
    model = _train_floret(folder)

    def vector(word):
        return model.get_word_vector(word) if word in model.words else None

    return Written(folder / "x.vec", WITHOUT_SPACES, vector)


def _spacy_floret(folder):
    _train_floret(folder)
    path = _spacy_converted(folder, folder / "x.floret", "--mode", "floret")
    return _of_spacy(path, WORDS)


def _fasttext(folder):
    import fasttext

    text = folder / "text.txt"
    text.write_text("\n".join(" ".join(words) for words in SENTENCES), "utf-8")
    options = {"dim": 6, "bucket": 100, "minCount": 1, "epoch": 1, "thread": 1}
    model = fasttext.train_unsupervised(str(text), verbose=0, **options)
    model.save_model(str(folder / "x.bin"))
    return Written(folder / "x.bin", WITHOUT_SPACES, model.get_word_vector)


TOOLS = {
    "gensim, save_word2vec_format": Tool("gensim", "text", _gensim_text),
    "gensim, binary=True": Tool("gensim", "word2vec binary", _gensim_binary),
    "gensim, KeyedVectors.save": Tool("gensim", ".kv and .npy", _gensim_saved),
    "gensim, FastText.save": Tool("gensim", ".model", _gensim_model),
    "gensim, save_facebook_model": Tool("gensim", "fastText .bin", _gensim_facebook),
    "pandas, to_csv with tabs": Tool("pandas", "text", _tabs),
    "NumPy, savez and a list of words": Tool("numpy", ".npz", _arrays),
    "model2vec, save_pretrained": Tool("model2vec", "folder", _model2vec),
    "export_vectors, word2vec-text": Tool("", "text", _exported("word2vec-text")),
    "export_vectors, word2vec-binary": Tool(
        "", "word2vec binary", _exported("word2vec-binary")
    ),
    "export_vectors, glove": Tool("", "text without header", _exported("glove")),
    "export_vectors, store": Tool("", "store", _exported("store")),
    "spaCy, nlp.to_disk": Tool("spacy", "pipeline", _spacy),
    "spaCy, init vectors": Tool("spacy", "pipeline", _spacy_init),
    "spaCy, init vectors --mode floret": Tool("spacy", "pipeline", _spacy_floret),
    "floret, save_floret_vectors": Tool("floret", "table, text", _floret(".floret"), 4),
    "floret, save_model": Tool("floret", ".bin", _floret(".bin")),
    "floret, save_vectors": Tool("floret", "text", _floret_vec, 4),
    "fastText, save_model": Tool("fasttext", ".bin", _fasttext),
}
NIGHTLY = [
    name for name, tool in TOOLS.items() if tool.package in ("floret", "fasttext")
]
NIGHTLY += [name for name, tool in TOOLS.items() if tool.package == "spacy"]


def compare(tool, folder):
    """Return the `Outcome` of reading what a tool wrote to a folder."""
    written = tool.write(folder)
    read = (written.read or _store)(written.path)

    def n_equal(words):
        values, known = read(words)
        expected = [written.vector(word) for word in words]
        tolerance = 1e-6 if tool.digits is None else 10.0**-tool.digits
        sizes = [np.abs(vector).max() for vector in expected if vector is not None]
        scale = max(sizes, default=1)
        return sum(
            not is_known
            if vector is None
            else np.allclose(value, vector, rtol=tolerance, atol=tolerance * scale)
            for vector, value, is_known in zip(expected, values, known, strict=True)
        )

    return Outcome(
        (n_equal(written.words), len(written.words)), (n_equal(UNKNOWN), len(UNKNOWN))
    )


def _store(path):
    wv = WordVectors.open(path)

    def vectors_for(words):
        if not wv.has_subwords:
            return wv.vectors_for(words)
        values = wv.subword_vectors(words)
        return values, values.any(axis=1)

    return vectors_for


def tool_version(tool):
    """Return the version of a tool's package, "" for ours; None if it is missing."""
    try:
        return version(tool.package) if tool.package else ""
    except PackageNotFoundError:
        return None


def row(name, outcome):
    """Return the cells of a tool in the page, without its version."""
    counts = [f"{n} of {total}" for n, total in outcome]
    return [f"{name} ({TOOLS[name].file})", *counts]


def main():
    """Print the rows of the tools that are installed."""
    for name, tool in TOOLS.items():
        number = tool_version(tool)
        if number is None:
            continue
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = compare(tool, Path(folder))
        first, *counts = row(name, outcome)
        cells = [f"   * - {first}", number or "this library", *counts]
        sys.stdout.write("\n     - ".join(cells) + "\n")


if __name__ == "__main__":
    main()
