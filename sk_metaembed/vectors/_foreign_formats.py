"""Files and folders of other tools that are not read: their names, and the way in."""

import json
from pathlib import Path

_ARRAYS = "WordVectors.from_arrays(words, matrix)"
# First bytes of a file, and what it is.
_MAGIC = {
    b"version https://git-lfs": "It is a Git LFS pointer: run git lfs pull",
    b"<": "It looks like a web page, as a failed download leaves",
    b"\x93NUMPY": f"It is a NumPy array: load it, and pass words and it to {_ARRAYS}",
    b"\x89HDF": "It is an HDF5 file, as of ConceptNet Numberbatch or ELMo's weights: "
    f"read words and matrix with h5py or pandas, and pass them to {_ARRAYS}; for ELMo "
    "use ElmoEmbedding",
    b"PAR1": f"It is a Parquet file: read it, and pass words and array to {_ARRAYS}",
    b"ARROW1": f"It is an Arrow file: read it, and pass words and array to {_ARRAYS}",
    b"FiFu": "It is a finalfusion file: load it with finalfusion.load_finalfusion, and "
    "pass e.vocab.words and [e[word] for word in e.vocab.words] to "
    "WordVectors.from_arrays",
    b"SQLite format 3\0": "It is an SQLite database, as of magnitude (.magnitude) or "
    "staticvectors: load it with pymagnitude or staticvectors, and pass your words and "
    "the vectors that it gives them to WordVectors.from_arrays",
    b"\x28\xb5\x2f\xfd": "It is compressed by Zstandard: unpack it with zstd -d",
    b"\x1f\x9d": "It is compressed by compress: unpack it with uncompress",
    b"7z\xbc\xaf\x27\x1c": "It is a 7z archive: unpack it and pass one of its files",
    b"Rar!": "It is a RAR archive: unpack it and pass one of its files",
    b"GGUF": "It is a GGUF file of llama.cpp: use its Hugging Face model with "
    "TransformerEmbedding",
    b"{": f"It looks like JSON: load it, and pass words and matrix to {_ARRAYS}",
    b"[": f"It looks like JSON: load it, and pass words and matrix to {_ARRAYS}",
}
_TAR = (
    "It is a tar archive: unpack it and pass one of its files (of BPEmb the one named "
    ".w2v.bin). For navec, load it with the package navec, and pass navec.vocab.words "
    "and [navec[word] for word in navec.vocab.words] to WordVectors.from_arrays"
)
_ZIP = "It is a zip archive: unpack it and pass one of its files"
_NPZ = (
    "It is an .npz of NumPy: load it, and pass words and matrix to "
    f"{_ARRAYS}; of embeddings of pecanpy these are file['IDs'] and file['data'], with "
    "file = numpy.load(path). For its graphs, pass walks to Word2VecEmbedding"
)
_SAFETENSORS = (
    "It is a safetensors file, which has no words: pass the folder of a static model "
    "(model2vec, sentence-transformers) to make_embedding, or words and matrix to "
    f"{_ARRAYS}"
)
_SENTENCEPIECE = (
    "It is a SentencePiece model, as BPEmb has next to its vectors: pass the file of "
    "vectors (.w2v.bin), whose words are pieces, or a list of words and the vectors "
    f"that BPEmb gives them to {_ARRAYS}"
)
_CSV = f"It looks like CSV: read it with pandas, and pass words and matrix to {_ARRAYS}"
_NUMBERS = (
    "If it is a .bin of GloVe or Swivel, it has numbers without words: write text "
    "(GloVe: -binary 0)"
)


def hint_of_file(sample):
    """Return what a file of unknown format is by its first bytes, and the way in."""
    if sample.startswith(b"PK\x03\x04"):
        return _NPZ if b".npy" in sample[30:200] else _ZIP
    if sample[257:262] == b"ustar":
        return _TAR
    if sample[8:10] == b'{"' and 0 < int.from_bytes(sample[:8], "little") < 1 << 30:
        return _SAFETENSORS
    if sample.startswith(b"\n") and b"<unk>" in sample[:64]:
        return _SENTENCEPIECE
    for magic, hint in _MAGIC.items():
        if sample.startswith(magic):
            return hint
    if b"\0" in sample:
        return _NUMBERS
    lines = [line for line in sample.split(b"\n", 20)[1:20] if line]
    return _CSV if lines and all(line.count(b",") > 1 for line in lines) else None


def hint_of_folder(folder):
    """Return what a folder of another tool is, and the way in; None if unknown."""
    folder = Path(folder)
    has = {name for name in _FILES if (folder / name).is_file()}
    if {"freqs.json", "key2row"} <= has:
        return (
            "is a folder of sense2vec, whose keys are words with a sense, as in "
            "'duck|NOUN'. Load it with sense2vec and choose one sense per word: pass "
            "words and [s2v[s2v.get_best_sense(word)] for word in words] to "
            "WordVectors.from_arrays. Its file vectors opens as WordVectors with these "
            "keys as words"
        )
    if "config.json" in has and _model_type(folder / "config.json") == "staticvectors":
        return (
            "is a model of staticvectors, which gives unknown words random vectors. "
            "Load it with StaticVectors(folder), and pass your words and "
            "model.embeddings(words) to WordVectors.from_arrays"
        )
    if "saved_model.pb" in has and "config.json" not in has:
        return (
            "is a SavedModel of TensorFlow. Load it with tensorflow_hub, and pass a "
            "function from texts to vectors to FunctionEmbedding"
        )
    return None


_FILES = ("freqs.json", "key2row", "config.json", "saved_model.pb")


def _model_type(path):
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return config.get("model_type") if isinstance(config, dict) else None
