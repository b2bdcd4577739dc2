"""What distinct strings of a column look like: identifiers, lists, keys, prose."""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ._dates import parse_dates
from ._lists import parse_list
from ._missing import is_missing

_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_HASH = re.compile(r"(?=.*\d)[0-9a-f-]{16,}", re.IGNORECASE)
_COUNTER = re.compile(r"(\D{0,12})0*(\d{1,15})")
_COMPACT = re.compile(r"(19|20)\d{6}(?:\d{6})?")
_BRACKETS = re.compile(r"[\[({].*[\])}]", re.DOTALL)
_ITEM = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\[\](){}'"]+)""")
_SEPARATORS = (";", "|", ",", " / ", "\n")


@dataclass(frozen=True)
class Values:
    """The distinct strings of a column, or a weighted sample of them."""

    texts: list
    counts: np.ndarray

    @property
    def n_rows(self):
        return self.counts.sum()

    def share(self, mask):
        """Return the share of rows whose value is selected by a mask."""
        return float(self.counts[[bool(m) for m in mask]].sum() / max(self.n_rows, 1))


def sample_values(values, size):
    """Return the most frequent values, and others at equal distances, weighted."""
    if len(values.texts) <= size:
        return values
    order = np.argsort(-values.counts, kind="stable")
    top, rest = order[: size // 2], np.sort(order[size // 2 :])
    chosen = rest[np.linspace(0, len(rest) - 1, size // 2).astype(int)]
    weight = values.counts[rest].sum() / values.counts[chosen].sum()
    counts = np.concatenate([values.counts[top], values.counts[chosen] * weight])
    return Values([values.texts[i] for i in (*top, *chosen)], counts)


def are_identifiers(sample):
    """Return whether values are digits of one length, some with leading zeros."""
    digits = [text.isdecimal() and not is_missing(text) for text in sample.texts]
    length = np.bincount([len(text) for text in sample.texts], sample.counts).argmax()
    alike = [d and len(t) == length for d, t in zip(digits, sample.texts, strict=True)]
    zeros = [a and t[0] == "0" for a, t in zip(alike, sample.texts, strict=True)]
    return length > 1 and sample.share(alike) >= 0.7 and sample.share(zeros) >= 0.01


def are_merged(texts):
    """Return whether floats do not tell whole numbers of many digits apart."""
    long = [text for text in texts if len(text) > 15 and text.isdecimal()]
    return len(long) - len({*map(float, long)}) > 0.01 * len(texts)


def are_compact_dates(texts):
    """Return whether nearly all are dates such as "20190305" or "20190305170413"."""
    shaped = [text for text in texts if _COMPACT.fullmatch(text)]
    if len(shaped) < max(10, 0.99 * len(texts)):
        return False
    return (~np.isnat(parse_dates(shaped, "mdy"))).sum() >= 0.99 * len(texts)


def is_counter(values, n_rows):
    """Return whether whole numbers hardly repeat though they lie close together.

    n numbers drawn from a range of r would have n ** 2 / (2 r) pairs of equal ones.
    """
    values = np.asarray(values, dtype=np.float64)
    if len({*values.tolist()}) < 0.99 * n_rows or (values != np.floor(values)).any():
        return False
    return n_rows**2 / (2 * (np.ptp(values) + 1)) > 20


def are_saved_lists(sample):
    """Return whether nearly all values are lists as tools save them, not of numbers."""
    lists = [parse_list(text) for text in sample.texts]
    if sample.share([each is not None for each in lists]) < 0.9:
        return False
    # An item in quotes is a str.
    bare = [
        x or () for x, t in zip(lists, sample.texts, strict=True) if not {*t} & {*"'\""}
    ]
    items = [item for each in bare for item in each]
    n_numbers = sum(map(_is_number, items))
    is_repeated = any(len(each) > 1 for each in bare) or sample.n_rows >= 2 * len(lists)
    has_items = any(each for each in lists)
    return has_items and (not items or (2 * n_numbers < len(items) and is_repeated))


def _is_number(text):
    return text.strip("+-").replace(".", "").isdecimal()


def list_separator(sample):
    """Return the separator of lists that draw on a common set of items, or ""."""
    brackets = [_BRACKETS.fullmatch(text) for text in sample.texts]
    if sample.share(brackets) >= 0.9:
        items = [item for text in sample.texts for item in split_list(text, "[]")]
        numbers = sum(any(map(str.isdecimal, item)) for item in items)
        return "[]" if numbers <= len(items) / 2 else ""
    for separator in _SEPARATORS:
        rows = [split_list(text, separator) for text in sample.texts]
        several = sample.share([len(row) > 1 for row in rows])
        if several >= 0.1 and _share_items(rows):
            return separator
    return ""


def _share_items(rows):
    """Return whether rows are made of short items that others have, at any place."""
    rows = [row for row in rows if len(row) > 1]
    first = {row[0] for row in rows}
    later = {item for row in rows for item in row[1:]}
    n_rows = Counter(item for row in rows for item in {*row})
    items = [item for row in rows for item in row]
    shared = sum(n_rows[item] > 1 for item in items)
    anywhere = sum(item in first and item in later for item in items)
    words = sum(len(item.split()) for item in items)
    digits = sum(any(map(str.isdecimal, item)) for item in items)
    n = len(items)
    short = words < 4 * n and digits < n / 10
    return short and shared > 0.4 * n and anywhere > 0.15 * n


def split_list(text, separator):
    """Return the items of a list, without duplicates."""
    if separator == "[]":
        items = [one or two or three for one, two, three in _ITEM.findall(text)]
    else:
        items = text.split(separator)
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def are_urls(sample):
    """Return whether nearly all values are addresses of web pages."""
    return sample.share([_URL.fullmatch(text) for text in sample.texts]) >= 0.9


def are_keys(values):
    """Return whether strings are distinct hashes, or a prefix and a counter."""
    enough = 0.99 * values.n_rows
    if len(values.texts) < max(enough, 20):
        return False
    if sum(_HASH.fullmatch(text) is not None for text in values.texts) >= enough:
        return True
    matches = list(filter(None, map(_COUNTER.fullmatch, values.texts)))
    prefixes = Counter(match[1] for match in matches).most_common(1)
    if not prefixes or prefixes[0][1] < enough:
        return False
    numbers = [int(match[2]) for match in matches if match[1] == prefixes[0][0]]
    return is_counter(numbers, len(numbers))


def is_prose(sample):
    """Return whether strings have more than 12 words or 90 characters on average."""
    words = [len(text.split()) for text in sample.texts]
    characters = [len(text) for text in sample.texts]
    words, characters = np.average([words, characters], axis=1, weights=sample.counts)
    return words > 12 or characters > 90
