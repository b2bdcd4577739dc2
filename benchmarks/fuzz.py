"""Coverage-guided fuzzing of the parsers: invalid input must raise a clear error.

Needs atheris (``pip install atheris``, Linux), which the tests do not need. Runs one
parser for a number of minutes:

    python benchmarks/fuzz.py text --minutes 3

Inputs are mutated to reach new lines of the package. A parser may return a result or
raise ValueError with a message; any other outcome ends the run and saves the input.
Compiled loops, libhdf5, SQLite and torch are not instrumented. At the end the number of
inputs is printed.
"""

import argparse
import copy
import json
import resource
import shutil
import struct
import sys
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import atheris
import numpy as np

# numba cannot compile instrumented functions.
SEEN = {
    "include": ["sk_metaembed"],
    "exclude": ["sk_metaembed.vectors._kernels_numba"],
}

with atheris.instrument_imports(**SEEN):
    import sk_metaembed.datasets._conll as conll
    import sk_metaembed.persistence._archive as archive
    import sk_metaembed.persistence._save_load as saving
    import sk_metaembed.persistence._structure as structure_file
    import sk_metaembed.pooling
    import sk_metaembed.sources._cache as sentence_cache
    import sk_metaembed.sources.elmo._model_files as weights_file
    import sk_metaembed.sources.elmo._options as options_file
    import sk_metaembed.sources.elmo.language_model._language_model
    import sk_metaembed.sources.elmo.language_model._model_files
    import sk_metaembed.vectors._convert as convert
    import sk_metaembed.vectors._kernels_numba
    import sk_metaembed.vectors._store as store_files
    import sk_metaembed.vectors._word_vectors as store_module


WORK = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm"))
ROWS = "".join(f"w{i} {i}.5 -{i}e-1\n" for i in range(4))
HDF5 = {"projection_dim": 2, "cell_dim": 2, "filters": ((1, 2),), "char_dim": 2}
HDF5 |= {"n_layers": 1, "n_highway": 1}


# Values for edited nodes: kinds, modules and names that would execute code.
VALUES = [None, 0, "", [], {}, "os", "system", "builtins", "eval", 1e308, "<U9", "O"]
VALUES += ["function", "type", "object", "dict", "array", "opaque", "named tuple"]
VALUES += [{"ref": number} for number in range(-1, 5)]


def vectors(data):
    """Parse bytes as a file of word vectors with a detected format."""
    file, folder = WORK / "input", WORK / "store"
    file.write_bytes(data)
    shutil.rmtree(folder, ignore_errors=True)
    convert.store_file(file, path=folder)
    meta = store_files.read_meta(folder)
    handle = store_module.WordVectors(store_module.StoreSpec(str(folder)), meta)
    values, known = handle.vectors_for([*handle.words[:3], "nowhere"])
    assert np.isfinite(values).all() and known[0] and known.dtype == bool


def conll_file(data):
    """Parse bytes as a CoNLL file."""
    file = WORK / "input.conll"
    file.write_bytes(data)
    bunch = conll.load_conll(file)
    assert [len(row) for row in bunch.data.to_list()] == [len(t) for t in bunch.target]


def store(data):
    """Replace a file of a store by bytes, padded to its size."""
    names = ["meta.json", "words.npy", "offsets.npy", "vectors.npy", "index.npy"]
    folder, name = WORK / "forged", names[data[0] % 5 if data else 0]
    shutil.copytree(WORK / "seed", folder, dirs_exist_ok=True)
    (folder / name).write_bytes(data[1:])
    if name != "meta.json":
        meta = json.loads((folder / "meta.json").read_text())
        meta["files"][name] = len(data) - 1
        (folder / "meta.json").write_text(json.dumps(meta))
    meta = store_files.read_meta(folder)
    handle = store_module.WordVectors(store_module.StoreSpec(str(folder)), meta)
    handle.lookup(["w1", "w2", "nowhere"])
    handle.vectors_for(["w1"])
    shutil.rmtree(WORK / "out", ignore_errors=True)
    convert.store_file(folder, path=WORK / "out")
    handle.verify()


def cache_file(data):
    """Replace the file of the sentence cache by bytes."""
    folder = WORK / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / sentence_cache.FILE).write_bytes(data)
    with sentence_cache.SentenceCache(folder, "m") as held:
        keys = held.keys([("a", "b"), ("c",)], 0)
        assert held.get_many(keys)[1] is None


def hdf5(data):
    """Parse bytes as ELMo weights."""
    file = WORK / "weights.hdf5"
    file.write_bytes(data)
    weights_file.read_weights(file, options_file.read_options(WORK / "options.json"))


def options(data):
    """Parse bytes as ELMo options."""
    file = WORK / "any.json"
    file.write_bytes(data)
    options_file.read_options(file)


