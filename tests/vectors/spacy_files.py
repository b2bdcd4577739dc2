"""Write vectors in the layout of spaCy, without spaCy."""

import json

import numpy as np

# As spaCy hashes them, except its symbols, which are in no list of strings.
KEYS = {
    "tea": 6041671307218480733,
    "coffee": 3197928453018144401,
    "new york": 14953487944833841589,
    "日本語": 1998301522555383300,
    "internationalisation": 8729853314229540275,
    "X": 101,
    "det": 415,
    "IS_ALPHA": 1,
    "FLAG20": 20,
    "DEPRECATED276": 379,
}
SYMBOLS = ("X", "det", "IS_ALPHA", "FLAG20", "DEPRECATED276")


def _packed(number):
    if number < 128:
        return bytes([number])
    if number < 2**16:
        return b"\xcd" + number.to_bytes(2, "big")
    return b"\xcf" + number.to_bytes(8, "big")


def write_pipeline(folder, vectors, rows):
    """Write a pipeline whose words, the keys of `rows`, have these rows of vectors."""
    vocab = folder / "vocab"
    vocab.mkdir(parents=True)
    meta = {"lang": "en", "name": "test", "version": "1.0", "spacy_version": ">=3.8"}
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "config.cfg").write_text("[nlp]\n")
    with open(vocab / "vectors", "wb") as file:
        np.save(file, np.asarray(vectors, np.float32))
    pairs = [_packed(KEYS[word]) + _packed(row) for word, row in rows.items()]
    header = b"\xde" + len(rows).to_bytes(2, "big")
    (vocab / "key2row").write_bytes(header + b"".join(pairs))
    strings = sorted({"other", *rows} - set(SYMBOLS))
    (vocab / "strings.json").write_text(json.dumps(strings))
    (vocab / "vectors.cfg").write_text('{"mode": "default"}')
    return folder


def write_floret(folder, table, **settings):
    """Write a pipeline with a table of floret."""
    write_pipeline(folder, table, {})
    config = {"mode": "floret", "minn": 2, "maxn": 3, "hash_count": 2, "attr": 65}
    config |= {"hash_seed": 2166136261, "bow": "<", "eow": ">", **settings}
    (folder / "vocab" / "vectors.cfg").write_text(json.dumps(config))
    return folder
