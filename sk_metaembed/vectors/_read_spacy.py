"""Reader of spaCy's vectors: a table, and rows by the hash of a word.

=============== ===================================================================
``vectors``     the table, a NumPy array
``key2row``     row of each word, by a hash of the word, in MessagePack
``strings.json`` the words, and other strings of the pipeline
``vectors.cfg`` mode, and the settings of floret, in which n-grams select the rows
=============== ===================================================================

These files are in the folder ``vocab`` of a pipeline, or where ``Vectors.to_disk``
wrote them.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

from ._store import Floret, StoreWriter, is_floret, pack, row_chunks
from ._subwords import murmur2_64

FILES = ("vectors", "key2row", "strings.json", "vectors.cfg")
_HASH_SEED = 1
_ORTH, _LOWER = 65, 66  # numbers of spaCy's attributes
# Names that have numbers instead of hashes and are not in the file of strings: the
# first number of each range, and its names. Other names, such as FLAG19, are not words.
_SYMBOLS = {
    64: "ID ORTH LOWER NORM SHAPE PREFIX SUFFIX LENGTH CLUSTER LEMMA POS TAG DEP "
    "ENT_IOB ENT_TYPE HEAD SENT_START SPACY PROB LANG ADJ ADP ADV AUX CONJ CCONJ DET "
    "INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X EOL SPACE",
    380: "PERSON NORP FACILITY ORG GPE LOC PRODUCT EVENT WORK_OF_ART LANGUAGE LAW DATE "
    "TIME PERCENT MONEY QUANTITY ORDINAL CARDINAL acomp advcl advmod agent amod appos "
    "attr aux auxpass cc ccomp complm conj cop csubj csubjpass dep det dobj expl hmod "
    "hyph infmod intj iobj mark meta neg nmod nn npadvmod nsubj nsubjpass num number "
    "oprd obj obl parataxis partmod pcomp pobj poss possessive preconj prep prt punct "
    "quantmod relcl rcmod root xcomp acl ENT_KB_ID MORPH ENT_ID IDX _",
}


def spacy_folder(path):
    """Return the folder with the vectors of a spaCy pipeline or folder, else None.

    `path` may also be the installed package of a pipeline, its folder ``vocab`` or the
    file ``vectors``.
    """
    path = Path(path)
    if path.is_file():
        return path.parent if path.name == "vectors" and _has(path.parent) else None
    places = [path, path / "vocab"]
    meta = _meta(path)
    if isinstance(meta.get("name"), str) and isinstance(meta.get("version"), str):
        inner = f"{meta.get('lang')}_{meta['name']}-{meta['version']}"
        if inner == Path(inner).name:
            places.append(path / inner / "vocab")
    return next((place for place in places if _has(place)), None)


def is_pipeline(path):
    """Return whether a folder is a spaCy pipeline, with vectors or without."""
    return "spacy_version" in _meta(Path(path))


def _has(folder):
    is_file = {name: (folder / name).is_file() for name in FILES}
    return is_file["vectors"] and (is_file["key2row"] or is_file["vectors.cfg"])


def _meta(folder):
    try:
        meta = json.loads((folder / "meta.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return meta if isinstance(meta, dict) else {}


def read_spacy(folder: Path, writer: StoreWriter) -> None:
    """Append all words, or write the rows of floret that words are composed of."""
    config = {}
    if (folder / "vectors.cfg").is_file():
        config = _json(folder / "vectors.cfg", dict)
    table = _table(folder / "vectors")
    if not table.size:
        raise no_vectors(folder)
    if config.get("mode", "default") == "floret":
        floret = _floret(folder, config)
        sizes = config["minn"], config["maxn"]
        chunks = (rows for _, rows in row_chunks(table))
        writer.write_buckets(chunks, *sizes, floret)
        return
    keys, rows = _key2row(folder / "key2row", len(table))
    words, of_key = _words(folder / "strings.json", keys)
    known = np.flatnonzero(of_key >= 0)[: writer.limit]
    writer.repairs["words_without_text"] += int((of_key < 0).sum())
    step = max(1, (1 << 24) // (4 * table.shape[1]))
    for start in range(0, len(known), step):
        part = known[start : start + step]
        with np.errstate(over="ignore"):
            writer.append(
                words.take(of_key[part]), table[rows[part]].astype(np.float32)
            )


def no_vectors(folder):
    """Return the error to raise for a pipeline without vectors."""
    return ValueError(
        f"{folder} is a spaCy pipeline without word vectors, like those with names "
        "ending in _sm or _trf. Use one that ends in _md or _lg, or "
        "TransformerEmbedding for the transformer of a pipeline."
    )


def _table(path):
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
        valid = table.ndim == 2 and table.dtype.kind == "f"
    except Exception as error:  # numpy raises many error types
        raise _corrupt(path, f"it is not an array ({error!r:.200})") from error
    if not valid:
        raise _corrupt(path, f"it has shape {table.shape} and dtype {table.dtype}")
    return table


def _json(path, kind):
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _corrupt(path, f"{error}") from error
    if not isinstance(content, kind):
        raise _corrupt(path, f"expected a JSON {kind.__name__}")
    return content


def _corrupt(path, reason):
    return ValueError(
        f"{path}: the spaCy file cannot be read: {reason}. Save the pipeline again "
        "with nlp.to_disk."
    )


def _floret(folder, config):
    """Return the settings of floret in vectors.cfg."""
    attribute = config.get("attr", _ORTH)
    if attribute not in (_ORTH, _LOWER):
        raise ValueError(
            f"{folder}: the floret vectors are looked up by attribute {attribute} of "
            f"a token; only ORTH ({_ORTH}) and LOWER ({_LOWER}) follow from its text. "
            "Pass words and their vectors to WordVectors.from_arrays(words, matrix)."
        )
    names = "hash_count", "hash_seed", "bow", "eow"
    values = [config.get(name) for name in names]
    floret = Floret(*values, spacy=True, lowercase=attribute == _LOWER)
    sizes = config.get("minn"), config.get("maxn")
    valid = all(type(n) is int for n in sizes) and 0 <= sizes[0] <= sizes[1]
    if not valid or not is_floret(floret._asdict(), sizes[1]):
        raise _corrupt(folder / "vectors.cfg", f"invalid settings of floret: {config}")
    return floret


def _key2row(path, n_rows):
    """Return the keys, uint64, and rows, int64, of a MessagePack map of integers."""
    try:
        numbers = _integers_of_map(path.read_bytes())
        keys, rows = (
            np.array(numbers[::2], np.uint64),
            np.array(numbers[1::2], np.int64),
        )
    except (OSError, ValueError, OverflowError, struct.error, IndexError) as error:
        raise _corrupt(path, f"expected a map of integers ({error})") from error
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
        raise _corrupt(path, f"it has rows beyond the {n_rows:,} of the table")
    return keys, rows


_KINDS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
_READERS = {
    kind: (struct.Struct(f).unpack_from, struct.calcsize(f))
    for kind, f in _KINDS.items()
}


def _integers_of_map(data):
    """Return keys and values of a MessagePack map, alternating."""
    kind = data[0]
    if kind & 0xF0 == 0x80:
        count, at = kind & 0x0F, 1
    elif kind in (0xDE, 0xDF):
        form = ">H" if kind == 0xDE else ">I"
        count, at = struct.unpack_from(form, data, 1)[0], 1 + struct.calcsize(form)
    else:
        raise ValueError(f"its first byte is {kind}")
    if 2 * count > len(data) - at:
        raise ValueError(f"it states {count:,} entries, but has {len(data):,} bytes")
    numbers = []
    for _ in range(2 * count):
        kind = data[at]
        at += 1
        if kind < 0x80:
            numbers.append(kind)
            continue
        if kind not in _READERS:
            raise ValueError(f"byte {at} is {kind}")
        unpack, size = _READERS[kind]
        numbers += unpack(data, at)
        at += size
    return numbers


def _words(path, keys):
    """Return packed words, and the index of each key's word (-1 if there is none)."""
    strings = _json(path, list)
    symbols = {
        first + i: name
        for first, names in _SYMBOLS.items()
        for i, name in enumerate(names.split())
    }
    names = [*symbols.values(), ""]
    try:
        words = pack([*strings, *names])
    except TypeError as error:
        raise _corrupt(path, f"{error}") from error
    ends = words.offsets[1:] - 1
    hashes = murmur2_64(
        words.blob, words.offsets[:-1], ends - words.offsets[:-1], _HASH_SEED
    )
    hashes[len(strings) :] = [*symbols, 0]
    order = np.argsort(hashes, kind="stable")
    place = np.minimum(np.searchsorted(hashes[order], keys), len(order) - 1)
    found = order[place]
    return words, np.where(hashes[found] == keys, found, -1)