def saved(data):
    """Edit the nodes of a saved estimator, three bytes per edit, and seal it."""
    parts = dict(saved_members())
    nodes = json.loads(parts[structure_file.STRUCTURE])
    for where, what, other in zip(data[::3], data[1::3], data[2::3], strict=False):
        places = [place for node in nodes for place in places_of(node)]
        inside, key = places[where % len(places)]
        there, name = places[other % len(places)]
        value = [*VALUES, there[name]][what % (len(VALUES) + 1)]
        inside[key] = copy.deepcopy(value)
    parts[structure_file.STRUCTURE] = json.dumps(nodes).encode()
    archive.write_saved_file(WORK / "e.skm", parts)
    saving.load(WORK / "e.skm")


def places_of(node):
    """Return the places of a node that contain values."""
    content = node[1] if isinstance(node[1], dict) else {}
    lists = [part for part in content.values() if isinstance(part, list)]
    inner = [(part, i) for part in lists for i in range(len(part))]
    return [(node, 0), (node, 1), *((content, key) for key in content), *inner]


@cache
def saved_members():
    """Return the members of the file of a fitted step."""
    step = sk_metaembed.pooling.CommonComponentRemoval().fit(np.eye(3) + 1)
    with zipfile.ZipFile(saving.save(step, WORK / "seed.skm")) as file:
        names = {*file.namelist()} - {archive.MANIFEST}
        return {name: file.read(name) for name in names}


def binary_seeds():
    rows = [b"w%d " % i + np.full(2, i, "<f4").tobytes() for i in range(4)]
    return [b"4 2\n" + b"\n".join(rows), b"4 2\n" + b"".join(rows)]


def fasttext_seeds():
    head = struct.pack("<14id", 793712314, 12, 2, *[1] * 7, 3, 2, 3, 100, 1e-4)
    entries = b"".join(b"w%d\0" % i + struct.pack("<qb", 1, 0) for i in range(2))
    dictionary = struct.pack("<3iqq", 2, 2, 0, 2, -1) + entries
    matrix = b"\0" + struct.pack("<2q", 5, 2) + np.arange(10, dtype="<f4").tobytes()
    return [head + dictionary + matrix]


def store_seeds():
    words = [f"w{i}" for i in range(4)]
    convert.store_arrays(words, np.eye(4)[:, :2], path=WORK / "seed")
    (WORK / "out").mkdir()
    names = ["meta.json", "words.npy", "offsets.npy", "vectors.npy", "index.npy"]
    return [bytes([i]) + (WORK / "seed" / n).read_bytes() for i, n in enumerate(names)]


def cache_seeds():
    folder = WORK / "full"
    with sentence_cache.SentenceCache(folder, "m") as held:
        keys = held.keys([("a", "b")], 0)
        held.put_many(keys, [(np.ones((2, 3), np.float32), np.ones(2, bool))])
    return [file.read_bytes() for file in folder.iterdir()]


def hdf5_seeds():
    # libhdf5 sets aside what a damaged file tells it to: let that fail instead
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    return [language_model_files()[1].read_bytes()]


def language_model_files():
    model = sk_metaembed.sources.elmo.language_model._language_model.ElmoLanguageModel(
        architecture=HDF5, max_epochs=1, device="cpu"
    )
    model.fit([["a", "b"]] * 4).save(WORK)
    return WORK / "options.json", WORK / "weights.hdf5"


PARSERS = {
    "text": (vectors, lambda: [ROWS.encode(), b"4 2\n" + ROWS.encode()], 300),
    "binary": (vectors, binary_seeds, 300),
    "fasttext": (vectors, fasttext_seeds, 400),
    "conll": (
        conll_file,
        lambda: [b"To O\nRome B-x\n\nAda B-y\n", b"-DOCSTART- O\n\na\tO\n"],
        300,
    ),
    "store": (store, store_seeds, 1200),
    "cache": (cache_file, cache_seeds, 80_000),
    "hdf5": (hdf5, hdf5_seeds, 60_000),
    "options": (options, lambda: [language_model_files()[0].read_bytes()], 1500),
    "saved": (saved, lambda: [b"", b"ab"], 60),
}


def main():
    """Fuzz one parser."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parser", choices=PARSERS)
    parser.add_argument("--minutes", type=float, default=2)
    args = parser.parse_args()
    function, seeds, longest = PARSERS[args.parser]
    corpus = WORK / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds()):
        (corpus / f"seed{number}").write_bytes(seed)
    warnings.simplefilter("ignore")
    counts = {"tried": 0, "taken": 0}

    def one(data):
        counts["tried"] += 1
        try:
            function(data)
        except ValueError as error:
            assert str(error) or type(error) is not ValueError
            return
        counts["taken"] += 1
        if counts["taken"] % 1000 == 0:
            print(counts, flush=True)

    for file in sorted(corpus.iterdir()):  # the seeds are valid
        function(file.read_bytes())
    limits = [f"-max_total_time={int(60 * args.minutes)}", f"-max_len={longest}"]
    limits += ["-timeout=30", "-rss_limit_mb=6500", "-print_final_stats=1"]
    limits += [f"-artifact_prefix={tempfile.gettempdir()}/fuzz-{args.parser}-"]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], one)
    try:
        atheris.Fuzz()
    finally:
        print(counts, flush=True)
        shutil.rmtree(WORK, ignore_errors=True)


if __name__ == "__main__":
    main()
